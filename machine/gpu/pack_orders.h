// What a kernel that packs blocks of memory into a message, or unpacks them, is told (pack_kernel.inc). Compiled for
// GPUs too, by compilers that know no header of the system's.
#pragma once

namespace periapt::gpu {

using Word = unsigned long long;

/// The most that the kernel moves at a time.
struct alignas(16) PackUnit16 {
  Word low, high;
};

struct PackRow {
  Word stride;  ///< bytes
  unsigned count;
};
/// Of a list of blocks, in the order of the message. A piece ends there where the next one begins; one more stands
/// behind the last.
struct alignas(16) PackPiece {
  Word scattered, packed;  ///< offsets
};

struct PackOrders {
  static constexpr unsigned kMostRows = 3;
  Word scattered, packed;  ///< addresses; whole multiples of a unit, as all lengths and strides are
  Word pieces;             ///< address of the list; 0: the rows say where the blocks are
  unsigned count;          ///< units in all; of a list, pieces
  unsigned block;          ///< units
  PackRow row[kMostRows];  ///< the innermost first
  unsigned rows;
  unsigned lanes_log2;  ///< of a list: so many threads share a piece
  unsigned unit;        ///< bytes: 1, 2, 4, 8 or 16
  unsigned unpacks;     ///< 0: from the blocks to the message
};

}  // namespace periapt::gpu
