// Pieces hold about the same, and no cut goes through a leaf.
#include "examples/nbody/decompose.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "examples/nbody/walk.h"
#include "tests/nbody/particles.h"

namespace periapt::nbody {
namespace {

constexpr int bucket = 10;

std::vector<Particle> sortedParticles(std::size_t count) {
  auto particles = strewnParticles(count);
  setKeys(particles, {{-0.5, -0.5, -0.5}, 1});
  sortByKey(particles);
  return particles;
}

TEST(Decompose, PiecesHoldTheEvenShareUpToALeaf) {
  const auto particles = sortedParticles(5000);
  for (const int pieces : {1, 2, 7, 64}) {
    const auto cuts = decompose(particles, pieces, bucket);
    ASSERT_EQ(cuts.size(), std::size_t(pieces) + 1);
    EXPECT_EQ(cuts.front(), 0u);
    EXPECT_EQ(cuts.back(), key_end);
    for (const std::uint64_t count : countBetween(particles, cuts)) {
      EXPECT_NEAR(double(count), 5000. / pieces, 2 * bucket) << pieces << " pieces";
    }
  }
}

TEST(Decompose, TellsHowManyParticlesEachPieceHoldsAfterFewRounds) {
  const auto particles = sortedParticles(5000);
  Decomposer decomposer(16, bucket);
  int rounds = 0;
  for (; !decomposer.isDone(); ++rounds) decomposer.counted(filledBetween(particles, decomposer.probes()));
  EXPECT_EQ(decomposer.totals(), countBetween(particles, decomposer.cuts()));
  EXPECT_LE(rounds, 4);
}

/// The cuts, and how many rounds it took to find them.
std::pair<std::vector<Key>, int> cutsFrom(const std::vector<Particle>& particles, int pieces, std::vector<Key> near) {
  Decomposer decomposer(pieces, bucket, std::move(near));
  int rounds = 0;
  for (; !decomposer.isDone(); ++rounds) decomposer.counted(filledBetween(particles, decomposer.probes()));
  EXPECT_EQ(decomposer.totals(), countBetween(particles, decomposer.cuts()));
  return {decomposer.cuts(), rounds};
}

// Half of the particles in a thousandth of the box's side, so that there is something to look for.
TEST(Decompose, FindsTheSameCutsInFewerRoundsNearThoseOfParticlesThatHaveMovedLittle) {
  auto particles = sortedParticles(40000);
  const auto moveAndSort = [&] {
    setKeys(particles, {{-0.5, -0.5, -0.5}, 1});
    sortByKey(particles);
  };
  for (Particle& p : particles)
    if (p.order % 2 == 0) p.position = 1e-3 * p.position + Vec3{0.11, 0.13, 0.17};
  moveAndSort();
  const std::vector<Key> old = cutsFrom(particles, 512, {}).first;
  for (Particle& p : particles) p.position += Vec3{1e-5, -1e-5, 1e-5};
  moveAndSort();
  const auto [cuts, rounds] = cutsFrom(particles, 512, {});
  const auto [same, fewer] = cutsFrom(particles, 512, old);
  EXPECT_EQ(same, cuts);
  EXPECT_GE(rounds, 5);
  EXPECT_LE(fewer, 3);
}

TEST(Decompose, FindsTheSameCutsWhereverTheyAreLookedForFirst) {
  const auto particles = sortedParticles(5000);
  const std::vector<Key> cuts = cutsFrom(particles, 64, {}).first;
  const std::vector<Key> corner = cutsFrom(sortedParticles(100), 64, {}).first;
  for (std::vector<Key> near : {std::vector<Key>{0, key_end}, {0, 0, 0, 1, 2, 3, 4, key_end}, {5, 5, 5}, corner})
    EXPECT_EQ(cutsFrom(particles, 64, near).first, cuts);
}

TEST(CountBetween, CountsAsALinearSearchDoes) {
  const auto particles = sortedParticles(300);
  std::vector<Key> probes;  // on keys and between them, twice the same, all particles passed in one step
  for (std::size_t i = 0; i < 40; ++i) probes.push_back(particles[i * 5].key + i % 3);
  probes.insert(probes.end(), {probes.back(), key_end - 1, key_end});
  const auto counts = countBetween(particles, probes);
  ASSERT_EQ(counts.size(), probes.size() - 1);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    EXPECT_EQ(counts[i],
              std::uint64_t(std::ranges::count_if(
                  particles, [&](const Particle& p) { return p.key >= probes[i] && p.key < probes[i + 1]; })))
        << "between probes " << i << " and " << i + 1;
  }
}

TEST(AddedUp, PiecesOnOneStretchAreOne) {
  const auto particles = sortedParticles(300);
  Decomposer decomposer(16, bucket);
  std::vector<Filled> several;
  for (const std::size_t piece : {2, 0, 1}) {  // as they come
    const auto filled = filledBetween(std::span(particles).subspan(piece * 100, 100), decomposer.probes());
    EXPECT_LE(filled.size(), 100u);
    several.insert(several.end(), filled.begin(), filled.end());
  }
  EXPECT_EQ(addedUp(several), filledBetween(particles, decomposer.probes()));
}

TEST(Decompose, NoCutGoesThroughALeaf) {
  const auto particles = sortedParticles(3000);
  const Tree whole = buildTree(particles, 0, key_end, 0, bucket, 1e-9);
  const auto cuts = decompose(particles, 40, bucket);
  for (const Node& node : whole.nodes()) {
    if (!node.isLeaf()) continue;
    for (const Key cut : cuts) {
      EXPECT_FALSE(cut > node.cell.begin() && cut < node.cell.end()) << "leaf of " << node.count << " particles";
    }
  }
}

TEST(Decompose, MorePiecesThanLeavesLeavesSomeEmpty) {
  const auto particles = sortedParticles(30);
  const auto cuts = decompose(particles, 100, bucket);
  EXPECT_TRUE(std::ranges::is_sorted(cuts));
  std::uint64_t total = 0;
  for (const auto count : countBetween(particles, cuts)) total += count;
  EXPECT_EQ(total, 30u);
}

TEST(Decompose, ManyParticlesInOnePlaceAreNotCut) {
  std::vector<Particle> particles(100);
  setKeys(particles, {{-0.5, -0.5, -0.5}, 1});
  const auto counts = countBetween(particles, decompose(particles, 4, bucket));
  EXPECT_EQ(std::ranges::count(counts, 0u), 3);
}

TEST(Decompose, NoPiecesIsRefused) { EXPECT_THROW(Decomposer(0, bucket), std::invalid_argument); }

TEST(SortByKey, SortsAndKeepsAll) {
  const auto particles = sortedParticles(1000);
  EXPECT_TRUE(std::ranges::is_sorted(particles, {}, &Particle::key));
  std::vector<bool> seen(1000);
  for (const Particle& p : particles) seen[p.order] = true;
  EXPECT_EQ(std::ranges::count(seen, true), 1000);
}

}  // namespace
}  // namespace periapt::nbody
