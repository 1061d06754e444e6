// Bytes as they are written in words: two digits each.
#pragma once

#include <span>
#include <string>

namespace periapt {

inline std::string hexadecimal(std::span<const unsigned char> bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : bytes) text += {digits[byte >> 4], digits[byte & 15]};
  return text;
}

}  // namespace periapt
