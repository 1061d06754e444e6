// Pictures as PNG files.
#pragma once

#include <cstdint>
#include <vector>

namespace periapt {

struct Image {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;  // rows from the top, three bytes a pixel
};

/// The file's bytes: 8-bit RGB, deflated. Throws std::runtime_error where zlib has no memory.
std::vector<std::uint8_t> encode_png(const Image& image);

}  // namespace periapt
