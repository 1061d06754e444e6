// What is wrong with a .ci file, said the way a good compiler says it: file, line, column, the line itself, a caret,
// and a hint where the mistake is a common one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lang/ci-translator/source.h"

namespace periapt::ci {

class Diagnostics {
 public:
  explicit Diagnostics(const SourceText& source) : source_(source) {}

  /// Several errors of one file are reported; past this many the rest is not worth reading.
  static constexpr int errors_max = 20;

  void error(Span at, std::string message, std::string hint = {});
  void warning(Span at, std::string message, std::string hint = {});
  /// About the file as a whole: no line of it is shown.
  void warningOfFile(std::string message, std::string hint = {});

  int errors() const { return errors_; }
  bool full() const { return errors_ >= errors_max; }
  /// All messages, in the order of the file.
  std::string render() const;

 private:
  struct Diagnostic {
    Span at;
    bool isError;
    std::string message;
    std::string hint;
    bool ofFile = false;
  };
  void add(Diagnostic entry);

  const SourceText& source_;
  std::vector<Diagnostic> entries_;
  int errors_ = 0;
};

/// The word of `known` that `word` was probably meant to be, or an empty view when none is near.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace periapt::ci
