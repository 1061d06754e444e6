// Bytes that can be told from others, and a look whether they are the same. Tests are compiled without optimizing, and
// do much of both: so one goes by words, the other is the library's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace periapt {

// The sanitizers look at what is copied and compared, not at each word of it: that takes a minute.
__attribute__((no_sanitize("thread", "address", "undefined"))) inline void fill_words(std::uint64_t* words,
                                                                                      std::size_t count,
                                                                                      std::uint64_t seed) {
  std::uint64_t state = seed * 0x9E37'79B9u + 1;
  for (std::size_t i = 0; i < count; ++i)
    words[i] = (state = state * 6364136223846793005u + 99) * 0x9E37'79B9'7F4A'7C15u;
}

inline std::vector<std::byte> pattern(std::size_t size, std::uint64_t seed = 1) {
  std::vector<std::uint64_t> words(size / 8 + 1);
  fill_words(words.data(), words.size(), seed);
  const auto* bytes = reinterpret_cast<const std::byte*>(words.data());
  return {bytes, bytes + size};
}

/// Before the one of std, which takes a byte at a time of this type.
inline bool operator==(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace periapt
