// How much memory a piece of work needed at its fullest.
#pragma once
#include <cstdint>

namespace periapt::lab {

// Forgets earlier peaks, and returns how many bytes are in memory now.
std::uint64_t begin_peak();
// The most there was since; 0 where the system does not say.
std::uint64_t peak_bytes();

}  // namespace periapt::lab
