// N copies of a program that were meant to be one run: a launcher started them, but gave them no way to know each
// other. Each would run the whole problem by itself, silently.
#pragma once

#include <string>

namespace periapt::bootstrap {

/// A sentence that says by whom this process was started as one of several, and what to do; empty if there is no sign
/// of that.
std::string explain_copies();

}  // namespace periapt::bootstrap
