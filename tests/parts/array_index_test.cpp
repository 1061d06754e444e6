// Indices, their 64-bit ids, and ranges of them.
#include "runtime/api/array_index.h"

#include <gtest/gtest.h>

#include <climits>
#include <new>
#include <random>
#include <set>
#include <sstream>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace {

using periapt::chare::compact_id;
using periapt::chare::index_of;
using periapt::chare::IndexRange;
using periapt::chare::is_compact_id;

// A value near zero, near a power of two, or anywhere: where packing goes wrong is at the edges.
int edge_value(std::mt19937& random, int bits) {
  switch (random() % 4) {
    case 0:
      return static_cast<int>(random() % 16) - 8;
    case 1:
      return static_cast<int>((1ll << (random() % bits)) - 1 + random() % 3 - 1);
    case 2:
      return -static_cast<int>((1ll << (random() % bits)) - 1 + random() % 3 - 1);
    default:
      return static_cast<int>(random());
  }
}

CkArrayIndex random_index(std::mt19937& random) {
  const int kind = static_cast<int>(random() % 8);
  if (kind == 0 || kind == 7) {
    CkArrayIndex custom;
    custom.nInts = kind == 0 ? 1 : 2;
    for (int i = 0; i < custom.nInts; ++i) custom.index[i] = edge_value(random, 31);
    return custom;
  }
  int values[6];
  for (int& value : values) value = edge_value(random, kind > 3 ? 15 : 31);
  return CkArrayIndex(kind, values);
}

TEST(ArrayIndex, IsSixteenBytesThatCanLieInAUnion) {
  union {
    CkArrayIndexBase index;
    int other;
  } held;
  held.index = CkArrayIndex3D(1, 2, 3);
  EXPECT_EQ(held.index.asChild(), CkArrayIndex3D(1, 2, 3));
}

TEST(ArrayIndex, DimensionsFourToSixAreShorts) {
  CkArrayIndex6D index(1, -2, 3, -4, 5, -6);
  EXPECT_EQ(index.nInts, 3);
  EXPECT_EQ(index.dimension, 6);
  EXPECT_EQ(index.shortData()[5], -6);
  EXPECT_EQ(CkArrayIndex5D(1, 2, 3, 4, 5).nInts, 3);
  EXPECT_EQ(CkArrayIndex4D(1, 2, 3, 4).nInts, 2);
  int values[] = {1, -2, 3, -4, 5, -6};
  EXPECT_EQ(CkArrayIndex(6, values), index);
  EXPECT_EQ(CkArrayIndex(3, 7), CkArrayIndex3D(7, 7, 7));
  EXPECT_EQ(CkArrayIndex4D(2, 3, 4, 5).getCombinedCount(), 120);
}

TEST(ArrayIndex, ComparesTheIntsItUses) {
  EXPECT_NE(CkArrayIndex1D(1), CkArrayIndex2D(1, 0));
  EXPECT_LT(CkArrayIndex2D(1, 9), CkArrayIndex2D(2, 0));
  EXPECT_FALSE(CkArrayIndex2D(1, 9) < CkArrayIndex2D(1, 9));
  CkArrayIndex a(5), b(5);
  b.index[2] = 99;  // past nInts: not part of the index
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.hash(), b.hash());
}

TEST(ArrayIndex, PrintsAsAPersonWouldWriteIt) {
  std::ostringstream out;
  out << CkArrayIndex1D(4) << CkArrayIndex2D(1, -2) << CkArrayIndex6D(1, 2, 3, 4, 5, 6);
  EXPECT_EQ(out.str(), "[4][1,-2][1,2,3,4,5,6]");
}

TEST(ArrayIndexDeathTest, SevenDimensionsAreRefusedWithAdvice) {
  EXPECT_DEATH(CkArrayIndex(7, 1), "1 to 6 dimensions, not 7.*derive an index class");
}

// The three ways programs write a class of their own.
struct Place {
  int floor, room;
};
struct CkArrayIndexPlace : CkArrayIndex {
  Place* place;
  explicit CkArrayIndexPlace(const Place& p) : place(new (index) Place(p)) { nInts = sizeof(Place) / sizeof(int); }
};

TEST(ArrayIndex, ACustomIndexIsWhatItWroteIntoTheBase) {
  const CkArrayIndex sliced = CkArrayIndexPlace(Place{3, 12});
  EXPECT_EQ(sliced, CkArrayIndexPlace(Place{3, 12}));
  EXPECT_NE(sliced, CkArrayIndexPlace(Place{12, 3}));
  EXPECT_EQ(sliced.toString(), "<3,12>");
  EXPECT_EQ(index_of(compact_id(sliced)), sliced);
  EXPECT_EQ(CkArrayIndexT<Place>(Place{3, 12}), sliced);
}

TEST(ArrayIndex, HashSpreadsDenseGrids) {
  std::unordered_set<CkHashCode> codes;
  for (int i = 0; i < 100; ++i)
    for (int j = 0; j < 100; ++j) codes.insert(CkArrayIndex2D(i, j).hash());
  EXPECT_GT(codes.size(), 9990u);
}

TEST(CompactId, RoundTripsAndIsUnique) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::unordered_map<std::uint64_t, CkArrayIndex> seen;
  int compact = 0;
  for (int i = 0; i < 300000; ++i) {
    const CkArrayIndex index = random_index(random);
    const std::uint64_t id = compact_id(index);
    if (!id) continue;
    ++compact;
    ASSERT_TRUE(is_compact_id(id)) << index;
    const CkArrayIndex back = index_of(id);
    ASSERT_EQ(back, index);
    ASSERT_EQ(back.dimension, index.dimension);
    ASSERT_EQ(back.nInts, index.nInts);
    const auto [at, fresh] = seen.emplace(id, index);
    ASSERT_TRUE(fresh || (at->second == index && at->second.dimension == index.dimension)) << index << at->second;
  }
  EXPECT_GT(compact, 100000);
}

TEST(CompactId, TakesExactlyWhatFits) {
  for (int extreme : {INT_MIN, -1, 0, 1, INT_MAX}) EXPECT_TRUE(compact_id(CkArrayIndex1D(extreme)));
  const int two = 1 << 30, three = 1 << 19;
  EXPECT_TRUE(compact_id(CkArrayIndex2D(two - 1, -two)));
  EXPECT_FALSE(compact_id(CkArrayIndex2D(two, 0)));
  EXPECT_FALSE(compact_id(CkArrayIndex2D(0, -two - 1)));
  EXPECT_TRUE(compact_id(CkArrayIndex3D(three - 1, -three, 0)));
  EXPECT_FALSE(compact_id(CkArrayIndex3D(0, 0, three)));
  EXPECT_TRUE(compact_id(CkArrayIndex4D(16383, -16384, 0, 0)));
  EXPECT_FALSE(compact_id(CkArrayIndex4D(16384, 0, 0, 0)));
  EXPECT_TRUE(compact_id(CkArrayIndex5D(1023, -1024, 0, 0, 0)));
  EXPECT_FALSE(compact_id(CkArrayIndex5D(0, 0, 0, 0, 1024)));
  EXPECT_TRUE(compact_id(CkArrayIndex6D(511, -512, 0, 0, 0, 0)));
  EXPECT_FALSE(compact_id(CkArrayIndex6D(0, 0, 0, 0, 0, 512)));
  EXPECT_FALSE(compact_id(CkArrayIndex()));
}

TEST(IndexRange, CountsAndVisitsLikeNestedLoops) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    const int dimension = 1 + static_cast<int>(random() % 6);
    int start[6], end[6], step[6];
    for (int d = 0; d < 6; ++d) {
      start[d] = static_cast<int>(random() % 11) - 5;
      end[d] = start[d] + static_cast<int>(random() % 7) - 1;
      step[d] = 1 + static_cast<int>(random() % 3);
    }
    std::vector<CkArrayIndex> expected;
    const std::function<void(int, int*)> loop = [&](int d, int* at) {
      if (d == dimension) return expected.push_back(CkArrayIndex(dimension, at));
      for (at[d] = start[d]; at[d] < end[d]; at[d] += step[d]) loop(d + 1, at);
    };
    int at[6] = {};
    loop(0, at);
    const IndexRange range(CkArrayIndex(dimension, start), CkArrayIndex(dimension, end), CkArrayIndex(dimension, step));
    ASSERT_EQ(range.size(), static_cast<std::int64_t>(expected.size()));
    std::size_t position = 0;
    for (const CkArrayIndex& index : range) {
      ASSERT_EQ(index, expected[position]);
      ASSERT_EQ(range[position], index);
      ASSERT_EQ(range.position_of(index), static_cast<std::int64_t>(position));
      ++position;
    }
    ASSERT_EQ(position, expected.size());
    const std::set<CkArrayIndex> inside(expected.begin(), expected.end());
    for (int probe = 0; probe < 20; ++probe) {
      int values[6];
      for (int d = 0; d < 6; ++d) values[d] = start[d] - 2 + static_cast<int>(random() % 12);
      const CkArrayIndex index(dimension, values);
      ASSERT_EQ(range.contains(index), inside.count(index) == 1) << index;
    }
  }
}

// As Charm++'s programs have them in tables of their own.
TEST(IndexHasher, IsTheHashOfIndices) {
  std::unordered_map<CkArrayIndex, int, IndexHasher> places;
  for (int i = 0; i < 100; ++i) places[CkArrayIndex2D(i, -i)] = i;
  EXPECT_EQ(places.size(), 100u);
  EXPECT_EQ(places.at(CkArrayIndex2D(70, -70)), 70);
  EXPECT_EQ(places.count(CkArrayIndex2D(70, 70)), 0u);
}

TEST(IndexRangeDeathTest, AStepOfZeroIsExplained) {
  EXPECT_DEATH(IndexRange(CkArrayIndex1D(0), CkArrayIndex1D(4), CkArrayIndex1D(0)), "step \\[0\\] is not positive");
}

}  // namespace
