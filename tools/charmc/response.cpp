// @file arguments, and command lines written as one text.
#include <cctype>

#include "tools/charmc/files.h"

namespace periapt::charmc {

std::vector<std::string> splitCommandLine(const std::string& text) {
  std::vector<std::string> out;
  std::string word;
  bool inWord = false;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote) {
      if (c == quote)
        quote = '\0';
      else if (c == '\\' && quote == '"' && i + 1 < text.size())
        word += text[++i];
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      inWord = true;
    } else if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      inWord = true;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      if (inWord) out.push_back(word);
      word.clear();
      inWord = false;
    } else {
      word += c;
      inWord = true;
    }
  }
  if (inWord) out.push_back(word);
  return out;
}

std::vector<std::string> expandResponseFiles(const std::vector<std::string>& arguments, int depth) {
  std::vector<std::string> out;
  for (const std::string& argument : arguments) {
    std::string text;
    const bool isFile = argument.size() > 1 && argument[0] == '@' && depth < 8 && readFile(argument.substr(1), text);
    if (!isFile) {
      out.push_back(argument);
      continue;
    }
    for (std::string& inner : expandResponseFiles(splitCommandLine(text), depth + 1)) out.push_back(std::move(inner));
  }
  return out;
}

}  // namespace periapt::charmc
