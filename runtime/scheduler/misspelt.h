// What begins with a plus sign and is none of our options goes to the program, which may have such options of its own,
// with a warning, as in Charm++; and +pnn was probably meant to be +ppn.
#pragma once

#include <string>

namespace periapt {

/// The option of ours, without plus signs, that an argument was probably meant to be; empty: none. For those that are
/// left when ours have been taken.
std::string meant_option(const std::string& argument);

/// Warns of all that begin with plus signs and a letter.
void warn_of_misspelt_options(char** argv);

}  // namespace periapt
