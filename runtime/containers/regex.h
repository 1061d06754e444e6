// findFirstCaptures() of ckregex.h. C++17: programs include it.
#pragma once
#include <cstdlib>
#include <cstring>
#include <regex>

// What the groups of the first match are, ended by a null pointer; memory of malloc(), the texts' too. Null: no match.
// The pattern is one of ECMAScript's.
inline char** findFirstCaptures(const char* pattern, const char* text) {
  std::cmatch match;
  if (!std::regex_search(text, match, std::regex(pattern))) return nullptr;
  const std::size_t groups = match.size() - 1;
  char** const captures = static_cast<char**>(std::malloc((groups + 1) * sizeof(char*)));
  for (std::size_t i = 0; i < groups; ++i) captures[i] = ::strdup(match.str(i + 1).c_str());
  captures[groups] = nullptr;
  return captures;
}
