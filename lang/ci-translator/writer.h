// Text that is being written, with a way to say which line of the .ci a line of it stands for.
#pragma once

#include <string>
#include <string_view>

#include "lang/ci-translator/source.h"

namespace periapt::ci {

class Writer {
 public:
  /// `file` is the name of what is written; `#line` leads back to it.
  Writer(const SourceText& source, std::string file) : source_(source), file_(std::move(file)) {}

  /// Writes one line. Several lines in `text` count as several.
  void line(std::string_view text = {});
  /// Writes one line that the C++ compiler shall take for the .ci line at `offset`: where its messages belong.
  void lineAt(std::size_t offset, std::string_view text);

  /// "hello.ci:12", as the inside of a string literal or a comment.
  std::string place(std::size_t offset) const;

  std::string take() {
    leave();
    return std::move(out_);
  }

 private:
  void put(std::string_view text);
  void leave();

  const SourceText& source_;
  std::string file_;
  std::string out_;
  std::size_t lines_ = 0;  // written so far
  bool away_ = false;      // the compiler believes itself in the .ci
};

/// `text` as the inside of a C++ string literal.
std::string escaped(std::string_view text);

}  // namespace periapt::ci
