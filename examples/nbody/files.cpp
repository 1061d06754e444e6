#include "examples/nbody/files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace periapt::nbody {

void writeWhole(const std::string& path, std::span<const std::byte> bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) throw std::runtime_error(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  int why = errno;
  if (std::fclose(file) != 0 && written) written = false, why = errno;
  if (written) return;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) std::filesystem::remove(path, ignored);
  throw std::runtime_error(fmt::format("{}: cannot be written: {}", path, std::strerror(why)));
}

void writePng(const std::string& path, const Image& image) {
  const std::vector<std::uint8_t> bytes = encode_png(image);
  writeWhole(path, std::as_bytes(std::span(bytes)));
}

}  // namespace periapt::nbody
