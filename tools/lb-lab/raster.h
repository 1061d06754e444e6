// A picture of pixels, and the PNG file of it.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "tools/png/png.h"

namespace periapt::lab {

struct Color {
  std::uint8_t red, green, blue;
  bool operator==(const Color&) const = default;
};

class Raster {
 public:
  // White at first.
  Raster(int width, int height);
  // From the left and top to before the right and bottom; what is outside is left out.
  void fill(int left, int top, int right, int bottom, Color color);
  // In capitals, 8 pixels a letter, 10 high.
  void write(int x, int y, std::string_view words);
  void write_png(std::ostream& out) const;

 private:
  Image image_;
};

}  // namespace periapt::lab
