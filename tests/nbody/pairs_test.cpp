// The walk as pairs does what the walk does: the same pairs act, and the sums are the same but for rounding.
#include "examples/nbody/pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "examples/nbody/decompose.h"
#include "tests/nbody/particles.h"

namespace periapt::nbody {
namespace {

/// All pieces of a set of particles, in one process.
struct Pieces {
  Pieces(std::size_t count, float softening, const Gravity& gravity, int pieces) : gravity(gravity) {
    all = strewnParticles(count, softening);
    for (std::size_t i = 0; i < all.size(); i += 3) all[i].rung = 1;
    const Box box = gravity.box(all);
    setKeys(all, box);
    sortByKey(all);
    const std::vector<Key> cuts = decompose(all, pieces, gravity.bucket);
    std::vector<Root> roots;
    std::span<Particle> rest = all;
    for (int piece = 0; piece < pieces; ++piece) {
      const auto end = std::ranges::partition_point(rest, [&](const Particle& p) { return p.key < cuts[piece + 1]; });
      shares.push_back(rest.first(std::size_t(end - rest.begin())));
      rest = rest.subspan(shares.back().size());
      trees.push_back(std::make_unique<Tree>(
          buildTree(shares.back(), cuts[piece], cuts[piece + 1], piece, gravity.bucket, 1e-9 * box.side)));
      for (const Root& root : rootsOf(*trees.back())) roots.push_back(root);
    }
    trunk = buildTrunk(roots);
  }

  Work walk(int minRung) {
    Work work;
    for (std::size_t piece = 0; piece < shares.size(); ++piece) {
      Walk walk = made(piece, minRung);
      while (walk.advance()) {
      }
      walk.finish();
      work += walk.work();
    }
    return work;
  }

  Work walkByPairs(int minRung) {
    std::vector<const Tree*> pointers;
    for (const auto& tree : trees) pointers.push_back(tree.get());
    const SourceBlock block(trunk, pointers);
    struct Line {
      alignas(64) std::byte bytes[64];
    };
    std::vector<Line> lines(block.bytes() / 64 + 1);
    block.write(lines[0].bytes);
    Work work;
    for (std::size_t piece = 0; piece < shares.size(); ++piece) {
      Walk walk = made(piece, minRung);
      const std::span<const Sink> sinks = walk.handOver();
      if (sinks.empty()) continue;
      std::vector<ActivePlace> places(walk.actives());
      walk.places(places.data());
      std::vector<float> locals(sinks.size() * terms);
      std::vector<ActiveField> fields(places.size());
      const std::uint32_t first = 0;
      const Work done =
          walkPairs({PairRules(gravity), reinterpret_cast<const Node*>(lines.data()), sinks.data(), places.data()},
                    firstPairs(gravity, block.root(), {&first, 1}), locals, fields);
      walk.add(locals.data(), fields.data(), done);
      EXPECT_TRUE(walk.isOver());
      walk.finish();
      work += walk.work();
    }
    return work;
  }

  Walk made(std::size_t piece, int minRung) {
    return Walk(gravity, trunk, *trees[piece], shares[piece], minRung,
                [this](const Node& node) { return trees[std::size_t(node.owner)]->find(node.cell); });
  }

  Gravity gravity;
  std::vector<Particle> all;
  std::vector<std::span<Particle>> shares;
  std::vector<std::unique_ptr<Tree>> trees;
  Tree trunk;
};

struct Case {
  const char* name;
  std::size_t particles;
  float softening;
  bool periodic;
  int pieces, minRung, bucket;
};
class Pairs : public testing::TestWithParam<Case> {};

TEST_P(Pairs, ActAsInTheWalk) {
  const Case& c = GetParam();
  Gravity gravity;
  gravity.theta = 0.6;
  gravity.periodic = c.periodic;
  gravity.bucket = c.bucket;
  Pieces one(c.particles, c.softening, gravity, c.pieces), other(c.particles, c.softening, gravity, c.pieces);
  const Work walked = one.walk(c.minRung), paired = other.walkByPairs(c.minRung);
  EXPECT_EQ(paired.cellPairs, walked.cellPairs);
  EXPECT_EQ(paired.particlePairs, walked.particlePairs);
  EXPECT_GT(walked.cellPairs + walked.particlePairs, 0u);
  double worst = 0;
  for (std::size_t i = 0; i < one.all.size(); ++i) {
    const double apart = norm(one.all[i].acceleration - other.all[i].acceleration);
    worst = std::max(worst, apart / std::max(norm(one.all[i].acceleration), 1e-3));
    EXPECT_NEAR(one.all[i].potential, other.all[i].potential, 1e-5 * std::abs(one.all[i].potential));
  }
  EXPECT_LT(worst, 2e-5);
}
INSTANTIATE_TEST_SUITE_P(All, Pairs,
                         testing::Values(Case{"one", 1500, 0, false, 1, 0, 16},
                                         Case{"pieces", 1500, 0.01f, false, 5, 0, 16},
                                         Case{"periodic", 800, 0.002f, true, 4, 0, 16},
                                         Case{"rungs", 1000, 0.002f, true, 3, 1, 16},
                                         Case{"soft", 700, 0.2f, false, 2, 0, 8}, Case{"few", 5, 0, false, 1, 0, 16},
                                         Case{"leaf", 12, 0.01f, true, 1, 0, 16}, Case{"deep", 900, 0, false, 3, 0, 1}),
                         [](const auto& info) { return info.param.name; });

TEST(SourceBlock, OfNothingIsEmpty) {
  const Tree none;
  const SourceBlock block(none, {});
  EXPECT_TRUE(block.isEmpty());
  EXPECT_EQ(block.bytes(), 0u);
}

}  // namespace
}  // namespace periapt::nbody
