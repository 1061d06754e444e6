#include "runtime/converse/checksum.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace {

constexpr std::uint32_t polynomial = 0x04c11db7;

// What the byte that leaves the register at the top does to the rest.
constexpr std::array<std::uint32_t, 256> table = [] {
  std::array<std::uint32_t, 256> all{};
  for (std::uint32_t byte = 0; byte < all.size(); ++byte) {
    std::uint32_t rest = byte << 24;
    for (int bit = 0; bit < 8; ++bit) rest = rest << 1 ^ (rest >> 31 ? polynomial : 0);
    all[byte] = rest;
  }
  return all;
}();

}  // namespace

// The register begins as the first four bytes, inverted; sums that programs see are inverted once more.
unsigned int crc32_initial(unsigned char* data, int length) {
  const int first = std::min(length, 4);
  std::uint32_t sum = 0;
  for (int i = 0; i < first; ++i) sum = sum << 8 | data[i];
  return crc32_update(data + first, length - first, sum);
}
unsigned int crc32_update(unsigned char* data, int length, unsigned int previous) {
  std::uint32_t rest = ~previous;
  for (int i = 0; i < length; ++i) rest = (rest << 8 | data[i]) ^ table[rest >> 24];
  return ~rest;
}

unsigned int checksum_initial(unsigned char* data, int length) { return checksum_update(data, length, 0); }
unsigned int checksum_update(unsigned char* data, int length, unsigned int previous) {
  for (int i = 0; i < length; ++i) previous ^= static_cast<std::uint32_t>(data[i]) << 8 * (i % 4);
  return previous;
}
