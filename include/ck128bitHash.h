// std::hash of whole numbers of 128 bits, where the standard library has none (libstdc++ has it in gnu modes).
#pragma once
#include <cstddef>
#include <functional>

#include "converse.h"

#ifndef __GLIBCXX_TYPE_INT_N_0
template <>
struct std::hash<CmiUInt16> {
  std::size_t operator()(CmiUInt16 value) const noexcept {
    const CmiUInt8 low = static_cast<CmiUInt8>(value), high = static_cast<CmiUInt8>(value >> 64);
    return std::hash<CmiUInt8>()(low ^ (high * 0x9e3779b97f4a7c15u));  // Fibonacci hashing spreads the upper half
  }
};
#endif
