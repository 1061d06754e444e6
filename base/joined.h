// Words of a command as one text.
#pragma once

#include <span>
#include <string>

namespace periapt {

/// With a blank between them.
inline std::string joined(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) text += (&word == words.data() ? "" : " ") + word;
  return text;
}

}  // namespace periapt
