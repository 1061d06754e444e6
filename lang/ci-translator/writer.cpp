#include "lang/ci-translator/writer.h"

#include <algorithm>

namespace periapt::ci {

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

void Writer::put(std::string_view text) {
  out_ += text;
  out_ += '\n';
  lines_ += 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void Writer::leave() {
  if (!away_) return;
  away_ = false;
  put("#line " + std::to_string(lines_ + 2) + " \"" + escaped(file_) + "\"");
}

void Writer::line(std::string_view text) {
  leave();
  put(text);
}

void Writer::lineAt(std::size_t offset, std::string_view text) {
  put("#line " + std::to_string(source_.lineOf(offset)) + " \"" + escaped(source_.fileOf(offset)) + "\"");
  put(text);
  away_ = true;
}

std::string Writer::place(std::size_t offset) const {
  return escaped(source_.fileOf(offset)) + ":" + std::to_string(source_.lineOf(offset));
}

}  // namespace periapt::ci
