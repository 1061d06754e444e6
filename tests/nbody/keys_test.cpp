// The curve visits neighbours one after another, and cells are its stretches.
#include "examples/nbody/keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace periapt::nbody {
namespace {

TEST(PeanoHilbert, EveryStepOfTheCurveIsToAFaceNeighbour) {
  constexpr int side = 16;
  std::vector<std::pair<Key, std::array<int, 3>>> places;
  for (int i = 0; i < side; ++i) {
    for (int j = 0; j < side; ++j) {
      for (int k = 0; k < side; ++k) {
        const Vec3 centre = 1. / side * Vec3(i + 0.5, j + 0.5, k + 0.5);
        places.push_back({peanoHilbert(centre, {{0, 0, 0}, 1}) >> (key_bits - 12), {i, j, k}});
      }
    }
  }
  std::ranges::sort(places);
  for (std::size_t n = 0; n < places.size(); ++n) {
    ASSERT_EQ(places[n].first, n) << "each cell of the grid has its own key";
    if (n == 0) continue;
    int steps = 0;
    for (int axis = 0; axis < 3; ++axis) steps += std::abs(places[n].second[axis] - places[n - 1].second[axis]);
    EXPECT_EQ(steps, 1) << "between places " << n - 1 << " and " << n;
  }
}

TEST(PeanoHilbert, PlacesOutsideTheBoxTakeTheKeyOfTheNearestInside) {
  const Box box{{-1, -1, -1}, 2};
  EXPECT_EQ(peanoHilbert({-5, 0.1, 0.2}, box), peanoHilbert({-1, 0.1, 0.2}, box));
  EXPECT_EQ(peanoHilbert({0.1, 1, 0.2}, box), peanoHilbert({0.1, 7, 0.2}, box));
  EXPECT_LT(peanoHilbert({1, 1, 1}, box), key_end);
}

TEST(Cell, IsTheRangeOfKeysThatStartWithItsBits) {
  const Cell all;
  EXPECT_EQ(all.begin(), 0u);
  EXPECT_EQ(all.end(), key_end);
  const Cell cell = all.half(1).half(0).half(1);
  EXPECT_EQ(cell.level(), 3);
  EXPECT_EQ(cell.begin(), Key{5} << 60);
  EXPECT_EQ(cell.end(), Key{6} << 60);
  EXPECT_TRUE(all.half(1).holds(cell));
  EXPECT_FALSE(all.half(0).holds(cell));
  EXPECT_FALSE(cell.holds(all.half(1)));
}

TEST(Cell, CommonCellIsTheSmallestThatHoldsBoth) {
  const Key a = Key{0b1010} << 59, b = Key{0b1011} << 59;
  EXPECT_EQ(commonCell(a, b).bits, 0b1101u);
  EXPECT_EQ(commonCell(a, a).level(), key_bits);
  EXPECT_EQ(commonCell(0, key_end - 1), Cell{});
}

TEST(BoundingBox, HoldsAllParticles) {
  std::vector<Particle> particles(2);
  particles[0].position = {-3, 1, 2};
  particles[1].position = {5, 1, 2};
  const Box box = boundingBox(particles);
  for (const Particle& p : particles) {
    for (int axis = 0; axis < 3; ++axis) {
      EXPECT_GT(p.position[axis], box.low[axis]);
      EXPECT_LT(p.position[axis], box.low[axis] + box.side);
    }
  }
}

}  // namespace
}  // namespace periapt::nbody
