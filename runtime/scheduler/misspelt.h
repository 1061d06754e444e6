// Options that were probably meant for us: what begins with a plus sign and is none of ours goes to the program, which
// may have such options of its own; but +pnn is no other program's +ppn.
#pragma once

#include <string>

namespace periapt {

/// The option of ours, without plus signs, that an argument was probably meant to be; empty: none. For those that are
/// left when ours have been taken.
std::string meant_option(const std::string& argument);

/// Warns of each of them.
void warn_of_misspelt_options(char** argv);

}  // namespace periapt
