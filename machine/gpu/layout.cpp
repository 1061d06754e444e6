#include "machine/gpu/layout.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace periapt::gpu {
namespace {

// a += b * c, unless that is no address any more.
bool add_product(std::uint64_t& a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t product = 0;
  return !__builtin_mul_overflow(b, c, &product) && !__builtin_add_overflow(a, product, &a);
}

Status too_far() { return Status::failure("it ends beyond the addresses that there are"); }

bool rows_overlap(std::uint64_t block, const std::vector<Layout::Row>& rows) {
  std::uint64_t reach = block;
  for (const Layout::Row& row : rows) {
    if (row.stride < reach) return true;
    reach += (row.count - 1) * row.stride;
  }
  return false;
}
bool blocks_overlap(std::vector<Layout::Block> blocks) {
  std::sort(blocks.begin(), blocks.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  const auto meets = [](const auto& a, const auto& b) { return a.offset + a.bytes > b.offset; };
  return std::adjacent_find(blocks.begin(), blocks.end(), meets) != blocks.end();
}

}  // namespace

Result<Layout> layout_of_rows(std::uint64_t first, std::uint64_t block, std::span<const Layout::Row> rows) {
  Layout layout;
  layout.first = first;
  layout.block = block;
  std::uint64_t bytes = block, end = first;
  if (block == 0) return Layout();
  for (const Layout::Row& row : rows)
    if (row.count == 0) return Layout();
  if (!add_product(end, 1, block)) return too_far();
  for (const Layout::Row& row : rows) {
    if (!add_product(end, row.count - 1, row.stride) || __builtin_mul_overflow(bytes, row.count, &bytes))
      return too_far();
    if (row.count == 1) continue;
    const bool in_one_piece = layout.rows.empty() ? row.stride == layout.block
                                                  : row.stride == layout.rows.back().count * layout.rows.back().stride;
    if (in_one_piece)
      (layout.rows.empty() ? layout.block : layout.rows.back().count) *= row.count;
    else
      layout.rows.push_back(row);
  }
  if (layout.rows.size() > Layout::kMostRows)
    return Status::failure("it has " + std::to_string(layout.rows.size()) + " rows within each other, and " +
                           std::to_string(Layout::kMostRows) + " is the most");
  layout.bytes = bytes;
  layout.extent = end;
  layout.multiples = first | layout.block;
  for (const Layout::Row& row : layout.rows) layout.multiples |= row.stride;
  layout.overlaps = rows_overlap(layout.block, layout.rows);
  return layout;
}

Result<Layout> layout_of_blocks(std::span<const Layout::Block> blocks) {
  Layout layout;
  layout.blocks.reserve(blocks.size());
  for (const Layout::Block& block : blocks) {
    std::uint64_t end = block.offset;
    if (!add_product(end, 1, block.bytes) || !add_product(layout.bytes, 1, block.bytes)) return too_far();
    if (block.bytes == 0) continue;
    layout.extent = std::max(layout.extent, end);
    if (!layout.blocks.empty() && layout.blocks.back().offset + layout.blocks.back().bytes == block.offset)
      layout.blocks.back().bytes += block.bytes;
    else
      layout.blocks.push_back(block);
  }
  for (const Layout::Block& block : layout.blocks) layout.multiples |= block.offset | block.bytes;
  layout.overlaps = blocks_overlap(layout.blocks);
  return layout;
}

void gather(const Layout& layout, std::byte* packed, const std::byte* scattered) {
  for_each_row(layout, [&](std::uint64_t offset, std::uint64_t at, std::uint64_t bytes, Layout::Row row) {
    for (std::uint64_t i = 0; i < row.count; ++i)
      std::memcpy(packed + at + i * bytes, scattered + offset + i * row.stride, bytes);
  });
}
void scatter(const Layout& layout, std::byte* scattered, const std::byte* packed) {
  for_each_row(layout, [&](std::uint64_t offset, std::uint64_t at, std::uint64_t bytes, Layout::Row row) {
    for (std::uint64_t i = 0; i < row.count; ++i)
      std::memcpy(scattered + offset + i * row.stride, packed + at + i * bytes, bytes);
  });
}

}  // namespace periapt::gpu
