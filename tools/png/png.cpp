// PNG (ISO/IEC 15948): a signature, then chunks of length, type, data and CRC.
#include "tools/png/png.h"

#include <zlib.h>

#include <stdexcept>
#include <string_view>

namespace periapt {
namespace {

using Bytes = std::vector<std::uint8_t>;

void put32(Bytes& to, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(std::uint8_t(value >> shift));
}

void put_chunk(Bytes& to, std::string_view type, const Bytes& data) {
  put32(to, std::uint32_t(data.size()));
  const std::size_t checked = to.size();
  to.insert(to.end(), type.begin(), type.end());
  to.insert(to.end(), data.begin(), data.end());
  put32(to, std::uint32_t(crc32(0, to.data() + checked, uInt(to.size() - checked))));
}

Bytes deflated(const Bytes& raw) {
  uLongf size = compressBound(uLong(raw.size()));
  Bytes packed(size);
  if (compress2(packed.data(), &size, raw.data(), uLong(raw.size()), 6) != Z_OK) {
    throw std::runtime_error("png: zlib could not compress the picture");
  }
  packed.resize(size);
  return packed;
}

}  // namespace

Bytes encode_png(const Image& image) {
  Bytes file{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  Bytes header;
  put32(header, std::uint32_t(image.width));
  put32(header, std::uint32_t(image.height));
  header.insert(header.end(), {8, 2, 0, 0, 0});  // bits a sample, RGB, deflate, filters by row, not interlaced
  put_chunk(file, "IHDR", header);

  Bytes rows;
  const std::size_t row = std::size_t(image.width) * 3;
  for (int y = 0; y < image.height; ++y) {
    rows.push_back(0);  // unfiltered
    rows.insert(rows.end(), image.rgb.begin() + y * row, image.rgb.begin() + (y + 1) * row);
  }
  put_chunk(file, "IDAT", deflated(rows));
  put_chunk(file, "IEND", {});
  return file;
}

}  // namespace periapt
