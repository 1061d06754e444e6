// See raster.h.
#include "tools/lb-lab/raster.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <ostream>

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

void put32(std::string& to, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<char>(value >> shift));
}

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

std::uint32_t adler32(std::string_view bytes) {
  std::uint32_t a = 1, b = 0;
  for (const char c : bytes) {
    a = (a + static_cast<std::uint8_t>(c)) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

void write_chunk(std::ostream& out, const std::string& type, const std::string& data) {
  std::string chunk;
  put32(chunk, static_cast<std::uint32_t>(data.size()));
  chunk += type + data;
  put32(chunk, crc32(std::string_view(chunk).substr(4)));
  out << chunk;
}

// A stream of zlib (RFC 1950) whose blocks are stored.
std::string stored(std::string_view bytes) {
  std::string stream = "\x78\x01";
  for (std::size_t at = 0; at == 0 || at < bytes.size();) {
    const std::size_t length = std::min<std::size_t>(bytes.size() - at, 65535);
    const bool last = at + length == bytes.size();
    for (const std::size_t byte : {std::size_t{last}, length & 255, length >> 8, ~length & 255, ~length >> 8 & 255})
      stream.push_back(static_cast<char>(byte));
    stream += bytes.substr(at, length);
    at += length;
    if (last) break;
  }
  put32(stream, adler32(bytes));
  return stream;
}
}  // namespace

Raster::Raster(int width, int height)
    : width_(width), height_(height), pixels_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height)) {}

// The number of a color. What comes when the palette is full gets the last one.
std::uint8_t Raster::number_of(Color color) {
  const auto number = std::find(palette_.begin(), palette_.end(), color) - palette_.begin();
  if (number < 256 && number == std::ssize(palette_)) palette_.push_back(color);
  return static_cast<std::uint8_t>(std::min<std::ptrdiff_t>(number, 255));
}

void Raster::fill(int left, int top, int right, int bottom, Color color) {
  const std::uint8_t number = number_of(color);
  left = std::max(left, 0);
  right = std::min(right, width_);
  for (int y = std::max(top, 0); y < std::min(bottom, height_); ++y)
    if (left < right)
      std::fill_n(pixels_.begin() + y * static_cast<std::ptrdiff_t>(width_) + left, right - left, number);
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
  out << "\x89PNG\r\n\x1a\n";
  std::string header;
  put32(header, static_cast<std::uint32_t>(width_));
  put32(header, static_cast<std::uint32_t>(height_));
  header += std::string("\x08\x03\0\0\0", 5);  // bits a pixel, a palette, deflate, filters by row, not interlaced
  write_chunk(out, "IHDR", header);
  std::string palette;
  for (const Color& color : palette_)
    for (const std::uint8_t tone : {color.red, color.green, color.blue}) palette.push_back(static_cast<char>(tone));
  write_chunk(out, "PLTE", palette);
  std::string rows;
  for (int y = 0; y < height_; ++y) {
    rows.push_back(0);  // unfiltered
    rows.append(reinterpret_cast<const char*>(pixels_.data()) + y * static_cast<std::ptrdiff_t>(width_),
                static_cast<std::size_t>(width_));
  }
  write_chunk(out, "IDAT", stored(rows));
  write_chunk(out, "IEND", "");
}

}  // namespace periapt::lab
