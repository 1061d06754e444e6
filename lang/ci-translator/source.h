// The text of a .ci file and the way back from a byte of it to the file, line and column its author knows.
//
// The text usually comes out of the C preprocessor, so line markers (`# 12 "file"`) say where each line was before. The
// preprocessor also squeezes spaces; when the author's own text is at hand, locate() finds the place in that.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace periapt::ci {

/// Bytes [begin, end) of a SourceText. An empty span stands between two characters.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// A place as a person reads it. Lines and columns count from 1; columns count bytes.
struct Location {
  std::string file;
  std::size_t line = 1;
  std::size_t column = 1;
  std::size_t width = 1;  ///< how many columns the span covers on this line
  std::string lineText;   ///< the whole line, without its end
};

class SourceText {
 public:
  SourceText(std::string text, std::string file);

  /// Gives the author's own text of `file`, which messages then quote instead of the preprocessed one.
  void setOriginal(const std::string& file, std::string_view text);

  std::string_view text() const { return text_; }
  std::string_view slice(Span span) const;
  Location locate(Span span) const;
  /// Line of the author's file, and its name: what `#line` needs.
  std::size_t lineOf(std::size_t offset) const;
  const std::string& fileOf(std::size_t offset) const;

 private:
  struct Line {
    std::size_t begin;   // offset of its first byte
    std::size_t number;  // in the author's file
    std::size_t file;    // index into files_
  };
  const Line& lineAt(std::size_t offset) const;
  std::size_t fileIndex(const std::string& name);

  std::string text_;
  std::vector<std::string> files_;
  std::vector<Line> lines_;
  std::map<std::string, std::vector<std::string>> originals_;
};

}  // namespace periapt::ci
