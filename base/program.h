// Which program this process runs: so that the processes of a run can tell whether all of them run the same.
#pragma once

#include <string>

namespace periapt::program {

/// The file that was executed, "/home/you/jacobi"; empty where the system does not say.
std::string path();

/// Equal for processes that run the same executable, wherever it was loaded: the linker's build id, or where it wrote
/// none, a number made of the sizes and addresses of what was loaded. Hexadecimal digits.
std::string build();

}  // namespace periapt::program
