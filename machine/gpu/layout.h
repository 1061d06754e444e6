// Which bytes of some memory a message is made of: blocks, in the order in which they stand in the message.
//
// A layout is rows of blocks of one size, at strides, or a list of blocks. It is made once (runtime/api/device_layout.h
// is the face of it) and does not change. Offsets, strides and lengths are bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace periapt::gpu {

struct Layout {
  /// So many of what is inside of it, a stride apart.
  struct Row {
    std::uint64_t count = 0, stride = 0;
  };
  struct Block {
    std::uint64_t offset = 0, bytes = 0;
  };
  /// Rows within rows: a part of an array of four dimensions has three, of the blocks that lie in one piece.
  static constexpr std::size_t kMostRows = 3;

  std::uint64_t first = 0;      ///< offset of the first block
  std::uint64_t block = 0;      ///< bytes of each block of the rows
  std::vector<Row> rows;        ///< the innermost first
  std::vector<Block> blocks;    ///< of a list; `first`, `block` and `rows` mean nothing then
  std::uint64_t bytes = 0;      ///< of all blocks: so long is the message
  std::uint64_t extent = 0;     ///< from the address to the end of the block that ends last
  std::uint64_t multiples = 0;  ///< a power of two that divides it divides all offsets, strides and lengths
  bool overlaps = false;        ///< some bytes are in two blocks: it cannot be written by

  bool is_list() const { return !blocks.empty(); }
  /// One block, which lies at begin(): it can be sent as any memory.
  bool is_one_piece() const { return bytes != 0 && rows.empty() && blocks.size() <= 1; }
  /// Of the block that stands first in the message.
  std::uint64_t begin() const { return is_list() ? blocks[0].offset : first; }
};

/// Rows, each of which holds those before it: its stride is not less than they reach, or the layout overlaps. Those
/// that lie one behind the other become one. A failure: there are more than kMostRows then, or the layout ends beyond
/// the addresses that there are.
Result<Layout> layout_of_rows(std::uint64_t first, std::uint64_t block, std::span<const Layout::Row> rows);
/// Empty blocks are left out, and those that lie one behind the other become one.
Result<Layout> layout_of_blocks(std::span<const Layout::Block> blocks);

/// Calls what(offset, at, bytes, row) for each innermost row: its first block of so many bytes lies at the offset and
/// stands at `at` in the message, with the others of the row behind it. A block of a list is a row of one.
template <class What>
void for_each_row(const Layout& layout, What what) {
  if (layout.bytes == 0) return;
  std::uint64_t at = 0;
  for (const Layout::Block& block : layout.blocks) {
    what(block.offset, at, block.bytes, Layout::Row{1, 0});
    at += block.bytes;
  }
  if (layout.is_list()) return;
  const Layout::Row inner = layout.rows.empty() ? Layout::Row{1, 0} : layout.rows[0];
  std::uint64_t outer = 1;
  for (std::size_t i = 1; i < layout.rows.size(); ++i) outer *= layout.rows[i].count;
  for (std::uint64_t k = 0; k < outer; ++k) {
    std::uint64_t offset = layout.first, rest = k;
    for (std::size_t i = 1; i < layout.rows.size(); ++i) {
      offset += rest % layout.rows[i].count * layout.rows[i].stride;
      rest /= layout.rows[i].count;
    }
    what(offset, at, layout.block, inner);
    at += inner.count * layout.block;
  }
}

/// By the processor, in memory that it may touch: from the blocks to the message, and back.
void gather(const Layout& layout, std::byte* packed, const std::byte* scattered);
void scatter(const Layout& layout, std::byte* scattered, const std::byte* packed);

}  // namespace periapt::gpu
