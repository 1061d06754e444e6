// Atomic operations on a word of memory: as they are asked for, as they travel, and as a cpu does them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "machine/ucx-like/transport.h"

namespace periapt::ucx {

struct AtomicOperands {
  std::uint64_t operand;
  std::uint64_t compare;
};

inline std::uint16_t code_of(AtomicOp op, std::size_t width) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(op) | (static_cast<unsigned>(width) << 8));
}

template <class Word>
Word apply(AtomicOp op, Word* word, Word operand, Word compare) {
  switch (op) {
    case AtomicOp::add:
      return __atomic_fetch_add(word, operand, __ATOMIC_ACQ_REL);
    case AtomicOp::bit_and:
      return __atomic_fetch_and(word, operand, __ATOMIC_ACQ_REL);
    case AtomicOp::bit_or:
      return __atomic_fetch_or(word, operand, __ATOMIC_ACQ_REL);
    case AtomicOp::bit_xor:
      return __atomic_fetch_xor(word, operand, __ATOMIC_ACQ_REL);
    case AtomicOp::swap:
      return __atomic_exchange_n(word, operand, __ATOMIC_ACQ_REL);
    case AtomicOp::compare_swap:
      break;
  }
  __atomic_compare_exchange_n(word, &compare, operand, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return compare;
}

/// What was there before. `width`: 4 or 8.
inline std::uint64_t apply(AtomicOp op, std::size_t width, std::byte* word, std::uint64_t operand,
                           std::uint64_t compare) {
  if (width == 8) return apply(op, reinterpret_cast<std::uint64_t*>(word), operand, compare);
  return apply(op, reinterpret_cast<std::uint32_t*>(word), static_cast<std::uint32_t>(operand),
               static_cast<std::uint32_t>(compare));
}

/// What an atomic operation can be done on.
inline bool is_word(std::uint64_t address, std::size_t width) {
  return (width == 4 || width == 8) && address % width == 0;
}

}  // namespace periapt::ucx
