// The tree: cells of the space-filling curve that hold particles, each with its moments.
//
// It is a binary tree over the bits of the keys, without the cells that hold all that their parent holds: an inner node
// has exactly two children, which lie side by side. A node with at most `bucket` particles is a leaf. Which nodes there
// are depends on the keys alone, never on how the domain is cut: a piece owns a key range whose ends fall between
// leaves (decompose.h), builds the nodes that lie wholly in its range, and its *roots* are the largest of those. The
// nodes above are made from the roots with the same `merge`: a *branch* from those of some neighbours, again what lies
// wholly in their range, and the *trunk* from the roots of all pieces or branches, wherever they are known.
//
// Nodes, moments and the leaves' particles lie in one block of memory and refer to each other by distance, so a block
// can be sent, stored and read at any address as it is. `Tree::excerpt` cuts out the top of a subtree: what one piece
// sends to another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "examples/gpu/both.h"
#include "examples/nbody/kernels.h"
#include "examples/nbody/keys.h"
#include "examples/nbody/multipole.h"
#include "examples/nbody/particle.h"

namespace periapt::nbody {

/// What the walk looks at to decide: one cache line.
struct Node {
  Vec3 centre;                 // of mass
  Cell cell;                   // the smallest that holds all its particles
  float radius = 0;            // of a sphere about the centre that holds all its particles; never 0
  float softening = 0;         // the largest
  std::uint32_t count = 0;     // particles
  std::int32_t owner = -1;     // that has what is below: a process, or in one thread a piece; -1 in the trunk
  std::int32_t first = -1;     // leaf: its first particle in the owner's order; -1: no leaf
  std::int32_t children = 0;   // from this node to the first of two children, in nodes; 0: none here
  std::int32_t particles = 0;  // leaf: from this node to its particles, in floats; 0: not here
  std::int32_t moments = 0;    // from this node to its moments, in floats

  PERIAPT_BOTH bool isLeaf() const { return first >= 0; }
  /// Whether what the node stands for, its children or its particles, is in this block.
  PERIAPT_BOTH bool isOpenable() const { return children != 0 || particles != 0; }
  PERIAPT_BOTH const Node& child(int which) const { return this[children + which]; }
  /// Leaf: x[count], y, z relative to the centre, then mass, softening.
  PERIAPT_BOTH const float* particleRuns() const { return reinterpret_cast<const float*>(this) + particles; }
  PERIAPT_BOTH const struct Moments& momentsHere() const {
    return *reinterpret_cast<const Moments*>(reinterpret_cast<const float*>(this) + moments);
  }
};
static_assert(std::is_trivially_copyable_v<Node> && sizeof(Node) == 64, "nodes travel as bytes");

/// What of a node is used once the decision is taken, or by its parent.
struct Moments {
  float term[terms] = {};              // of degree n divided by radius^n
  float below[3] = {}, above[3] = {};  // from the centre to the faces of the bounding box
};

/// A node that stands alone: what pieces tell each other of their roots. `node` refers to nothing.
struct Root {
  Node node;
  Moments moments;
};
static_assert(std::is_trivially_copyable_v<Root>, "roots travel as bytes");

/// Nodes, their moments, and the particles of those that are leaves, in one block. Some first nodes have no parent in
/// it.
class Tree {
 public:
  Tree() = default;
  /// Takes bytes made by `bytes()` of another tree; throws std::invalid_argument if they cannot be one.
  explicit Tree(std::span<const std::byte> bytes);

  std::span<const Node> nodes() const { return {nodeData(), header().nodes}; }
  std::span<const Node> roots() const { return {nodeData(), header().roots}; }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(block_)); }
  /// The node that stands for exactly this cell, or null.
  const Node* find(Cell cell) const;
  /// The same, at or below a node that holds the cell.
  static const Node* find(const Node& top, Cell cell);
  /// Where a node that is not openable can be found opened; null if it is not here.
  using Finder = std::function<const Node*(const Node&)>;
  /// What is below `node`, as a block of its own with one root, some `limit` nodes deep and wide, and goes on with what
  /// `find` finds. Nodes at its lower edge are not openable.
  static Tree excerpt(
      const Node& node, std::size_t limit, const Finder& find = [](const Node&) { return nullptr; });

 private:
  friend class TreeBuilder;
  struct Header {
    std::uint32_t nodes = 0, roots = 0;
    std::uint64_t floats = 0;
  };
  static std::size_t wordsFor(const Header& header);
  const Header& header() const;
  const Node* nodeData() const { return reinterpret_cast<const Node*>(block_.data() + sizeof(Header) / 8); }

  std::vector<std::uint64_t> block_;  // empty, or header, nodes, moments, floats
};

/// The tree of one piece: particles sorted by key, all with begin <= key < end. `smallest` is the least radius of a
/// node (some 1e-9 of the box).
Tree buildTree(std::span<const Particle> particles, Key begin, Key end, int owner, int bucket, double smallest);

/// The roots of a tree, to be sent.
std::vector<Root> rootsOf(const Tree& tree);

/// What of the nodes above `roots` lies in begin <= key < end, of which they are all there is, in key order. Its leaves
/// are the roots.
Tree buildBranch(std::span<const Root> roots, Key begin, Key end, int owner);
/// The nodes above all pieces or branches.
Tree buildTrunk(std::span<const Root> roots);

}  // namespace periapt::nbody
