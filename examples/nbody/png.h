// Pictures as PNG files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace periapt::nbody {

struct Image {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;  // rows from the top, three bytes a pixel
};

/// The file's bytes: 8-bit RGB, deflated.
std::vector<std::uint8_t> encodePng(const Image& image);
/// Throws std::runtime_error with path and cause.
void writePng(const std::string& path, const Image& image);

}  // namespace periapt::nbody
