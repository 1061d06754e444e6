// Where in the source a function was called: std::source_location, which Clang has from version 16 on only, in what all
// compilers have. C++17.
#pragma once

namespace periapt {

struct CodePlace {
  const char* file;
  int line;
  const char* function;

  /// As the default of a parameter: the caller's place.
  static constexpr CodePlace here(const char* file = __builtin_FILE(), int line = __builtin_LINE(),
                                  const char* function = __builtin_FUNCTION()) {
    return {file, line, function};
  }
};

}  // namespace periapt
