// See raster.h.
#include "tools/lb-lab/raster.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <ostream>
#include <vector>

namespace periapt::lab {

namespace {
// Letters of three by five pixels: a digit a row, from the top, whose bits are the pixels from the left.
struct Letter {
  char name;
  const char* rows;
};
constexpr std::array letters = {
    Letter{'0', "75557"}, Letter{'1', "26227"}, Letter{'2', "71747"}, Letter{'3', "71717"}, Letter{'4', "55711"},
    Letter{'5', "74717"}, Letter{'6', "74757"}, Letter{'7', "71111"}, Letter{'8', "75757"}, Letter{'9', "75717"},
    Letter{'A', "25755"}, Letter{'B', "65656"}, Letter{'C', "34443"}, Letter{'D', "65556"}, Letter{'E', "74647"},
    Letter{'F', "74644"}, Letter{'G', "34553"}, Letter{'H', "55755"}, Letter{'I', "72227"}, Letter{'J', "11152"},
    Letter{'K', "55655"}, Letter{'L', "44447"}, Letter{'M', "57755"}, Letter{'N', "65555"}, Letter{'O', "25552"},
    Letter{'P', "65644"}, Letter{'Q', "25563"}, Letter{'R', "65655"}, Letter{'S', "34216"}, Letter{'T', "72222"},
    Letter{'U', "55557"}, Letter{'V', "55552"}, Letter{'W', "55775"}, Letter{'X', "55255"}, Letter{'Y', "55222"},
    Letter{'Z', "71247"}, Letter{'.', "00002"}, Letter{',', "00024"}, Letter{':', "02020"}, Letter{'/', "11244"},
    Letter{'=', "07070"}, Letter{'_', "00007"}, Letter{'-', "00700"}, Letter{'>', "42124"}, Letter{'|', "22222"}};
constexpr int dot = 2;  // pixels a side
}  // namespace

Raster::Raster(int width, int height)
    : image_{width, height,
             std::vector<std::uint8_t>(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height), 255)} {}

void Raster::fill(int left, int top, int right, int bottom, Color color) {
  for (int y = std::max(top, 0); y < std::min(bottom, image_.height); ++y)
    for (int x = std::max(left, 0); x < std::min(right, image_.width); ++x) {
      std::uint8_t* pixel = &image_.rgb[3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(image_.width) +
                                             static_cast<std::size_t>(x))];
      pixel[0] = color.red, pixel[1] = color.green, pixel[2] = color.blue;
    }
}

void Raster::write(int x, int y, std::string_view words) {
  for (const char c : words) {
    const auto letter = std::find_if(letters.begin(), letters.end(), [c](const Letter& l) {
      return l.name == std::toupper(static_cast<unsigned char>(c));
    });
    for (int row = 0; row < 5 && letter != letters.end(); ++row)
      for (int column = 0; column < 3; ++column)
        if ((letter->rows[row] - '0') >> (2 - column) & 1)
          fill(x + column * dot, y + row * dot, x + (column + 1) * dot, y + (row + 1) * dot, {0, 0, 0});
    x += 4 * dot;
  }
}

void Raster::write_png(std::ostream& out) const {
  const std::vector<std::uint8_t> file = encode_png(image_);
  out.write(reinterpret_cast<const char*>(file.data()), std::ssize(file));
}

}  // namespace periapt::lab
