// Placements: every PE gets its share, in the order that Charm++'s maps promise.
#include "runtime/array/default_map.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace periapt::chare;

std::vector<int> pes_of(const Placement& placement, const CkArrayIndex& bounds) {
  std::vector<int> pes;
  for (const CkArrayIndex& index : IndexRange(bounds)) pes.push_back(placement.pe_of(index));
  return pes;
}
std::map<int, int> loads_of(const std::vector<int>& pes) {
  std::map<int, int> loads;
  for (int pe : pes) ++loads[pe];
  return loads;
}

TEST(Placement, BlocksGiveTheRemainderToTheFirstPes) {
  EXPECT_EQ(pes_of(Placement(CkArrayIndex1D(10), 4), CkArrayIndex1D(10)),
            (std::vector<int>{0, 0, 0, 1, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(pes_of(Placement(CkArrayIndex1D(3), 8), CkArrayIndex1D(3)), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(pes_of(Placement(CkArrayIndex2D(2, 3), 2), CkArrayIndex2D(2, 3)), (std::vector<int>{0, 0, 0, 1, 1, 1}));
}

TEST(Placement, FastBlocksAreAllOfTheLargerSize) {
  EXPECT_EQ(pes_of(Placement::fast(CkArrayIndex1D(9), 4), CkArrayIndex1D(9)),
            (std::vector<int>{0, 0, 0, 1, 1, 1, 2, 2, 2}));
}

TEST(Placement, RoundRobin) {
  EXPECT_EQ(pes_of(Placement::round_robin(CkArrayIndex2D(2, 3), 4), CkArrayIndex2D(2, 3)),
            (std::vector<int>{0, 1, 2, 3, 0, 1}));
}

TEST(Placement, ByNodeFillsProcessesThenTheirPes) {
  // 11 over 2 nodes: 6 and 5; 6 over 4 PEs: 2 2 1 1
  EXPECT_EQ(pes_of(Placement::by_node(CkArrayIndex1D(11), 2, 4), CkArrayIndex1D(11)),
            (std::vector<int>{0, 0, 1, 1, 2, 3, 4, 4, 5, 6, 7}));
}

TEST(Placement, HasEveryShapeInBalanceAndKnowsItsRuns) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    const int dimension = 1 + static_cast<int>(random() % 6), pes = 1 + static_cast<int>(random() % 9);
    int extents[6];
    for (int& extent : extents) extent = 1 + static_cast<int>(random() % (dimension > 3 ? 4 : 9));
    const CkArrayIndex bounds(dimension, extents);
    const int count = bounds.getCombinedCount();
    const Placement blocks(bounds, pes);
    EXPECT_EQ(blocks.pe_of(IndexRange(bounds)[0]), 0);
    for (const Placement& placement : {blocks, Placement::round_robin(bounds, pes), Placement::hilbert(bounds, pes)}) {
      const auto loads = loads_of(pes_of(placement, bounds));
      for (const auto& [pe, load] : loads) {
        ASSERT_TRUE(pe >= 0 && pe < pes);
        ASSERT_TRUE(load == count / pes || load == (count + pes - 1) / pes)
            << load << " of " << count << " over " << pes;
      }
    }
    for (const Placement& placement : {blocks, Placement::fast(bounds, pes)}) {
      ASSERT_TRUE(placement.is_contiguous());
      ASSERT_EQ(placement.first_on(0), 0);
      ASSERT_EQ(placement.first_on(pes), count);
      for (int pe = 0; pe < pes; ++pe)
        for (std::int64_t i = placement.first_on(pe); i < placement.first_on(pe + 1); ++i)
          ASSERT_EQ(placement.pe_at(i), pe);
    }
  }
}

TEST(Placement, WithoutBoundsOrOutsideThemStillHasAPe) {
  const Placement unbounded{CkArrayIndex(), 4}, bounded{CkArrayIndex1D(10), 4};
  for (const Placement& placement : {unbounded, bounded}) {
    EXPECT_EQ(placement.pe_of(CkArrayIndex1D(-1)), 3);
    EXPECT_EQ(placement.pe_of(CkArrayIndex1D(101)), 1);
  }
  std::map<int, int> loads;
  for (int i = 0; i < 100; ++i)
    for (int j = 0; j < 100; ++j) ++loads[unbounded.pe_of(CkArrayIndex2D(i, j))];
  for (int pe = 0; pe < 4; ++pe) EXPECT_NEAR(loads[pe], 2500, 250);
}

TEST(Placement, HilbertBlocksAreCompact) {
  const CkArrayIndex2D bounds(16, 16);
  const auto border = [&](const Placement& placement) {
    int neighbours_apart = 0;
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 16; ++j) {
        neighbours_apart +=
            i < 15 && placement.pe_of(CkArrayIndex2D(i, j)) != placement.pe_of(CkArrayIndex2D(i + 1, j));
        neighbours_apart +=
            j < 15 && placement.pe_of(CkArrayIndex2D(i, j)) != placement.pe_of(CkArrayIndex2D(i, j + 1));
      }
    return neighbours_apart;
  };
  EXPECT_EQ(border(Placement::hilbert(bounds, 16)), 2 * 3 * 16) << "16 squares of 4 x 4";
  EXPECT_EQ(border(Placement(bounds, 16)), 15 * 16) << "16 rows";
}

TEST(Placement, InProportionToSpeed) {
  EXPECT_EQ(proportional_placement(10, {1, 3, 1}), (std::vector<int>{0, 0, 1, 1, 1, 1, 1, 1, 2, 2}));
  EXPECT_EQ(proportional_placement(5, {1, 1, 1}), (std::vector<int>{0, 0, 1, 1, 2}));
}

TEST(Placement, ConfiguredInBlocks) {
  const auto pes = configured_placement("3 2 0 1 1", 8, 4);
  EXPECT_EQ(pes, (std::vector<int>{0, 1, 1, 2, 3, 3, 0, 1}));
  EXPECT_EQ(pes_of(Placement::table(CkArrayIndex1D(8), 4, pes), CkArrayIndex1D(8)), pes);
  EXPECT_DEATH(configured_placement("3 2 0 1", 8, 4), "\"3 2 0 1\" is not understood.*4 2 0 0 1 1");
  EXPECT_DEATH(configured_placement("2 2 0 5", 8, 4), "not understood");
}

struct File {
  std::string path = testing::TempDir() + "placement" + std::to_string(getpid()) + "." + std::to_string(made++);
  static inline int made = 0;
  explicit File(const std::string& text) { std::ofstream(path) << text; }
  ~File() { std::remove(path.c_str()); }
};

TEST(Placement, FromAFile) {
  const File plain("3\n 0\n\n1\n");
  EXPECT_EQ(read_placement(plain.path, 3, 4), (std::vector<int>{3, 0, 1}));
  const File coordinates("0 0 0 1\n1 0 0 0\n");
  const auto rank_of = [](int x, int, int, int t) { return 2 * x + t; };
  EXPECT_EQ(read_placement(coordinates.path, 2, 4, rank_of), (std::vector<int>{1, 2}));
  EXPECT_DEATH(read_placement(plain.path, 4, 4), "PEs of 3 elements, the array has 4");
  EXPECT_DEATH(read_placement(plain.path, 3, 3), ":1: PE 3 doesn't exist.*0 to 2");
  EXPECT_DEATH(read_placement(coordinates.path, 2, 4), ":1: expected a PE, found \"0 0 0 1\"");
  const File words("0\none\n");
  EXPECT_DEATH(read_placement(words.path, 2, 4), ":2: expected a PE, found \"one\"");
  EXPECT_DEATH(read_placement("/nowhere/at/all", 2, 4), "/nowhere/at/all can't be read");
  EXPECT_DEATH(read_placement("/dev/zero", 2, 4), "/dev/zero can't be read: it is a device, not a file");
}

}  // namespace
