// Which bytes a message is made of.
#include "machine/gpu/layout.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace periapt::gpu {
namespace {

using ::testing::HasSubstr;
using Row = Layout::Row;
using Block = Layout::Block;

Layout rows(std::uint64_t first, std::uint64_t block, const std::vector<Row>& rows) {
  const Result<Layout> made = layout_of_rows(first, block, rows);
  EXPECT_TRUE(made.ok()) << made.message();
  return *made;
}
Layout blocks(const std::vector<Block>& blocks) {
  const Result<Layout> made = layout_of_blocks(blocks);
  EXPECT_TRUE(made.ok()) << made.message();
  return *made;
}
std::vector<std::uint64_t> offsets_of_bytes(const Layout& layout) {
  std::vector<std::uint64_t> offsets;
  for_each_row(layout, [&](std::uint64_t offset, std::uint64_t at, std::uint64_t bytes, Row row) {
    EXPECT_EQ(at, offsets.size()) << "each row stands behind the one before";
    for (std::uint64_t i = 0; i < row.count; ++i)
      for (std::uint64_t k = 0; k < bytes; ++k) offsets.push_back(offset + i * row.stride + k);
  });
  EXPECT_EQ(offsets.size(), layout.bytes);
  return offsets;
}

TEST(Layout, NamesItsBytesInOrder) {
  EXPECT_THAT(offsets_of_bytes(rows(1, 2, {{3, 5}})), ::testing::ElementsAre(1, 2, 6, 7, 11, 12));
  EXPECT_THAT(offsets_of_bytes(rows(0, 1, {{2, 2}, {2, 10}})), ::testing::ElementsAre(0, 2, 10, 12));
  EXPECT_THAT(offsets_of_bytes(blocks({{7, 2}, {0, 1}, {3, 0}, {20, 1}})), ::testing::ElementsAre(7, 8, 0, 20));
}

TEST(Layout, KnowsHowFarItReaches) {
  EXPECT_EQ(rows(4, 2, {{3, 5}}).extent, 4u + 2 * 5 + 2);
  EXPECT_EQ(rows(0, 8, {{2, 16}, {3, 100}}).extent, 2u * 100 + 16 + 8);
  EXPECT_EQ(blocks({{7, 2}, {30, 5}, {9, 1}}).extent, 35u);
}

TEST(Layout, OfNeighboursIsOnePiece) {
  const Layout whole = rows(0, 4, {{5, 4}, {3, 20}});
  EXPECT_TRUE(whole.rows.empty());
  EXPECT_EQ(whole.block, 60u);
  const Layout planes = rows(0, 4, {{5, 8}, {3, 40}});
  ASSERT_EQ(planes.rows.size(), 1u);
  EXPECT_EQ(planes.rows[0].count, 15u);
  EXPECT_EQ(blocks({{0, 4}, {4, 6}, {10, 1}}).blocks.size(), 1u);
  EXPECT_TRUE(rows(0, 4, {{1, 9}}).rows.empty()) << "there is no second one";
}

TEST(Layout, SaysWhatDividesAllOfIt) {
  EXPECT_EQ(rows(32, 16, {{3, 48}}).multiples % 16, 0u);
  EXPECT_NE(rows(32, 16, {{3, 40}}).multiples % 16, 0u);
  EXPECT_NE(rows(8, 16, {{3, 48}}).multiples % 16, 0u);
  EXPECT_NE(blocks({{16, 16}, {64, 12}}).multiples % 8, 0u);
  EXPECT_EQ(blocks({{16, 16}, {64, 12}}).multiples % 4, 0u);
}

TEST(Layout, SaysWhetherBlocksLieOnOneAnother) {
  EXPECT_FALSE(rows(0, 4, {{3, 5}}).overlaps);
  EXPECT_TRUE(rows(0, 4, {{3, 3}}).overlaps);
  EXPECT_TRUE(rows(0, 4, {{3, 0}}).overlaps);
  EXPECT_FALSE(rows(0, 4, {{3, 8}, {2, 20}}).overlaps);
  EXPECT_TRUE(rows(0, 4, {{3, 8}, {2, 19}}).overlaps);
  EXPECT_FALSE(blocks({{10, 5}, {0, 10}}).overlaps);
  EXPECT_TRUE(blocks({{10, 5}, {0, 11}}).overlaps);
}

TEST(Layout, MayHaveNothingInIt) {
  for (const Layout& layout :
       {rows(3, 0, {{3, 5}}), rows(3, 4, {{0, 5}}), rows(3, 4, {{2, 5}, {0, 50}}), blocks({}), blocks({{5, 0}})}) {
    EXPECT_EQ(layout.bytes, 0u);
    EXPECT_FALSE(layout.overlaps);
    for_each_row(layout, [](auto...) { ADD_FAILURE() << "there is no row"; });
  }
}

TEST(Layout, IsOnePieceWhereThereIsOneBlock) {
  for (const Layout& layout : {rows(24, 8, {}), rows(24, 2, {{4, 2}}), rows(24, 8, {{1, 100}}), blocks({{24, 8}}),
                               blocks({{24, 3}, {27, 5}})}) {
    EXPECT_TRUE(layout.is_one_piece());
    EXPECT_EQ(layout.begin(), 24u);
  }
  for (const Layout& layout : {rows(24, 8, {{2, 9}}), rows(0, 8, {{0, 8}}), rows(0, 0, {}), blocks({{24, 8}, {0, 8}})})
    EXPECT_FALSE(layout.is_one_piece());
  EXPECT_EQ(rows(24, 0, {}).extent, 0u);
}

TEST(Layout, EndsWithinTheAddresses) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THAT(layout_of_rows(most - 3, 4, {}).message(), HasSubstr("beyond the addresses"));
  const Row far{3, most / 2}, many{most / 4, 8};
  EXPECT_FALSE(layout_of_rows(0, 4, std::span(&far, 1)).ok());
  EXPECT_FALSE(layout_of_rows(0, 8, std::span(&many, 1)).ok());
  const Block last{most - 3, 4};
  EXPECT_FALSE(layout_of_blocks(std::span(&last, 1)).ok());
  std::vector<Row> nested;
  for (std::uint64_t i = 0, stride = 10; i < 4; ++i, stride *= 10) nested.push_back({2, stride});
  EXPECT_THAT(layout_of_rows(0, 1, nested).message(), HasSubstr("4 rows within each other, and 3 is the most"));
}

TEST(Layout, IsGatheredAndScatteredByTheProcessor) {
  for (const Layout& layout : {rows(1, 3, {{4, 7}, {2, 40}}), blocks({{50, 9}, {0, 2}, {20, 13}})}) {
    std::vector<std::byte> memory(100), packed(layout.bytes), back(100, std::byte{0xEE});
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i);
    gather(layout, packed.data(), memory.data());
    scatter(layout, back.data(), packed.data());
    const std::vector<std::uint64_t> offsets = offsets_of_bytes(layout);
    for (std::size_t i = 0; i < packed.size(); ++i) EXPECT_EQ(packed[i], memory[offsets[i]]);
    for (std::size_t i = 0; i < back.size(); ++i)
      EXPECT_EQ(back[i], std::count(offsets.begin(), offsets.end(), i) != 0 ? memory[i] : std::byte{0xEE}) << i;
  }
}

}  // namespace
}  // namespace periapt::gpu
