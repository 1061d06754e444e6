// Trees hold what they should, are the same however the domain is cut, and survive the journey as bytes.
#include "examples/nbody/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "examples/nbody/decompose.h"
#include "tests/nbody/particles.h"

namespace periapt::nbody {
namespace {

constexpr int bucket = 10;
const Box box{{-0.5, -0.5, -0.5}, 1};

std::vector<Particle> sortedParticles(std::size_t count) {
  auto particles = strewnParticles(count, 0.01f);
  setKeys(particles, box);
  sortByKey(particles);
  return particles;
}

void collect(const Tree& tree, std::map<Key, std::pair<const Node*, const Moments*>>& nodes) {
  for (const Node& n : tree.nodes()) nodes.try_emplace(n.cell.bits, &n, &n.momentsHere());
}

TEST(Tree, EveryNodeIsASphereAroundItsParticles) {
  const auto particles = sortedParticles(2000);
  const Tree tree = buildTree(particles, 0, key_end, 0, bucket, 1e-9);
  ASSERT_EQ(tree.roots().size(), 1u);
  EXPECT_EQ(tree.roots()[0].count, 2000u);
  for (const Node& node : tree.nodes()) {
    std::uint32_t count = 0;
    double mass = 0;
    for (const Particle& p : particles) {
      if (p.key < node.cell.begin() || p.key >= node.cell.end()) continue;
      ++count;
      mass += p.mass;
      EXPECT_LE(norm(p.position - node.centre), node.radius * (1 + 1e-6));
    }
    EXPECT_EQ(count, node.count);
    EXPECT_NEAR(node.momentsHere().term[0], mass, 1e-5 * mass);
    for (int k = 1; k < 4; ++k) EXPECT_NEAR(node.momentsHere().term[k], 0, 1e-6 * mass) << "no dipole about the centre";
    EXPECT_EQ(node.isLeaf(), node.count <= bucket);
  }
}

TEST(Tree, LeavesHoldTheirParticlesRelativeToTheirCentre) {
  const auto particles = sortedParticles(500);
  const Tree tree = buildTree(particles, 0, key_end, 0, bucket, 1e-9);
  for (const Node& node : tree.nodes()) {
    if (!node.isLeaf()) continue;
    const float* runs = node.particleRuns();
    for (std::uint32_t i = 0; i < node.count; ++i) {
      const Particle& p = particles[node.first + i];
      for (int axis = 0; axis < 3; ++axis) {
        EXPECT_FLOAT_EQ(runs[axis * node.count + i], float(p.position[axis] - node.centre[axis]));
      }
      EXPECT_EQ(runs[3 * node.count + i], p.mass);
      EXPECT_EQ(runs[4 * node.count + i], p.softening);
    }
  }
}

TEST(Tree, PiecesBranchesAndTrunkTogetherAreTheWholeTree) {
  const auto particles = sortedParticles(3000);
  const Tree whole = buildTree(particles, 0, key_end, 0, bucket, 1e-9);
  for (const auto& [pieces, aBranch] : {std::pair{2, 1}, {7, 1}, {64, 1}, {64, 5}, {100, 40}}) {
    const auto cuts = decompose(particles, pieces, bucket);
    const auto counts = countBetween(particles, cuts);
    std::vector<Tree> trees;
    std::vector<Tree> branches;
    std::vector<Root> roots, ofBranches;
    std::size_t first = 0;
    for (int p = 0; p < pieces; ++p) {
      trees.push_back(buildTree(std::span(particles).subspan(first, counts[p]), cuts[p], cuts[p + 1], p, bucket, 1e-9));
      std::ranges::copy(rootsOf(trees.back()), std::back_inserter(roots));
      first += counts[p];
      if ((p + 1) % aBranch != 0 && p + 1 != pieces) continue;
      branches.push_back(buildBranch(std::exchange(roots, {}), cuts[p / aBranch * aBranch], cuts[p + 1], p));
      std::ranges::copy(rootsOf(branches.back()), std::back_inserter(ofBranches));
    }
    const Tree trunk = buildTrunk(ofBranches);
    std::map<Key, std::pair<const Node*, const Moments*>> cut, uncut;
    collect(whole, uncut);
    for (const Tree& t : trees) collect(t, cut);
    for (const Tree& b : branches) collect(b, cut);
    collect(trunk, cut);
    ASSERT_EQ(cut.size(), uncut.size());
    for (const auto& [bits, node] : uncut) {
      const auto other = cut.find(bits);
      ASSERT_NE(other, cut.end());
      EXPECT_EQ(std::memcmp(&node.first->centre, &other->second.first->centre, sizeof(Vec3)), 0);
      EXPECT_EQ(node.first->radius, other->second.first->radius);
      EXPECT_EQ(node.first->isLeaf(), other->second.first->isLeaf());
      EXPECT_EQ(std::memcmp(node.second, other->second.second, sizeof(Moments)), 0) << "to the last bit";
    }
  }
}

TEST(Tree, AnExcerptTravelsAsBytesAndSaysWhereItEnds) {
  const auto particles = sortedParticles(2000);
  const Tree tree = buildTree(particles, 0, key_end, 3, bucket, 1e-9);
  const Tree top = Tree::excerpt(tree.roots()[0], 31);
  const Tree arrived(std::vector<std::byte>(top.bytes().begin(), top.bytes().end()));
  EXPECT_LE(arrived.nodes().size(), 31u);
  EXPECT_GE(arrived.nodes().size(), 29u);
  int edge = 0;
  for (const Node& node : arrived.nodes()) {
    const Node* original = tree.find(node.cell);
    ASSERT_NE(original, nullptr);
    EXPECT_EQ(node.owner, 3);
    EXPECT_EQ(std::memcmp(&node.momentsHere(), &original->momentsHere(), sizeof(Moments)), 0);
    if (node.isLeaf()) {
      ASSERT_TRUE(node.isOpenable());
      EXPECT_EQ(std::memcmp(node.particleRuns(), original->particleRuns(), 5 * node.count * sizeof(float)), 0);
    } else if (!node.isOpenable()) {
      ++edge;
    }
  }
  EXPECT_GT(edge, 0);
}

TEST(Tree, AnExcerptGoesOnWithWhatIsFound) {
  const auto particles = sortedParticles(2000);
  const Tree whole = buildTree(particles, 0, key_end, 0, bucket, 1e-9);
  const Key cut = decompose(particles, 2, bucket)[1];
  const auto middle = std::ranges::lower_bound(particles, cut, {}, &Particle::key);
  const Tree trees[] = {buildTree({particles.begin(), middle}, 0, cut, 0, bucket, 1e-9),
                        buildTree({middle, particles.end()}, cut, key_end, 1, bucket, 1e-9)};
  std::vector<Root> roots = rootsOf(trees[0]);
  std::ranges::copy(rootsOf(trees[1]), std::back_inserter(roots));
  const Tree trunk = buildTrunk(roots);
  const Tree uncut = Tree::excerpt(whole.roots()[0], 201);
  const Tree alone = Tree::excerpt(trunk.roots()[0], 201);
  const Tree pieced = Tree::excerpt(trunk.roots()[0], 201, [&](const Node& n) { return trees[n.owner].find(n.cell); });
  EXPECT_LT(alone.nodes().size(), 50u);
  ASSERT_EQ(pieced.nodes().size(), uncut.nodes().size());
  for (std::size_t i = 0; i < uncut.nodes().size(); ++i) {
    EXPECT_EQ(pieced.nodes()[i].cell, uncut.nodes()[i].cell);
    EXPECT_EQ(pieced.nodes()[i].isOpenable(), uncut.nodes()[i].isOpenable());
  }
}

TEST(Tree, FindsCellsThatAreNodesAndNoOthers) {
  const auto particles = sortedParticles(300);
  const Tree tree = buildTree(particles, 0, key_end, 0, bucket, 1e-9);
  for (const Node& node : tree.nodes()) EXPECT_EQ(tree.find(node.cell), &node);
  EXPECT_EQ(tree.find(commonCell(particles[0].key, particles[0].key)), nullptr);
  EXPECT_EQ(Tree().find(Cell{}), nullptr);
}

TEST(Tree, BytesThatAreNoTreeAreRefused) {
  const auto particles = sortedParticles(300);
  const Tree tree = buildTree(particles, 0, key_end, 0, bucket, 1e-9);
  std::vector<std::byte> bytes(tree.bytes().begin(), tree.bytes().end());
  const auto refused = [](std::vector<std::byte> b) { EXPECT_THROW(Tree{b}, std::invalid_argument); };
  refused({bytes.begin(), bytes.end() - 8});
  refused({bytes.begin(), bytes.begin() + 5});
  refused({bytes.begin(), bytes.begin() + 8});
  const auto nodeWith = [&](std::size_t offset, std::int32_t value) {
    auto bent = bytes;
    std::memcpy(bent.data() + 16 + offset, &value, sizeof value);
    return bent;
  };
  refused(nodeWith(offsetof(Node, children), 1 << 20));
  refused(nodeWith(offsetof(Node, children), -1));
  refused(nodeWith(offsetof(Node, moments), 0));
  refused(nodeWith(offsetof(Node, particles), 1 << 30));
  EXPECT_NO_THROW(Tree{bytes});
}

TEST(Tree, OfNothingIsEmpty) {
  const Tree tree = buildTree({}, 0, key_end, 0, bucket, 1e-9);
  EXPECT_TRUE(tree.roots().empty());
  EXPECT_TRUE(buildTrunk({}).roots().empty());
}

}  // namespace
}  // namespace periapt::nbody
