// A picture of pixels, and the PNG file of it (ISO/IEC 15948), without a library: its bytes are stored, not deflated.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

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
  std::uint8_t number_of(Color color);

  int width_, height_;
  std::vector<Color> palette_{{255, 255, 255}};  // up to 256
  std::vector<std::uint8_t> pixels_;             // numbers of colors
};

}  // namespace periapt::lab
