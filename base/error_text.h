// What the system says of a call that failed, and where a limit is behind it, the command that lifts the limit.
#pragma once

#include <cerrno>
#include <string>

namespace periapt {

/// "Too many open files; more are allowed by: ulimit -n 65536".
std::string error_text(int error = errno);

}  // namespace periapt
