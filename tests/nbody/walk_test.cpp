// A walk in parts, walked at the same time, does what it does in one.
#include "examples/nbody/walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "examples/nbody/decompose.h"
#include "tests/nbody/particles.h"

namespace periapt::nbody {
namespace {

constexpr std::size_t patience = 10;

/// Two pieces of a periodic box; the first one walks.
struct TwoPieces {
  TwoPieces() {
    gravity.periodic = true;
    const Box box = gravity.box({});
    std::vector<Particle> all = strewnParticles(4000, 0.002f);
    setKeys(all, box);
    sortByKey(all);
    const auto cuts = decompose(all, 2, gravity.bucket);
    const auto middle = std::ranges::lower_bound(all, cuts[1], {}, &Particle::key);
    own.assign(all.begin(), middle);
    const std::vector<Particle> others(middle, all.end());
    ownTree = buildTree(own, 0, cuts[1], 0, gravity.bucket, 1e-9);
    otherTree = buildTree(others, cuts[1], key_end, 1, gravity.bucket, 1e-9);
    std::vector<Root> roots = rootsOf(ownTree);
    for (const Root& root : rootsOf(otherTree)) roots.push_back(root);
    trunk = buildTrunk(roots);
  }
  const Node* find(const Node& node) const { return (node.owner == 0 ? ownTree : otherTree).find(node.cell); }

  Gravity gravity;
  std::vector<Particle> own;
  Tree ownTree, otherTree, trunk;
};

/// Walks on and splits parts off, each walked by a thread of its own that splits it further.
void walkInParts(Walk& walk, const Walk::Finder& find, std::deque<std::unique_ptr<Walk>>& parts, int splits) {
  std::vector<std::thread> threads;
  std::deque<std::deque<std::unique_ptr<Walk>>> furtherParts;
  while (walk.advance(patience)) {
    if (splits-- <= 0) continue;
    std::unique_ptr<Walk> part = walk.split(find);
    if (part == nullptr) continue;
    parts.push_back(std::move(part));
    auto& further = furtherParts.emplace_back();
    threads.emplace_back([&part = *parts.back(), &find, &further] { walkInParts(part, find, further, 1); });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& further : furtherParts) std::ranges::move(further, std::back_inserter(parts));
}

TEST(Walk, InPartsDoesTheSameSumsInTheSameOrder) {
  TwoPieces whole, split;
  Walk walk(whole.gravity, whole.trunk, whole.ownTree, whole.own, 0,
            [&](const Node& node) { return whole.find(node); });
  while (walk.advance()) {
  }
  walk.finish();

  const Walk::Finder find = [&](const Node& node) { return split.find(node); };
  Walk first(split.gravity, split.trunk, split.ownTree, split.own, 0, find);
  std::deque<std::unique_ptr<Walk>> parts;
  walkInParts(first, find, parts, 5);
  EXPECT_GT(parts.size(), 5u) << "parts are split too";
  for (const auto& part : parts) {
    EXPECT_FALSE(first.isOver());
    first.join(*part);
  }
  ASSERT_TRUE(first.isOver());
  first.finish();

  EXPECT_EQ(first.work().cellPairs, walk.work().cellPairs);
  EXPECT_EQ(first.work().particlePairs, walk.work().particlePairs);
  for (std::size_t i = 0; i < whole.own.size(); ++i) {
    ASSERT_EQ(norm(split.own[i].acceleration - whole.own[i].acceleration), 0) << "particle " << i;
    ASSERT_EQ(split.own[i].potential, whole.own[i].potential) << "particle " << i;
  }
}

TEST(Walk, WhatArrivesWaitsUntilAllPartsAreBack) {
  TwoPieces whole, split;
  Walk walk(whole.gravity, whole.trunk, whole.ownTree, whole.own, 0,
            [&](const Node& node) { return whole.find(node); });
  while (walk.advance()) {
  }
  walk.finish();

  // The other piece is elsewhere: what is asked for is sent later, and parts don't ask at all.
  std::set<const Node*> asked;
  std::set<Key> here;
  const auto own = [&](const Node& node) { return node.owner == 0 ? split.find(node) : nullptr; };
  Walk first(split.gravity, split.trunk, split.ownTree, split.own, 0, [&](const Node& node) -> const Node* {
    const Node* const found = split.find(node);
    if (node.owner == 0 || here.contains(node.cell.bits)) return found;
    asked.insert(found);
    return nullptr;
  });
  std::vector<std::unique_ptr<Walk>> parts;
  while (first.advance(patience)) {
    if (auto part = first.split(own)) parts.push_back(std::move(part));
  }
  ASSERT_GT(parts.size(), 1u);
  ASSERT_FALSE(asked.empty());
  const auto all = [&](const auto& nodes) {
    for (const Node* node : nodes) here.insert(node->cell.bits), first.arrived(*node);
  };
  all(std::exchange(asked, {}));
  EXPECT_FALSE(first.advance(patience)) << "a part may still add to sinks below";
  for (const auto& part : parts) {
    while (part->advance()) {
    }
    first.join(*part);
  }
  EXPECT_TRUE(first.advance(1));
  EXPECT_EQ(first.split(own), nullptr) << "a sink and one below it may both be waiting";
  while (first.advance() || !asked.empty()) all(std::exchange(asked, {}));
  ASSERT_TRUE(first.isOver());
  first.finish();

  EXPECT_EQ(first.work().particlePairs, walk.work().particlePairs);
  double mean = 0;
  for (const Particle& p : whole.own) mean += norm(p.acceleration) / double(whole.own.size());
  for (std::size_t i = 0; i < whole.own.size(); ++i) {
    ASSERT_LE(norm(split.own[i].acceleration - whole.own[i].acceleration), 3e-6 * mean) << "particle " << i;
  }
}

TEST(Walk, ReachesItsPieceWhenTheBranchAboveItIsHere) {
  const TwoPieces two;
  ASSERT_GT(two.trunk.nodes().size(), 3u);
  const Tree top = Tree::excerpt(two.trunk.roots()[0], 3);
  std::set<Key> asked;
  bool isHere = false;
  const Walk::Finder find = [&](const Node& node) {
    asked.insert(node.cell.bits);
    return isHere ? two.trunk.find(node.cell) : nullptr;
  };
  EXPECT_FALSE(Walk::reaches(top, two.ownTree, find));
  EXPECT_FALSE(asked.empty());
  for (const Key cell : asked) EXPECT_LT(Cell{cell}.begin(), two.ownTree.roots().back().cell.end()) << "only its own";
  isHere = true;
  EXPECT_TRUE(Walk::reaches(top, two.ownTree, find));
  EXPECT_TRUE(Walk::reaches(top, Tree(), find)) << "nothing is above nothing";

  std::vector<Particle> own = two.own;
  Walk walk(two.gravity, top, two.ownTree, own, 0, find);
  EXPECT_EQ(walk.actives(), own.size());
}

}  // namespace
}  // namespace periapt::nbody
