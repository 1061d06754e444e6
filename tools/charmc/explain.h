// The words of a compiler or linker that failed, turned into what to do, where a mistake is one of Charm++: a .def.h
// that nothing includes, an object that is not linked, an entry that is called with other arguments than the .ci file
// says.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace periapt::charmc {

/// One mistake: what it is and what to do, ready to print.
struct Explanation {
  std::string what;
  std::string hint;
};

/// From what the compiler printed (GCC's or Clang's words); empty when none is known. Each mistake once.
std::vector<Explanation> explainCompiler(const std::string& printed);

/// The first error of the compiler's that may be one since C++17 only, without the word `error`: a name of the program
/// that is one of std's too, which the program is using, or what was taken out of the language or the library. Empty if
/// there is none.
std::string errorSinceCxx17(const std::string& printed);

/// From what the linker printed (GNU ld's, gold's or lld's words). `defining` answers the file, not on the line, that
/// defines a symbol, or an empty text.
std::vector<Explanation> explainLinker(const std::string& printed,
                                       const std::function<std::string(const std::string& symbol)>& defining = {});

/// Prints them behind the compiler's or linker's own words, the first few of many.
void printExplanations(const std::vector<Explanation>& explanations);

}  // namespace periapt::charmc
