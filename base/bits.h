// Small arithmetic on bits and sizes. C++17.
#pragma once

#include <cstddef>
#include <cstdint>

namespace periapt {

constexpr bool is_power_of_two(std::uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

/// Position of the highest set bit; value must not be 0.
constexpr unsigned floor_log2(std::uint64_t value) { return 63u - static_cast<unsigned>(__builtin_clzll(value)); }

constexpr unsigned ceil_log2(std::uint64_t value) { return value <= 1 ? 0 : floor_log2(value - 1) + 1; }

/// The smallest power of two not below value (value at most 2^63).
constexpr std::uint64_t round_up_power_of_two(std::uint64_t value) { return std::uint64_t{1} << ceil_log2(value); }

/// Rounds up to a multiple of `unit`, a power of two.
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) & ~(unit - 1); }

constexpr std::uint64_t round_down(std::uint64_t value, std::uint64_t unit) { return value & ~(unit - 1); }

constexpr unsigned lowest_bit(std::uint64_t value) { return static_cast<unsigned>(__builtin_ctzll(value)); }

constexpr unsigned count_bits(std::uint64_t value) { return static_cast<unsigned>(__builtin_popcountll(value)); }

}  // namespace periapt
