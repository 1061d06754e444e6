#include "examples/nbody/pairs.h"

#include <cmath>
#include <cstring>
#include <stdexcept>

namespace periapt::nbody {
namespace {

constexpr std::size_t line = 64;  // bytes of a node
static_assert(sizeof(Node) == line);

/// From the beginning of a tree's bytes to its nodes.
std::size_t headOf(const Tree& tree) {
  return std::size_t(reinterpret_cast<const std::byte*>(tree.nodes().data()) - tree.bytes().data());
}

}  // namespace

PairRules::PairRules(const Gravity& gravity)
    : opening(float(2 / std::sqrt(3.) / gravity.theta)), period(gravity.period) {}

SourceBlock::SourceBlock(const Tree& trunk, std::span<const Tree* const> trees) : trunk_(trunk) {
  if (trunk.roots().empty()) return;
  bytes_ = trunk.bytes().size() - headOf(trunk);  // its root is node 0
  for (const Tree* tree : trees) {
    if (tree->nodes().empty()) continue;
    trees_.push_back(tree);
    places_.push_back(place(*tree));
  }
  if (bytes_ > most_nodes * line) throw std::length_error("too many particles for a walk on GPUs");
}

/// Such that its nodes lie at a multiple of 64.
std::size_t SourceBlock::place(const Tree& tree) {
  const std::size_t nodes = (bytes_ + headOf(tree) + line - 1) / line * line;
  const std::size_t at = nodes - headOf(tree);
  bytes_ = at + tree.bytes().size();
  return at;
}

void SourceBlock::write(std::byte* to) const {
  if (isEmpty()) return;
  std::memcpy(to, trunk_.nodes().data(), trunk_.bytes().size() - headOf(trunk_));
  for (std::size_t i = 0; i < trees_.size(); ++i)
    std::memcpy(to + places_[i], trees_[i]->bytes().data(), trees_[i]->bytes().size());
  // Distances in nodes and floats hold between trees too.
  Node* const trunk = reinterpret_cast<Node*>(to);
  for (std::size_t at = 0; at < trunk_.nodes().size(); ++at) {
    Node& leaf = trunk[at];
    if (leaf.isOpenable()) continue;
    for (std::size_t i = 0; i < trees_.size(); ++i) {
      const Node* const below = trees_[i]->find(leaf.cell);
      if (below == nullptr) continue;
      const std::size_t node =
          (places_[i] + headOf(*trees_[i])) / line + std::size_t(below - trees_[i]->nodes().data());
      const std::int64_t distance = std::int64_t(node) - std::int64_t(at);
      if (below->isLeaf())
        leaf.particles = std::int32_t(distance * std::int64_t(line / sizeof(float)) + below->particles);
      else
        leaf.children = std::int32_t(distance + below->children);
      break;
    }
  }
}

Work walkPairs(const PairScene& scene, std::vector<Pair> pairs, std::span<float> locals,
               std::span<ActiveField> fields) {
  Work work;
  std::vector<double> localSums(locals.size());
  std::vector<FieldSum> fieldSums(fields.size());
  while (!pairs.empty()) {
    const Pair pair = pairs.back();
    pairs.pop_back();
    ++work.tests;
    const Fate fate = fateOf(scene, pair);
    const Sink& sink = scene.sinks[pair.sink];
    if (fate == Fate::far) {
      Series<float> sum{};
      addFar(scene, sink, pair.source, sum);
      for (int k = 0; k < terms; ++k) localSums[std::size_t(pair.sink) * terms + std::size_t(k)] += sum[k];
      ++work.cellPairs;
    } else if (fate == Fate::near) {
      const std::uint32_t count = scene.nodes[pair.source / 32].count;
      for (std::int32_t i = sink.firstActive; i < sink.firstActive + sink.actives; ++i) {
        ActiveField sum{};
        for (std::uint32_t j = 0; j < count; ++j)
          addNear(nearSource(scene, sink, pair.source, j), scene.places[i], sum);
        fieldSums[std::size_t(i)].add(sum);
      }
      work.particlePairs += std::uint64_t(count) * std::uint64_t(sink.actives);
    } else {
      Pair opened[2];
      const int count = open(scene, pair, fate, opened);
      pairs.insert(pairs.end(), opened, opened + count);
    }
  }
  for (std::size_t i = 0; i < locals.size(); ++i) locals[i] = float(localSums[i]);
  for (std::size_t i = 0; i < fields.size(); ++i) fields[i] = fieldSums[i].rounded();
  return work;
}

std::vector<Pair> firstPairs(const Gravity& gravity, std::uint32_t root, std::span<const std::uint32_t> sinks) {
  std::vector<Pair> pairs;
  for (const std::uint32_t sink : sinks) {
    for (int image = 0; image < images; ++image) {
      if (image == middle_image || gravity.periodic) pairs.push_back({sink, imageOf(root, image)});
    }
  }
  return pairs;
}

}  // namespace periapt::nbody
