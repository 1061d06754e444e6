// An entry and a reference number, in one word: whens and messages with the same one meet. Numbers have 47 bits; what
// has more is refused with a sentence. C++17.
#pragma once
#include <cstdint>

namespace periapt::sdag {

typedef std::uint64_t Key;
constexpr std::int64_t reference_max = (std::int64_t{1} << 47) - 1, reference_min = -reference_max;
constexpr Key number_mask = (Key{1} << 48) - 1, no_number = Key{1} << 47;

constexpr bool fits(std::int64_t reference) { return reference >= reference_min && reference <= reference_max; }
constexpr Key key_of(int entry, std::int64_t reference) {
  return static_cast<Key>(entry) << 48 | (static_cast<Key>(reference) & number_mask);
}
// Of a when without a number, and of a message that has none.
constexpr Key any_of(int entry) { return static_cast<Key>(entry) << 48 | no_number; }
constexpr int entry_of(Key key) { return static_cast<int>(key >> 48); }
constexpr Key without_number(Key key) { return (key & ~number_mask) | no_number; }
constexpr bool is_any(Key key) { return (key & number_mask) == no_number; }
constexpr std::int64_t reference_of(Key key) { return static_cast<std::int64_t>(key << 16) >> 16; }

}  // namespace periapt::sdag
