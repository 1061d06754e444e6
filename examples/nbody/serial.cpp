// Forces in one process.
#include "examples/nbody/serial.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <unordered_map>

namespace periapt::nbody {
namespace {

/// What one piece has fetched from others.
struct Cache {
  std::deque<Tree> blocks;
  std::unordered_map<Key, const Node*> nodes;

  const Node* add(Tree block) {
    blocks.push_back(std::move(block));
    const Node& root = blocks.back().roots()[0];
    return nodes[root.cell.bits] = &root;
  }
};

}  // namespace

Work evaluateGravity(std::vector<Particle>& particles, const Gravity& gravity, int minRung,
                     const SerialOptions& options) {
  constexpr std::size_t excerpt_nodes = 32;
  const Box box = gravity.box(particles);
  setKeys(particles, box);
  sortByKey(particles);
  const std::vector<Key> cuts = decompose(particles, options.pieces, gravity.bucket);

  std::vector<std::span<Particle>> shares;
  std::vector<Tree> trees;
  std::vector<Root> roots;
  std::span<Particle> rest = particles;
  for (int piece = 0; piece < options.pieces; ++piece) {
    const auto end = std::ranges::partition_point(rest, [&](const Particle& p) { return p.key < cuts[piece + 1]; });
    shares.push_back(rest.first(end - rest.begin()));
    rest = rest.subspan(end - rest.begin());
    trees.push_back(buildTree(shares.back(), cuts[piece], cuts[piece + 1], piece, gravity.bucket, 1e-9 * box.side));
    std::ranges::copy(rootsOf(trees.back()), std::back_inserter(roots));
  }
  const Tree trunk = buildTrunk(roots);

  Work work;
  for (int piece = 0; piece < options.pieces; ++piece) {
    Cache cache;
    std::deque<const Node*> asked;
    const Walk::Finder find = [&](const Node& node) -> const Node* {
      const Tree& owner = trees[node.owner];
      if (!options.fetch || node.owner == piece) return owner.find(node.cell);
      const auto known = cache.nodes.find(node.cell.bits);
      if (known != cache.nodes.end()) return known->second;
      cache.nodes[node.cell.bits] = nullptr;
      asked.push_back(&node);
      return nullptr;
    };
    Walk walk(gravity, trunk, trees[piece], shares[piece], minRung, find);
    while (walk.advance() || !asked.empty()) {
      const Node& wanted = *asked.front();
      asked.pop_front();
      walk.arrived(*cache.add(Tree::excerpt(*trees[wanted.owner].find(wanted.cell), excerpt_nodes)));
    }
    walk.finish();
    work += walk.work();
  }
  if (gravity.periodic) {
    const FarImages far(box);
    auto moments = far.noMoments();
    far.addMoments(particles, moments);
    far.addField(far.field(moments), particles, minRung);
  }
  return work;
}

}  // namespace periapt::nbody
