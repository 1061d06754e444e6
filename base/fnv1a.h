// FNV-1a, 64 bits (Fowler, Noll, Vo): a hash whose value is the same everywhere and always. Against what was cut or
// mangled, not against what was forged. C++17: reached from public headers' sources.
#pragma once

#include <cstddef>
#include <cstdint>

namespace periapt {

inline constexpr std::uint64_t kFnv1aOffset = 0xCBF2'9CE4'8422'2325u;

/// The hash with one more unit in it: a byte, or a word where a word is what is hashed.
constexpr std::uint64_t fnv1a_with(std::uint64_t hash, std::uint64_t unit) { return (hash ^ unit) * 0x100'0000'01B3u; }

/// Of all bytes of a piece of memory.
inline std::uint64_t fnv1a(const void* memory, std::size_t bytes) {
  std::uint64_t hash = kFnv1aOffset;
  for (std::size_t i = 0; i < bytes; ++i) hash = fnv1a_with(hash, static_cast<const unsigned char*>(memory)[i]);
  return hash;
}

}  // namespace periapt
