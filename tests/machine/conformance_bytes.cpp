// Bytes that can be told from others: most of what the suite computes, so this file is optimized.
#include <algorithm>
#include <cstring>

#include "tests/machine/conformance.h"

namespace periapt::conformance {

// The words of one block. The sanitizers look at the blocks, which are copied and compared: at each word it takes
// minutes.
constexpr std::size_t kBlockWords = 512;
__attribute__((no_sanitize("thread", "address", "undefined"))) static void make_block(std::uint64_t* words,
                                                                                      std::uint64_t seed,
                                                                                      std::uint64_t first) {
  for (std::size_t i = 0; i < kBlockWords; ++i) {
    const std::uint64_t word = (seed * 0x1'0001 + first + i) * 0x9e37'79b9'7f4a'7c15;
    words[i] = word ^ (word >> 29);
  }
}

void fill(std::span<std::byte> bytes, std::uint64_t seed) {
  std::uint64_t words[kBlockWords];
  for (std::size_t at = 0; at < bytes.size(); at += sizeof words) {
    make_block(words, seed, at / 8);
    std::memcpy(bytes.data() + at, words, std::min(sizeof words, bytes.size() - at));
  }
}

std::ptrdiff_t difference(View bytes, std::uint64_t seed) {
  std::uint64_t words[kBlockWords];
  for (std::size_t at = 0; at < bytes.size(); at += sizeof words) {
    make_block(words, seed, at / 8);
    const std::size_t size = std::min(sizeof words, bytes.size() - at);
    if (std::memcmp(bytes.data() + at, words, size) == 0) continue;
    const auto* wanted = reinterpret_cast<const std::byte*>(words);
    return static_cast<std::ptrdiff_t>(at) + (std::mismatch(wanted, wanted + size, bytes.data() + at).first - wanted);
  }
  return -1;
}

bool equal(View a, View b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace periapt::conformance
