// Building trees, and moving them about as bytes.
#include "examples/nbody/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace periapt::nbody {
namespace {

constexpr std::size_t node_floats = sizeof(Node) / sizeof(float), moment_floats = sizeof(Moments) / sizeof(float);

Key keyOf(const Particle& particle) { return particle.key; }
Key keyOf(const Root& root) { return root.node.cell.begin(); }

/// Where the cell's second half begins among items sorted by key.
template <class Item>
std::size_t secondHalf(std::span<const Item> items, std::size_t first, std::size_t last, Cell cell) {
  const Key middle = cell.half(1).begin();
  const auto begin = items.begin() + first, end = items.begin() + last;
  return first + (std::partition_point(begin, end, [&](const Item& item) { return keyOf(item) < middle; }) - begin);
}

/// Where the roots of a tree begin among items [first, last): down from the smallest cell that holds them all.
template <class Item>
void findRoots(std::span<const Item> items, std::size_t first, std::size_t last, Key begin, Key end,
               std::vector<std::size_t>& starts) {
  if (first == last) return;
  const Cell cell = commonCell(keyOf(items[first]), keyOf(items[last - 1]));
  if (cell.begin() >= begin && cell.end() <= end) {
    starts.push_back(first);
    return;
  }
  const std::size_t middle = secondHalf(items, first, last, cell);
  findRoots(items, first, middle, begin, end, starts);
  findRoots(items, middle, last, begin, end, starts);
}

void setLeaf(Node& node, Moments& moments, std::span<const Particle> particles, double smallest, float* runs) {
  const std::size_t n = particles.size();
  double mass = 0;
  Vec3 weighted, sum;
  for (const Particle& p : particles) {
    mass += p.mass;
    weighted += p.mass * p.position;
    sum += p.position;
    node.softening = std::max(node.softening, p.softening);
  }
  node.centre = mass > 0 ? 1 / mass * weighted : 1. / n * sum;
  double radius2 = 0;
  Series<double> total{}, one;
  for (std::size_t i = 0; i < n; ++i) {
    const Particle& p = particles[i];
    const Vec3 away = p.position - node.centre;
    for (int axis = 0; axis < 3; ++axis) {
      runs[axis * n + i] = float(away[axis]);
      moments.below[axis] = std::min(moments.below[axis], float(away[axis]));
      moments.above[axis] = std::max(moments.above[axis], float(away[axis]));
    }
    runs[3 * n + i] = p.mass;
    runs[4 * n + i] = p.softening;
    radius2 = std::max(radius2, norm2(away));
  }
  const double radius = std::max(std::sqrt(radius2), smallest);
  node.radius = float(radius);
  for (std::size_t i = 0; i < n; ++i) {
    const Vec3 scaled = -1 / radius * (particles[i].position - node.centre);
    exponential(scaled.x, scaled.y, scaled.z, one);
    for (int k = 0; k < terms; ++k) total[k] += particles[i].mass * one[k];
  }
  for (int k = 0; k < terms; ++k) moments.term[k] = float(total[k]);
}

/// The parent of two neighbours, but for its own moments: the kernel makes those of many at once.
Node parentOf(const Node& left, const Moments& leftMoments, const Node& right, const Moments& rightMoments,
              Moments& moments, Merger& merger) {
  Node parent;
  const double mass = double(leftMoments.term[0]) + rightMoments.term[0];
  const double share = mass > 0 ? rightMoments.term[0] / mass : double(right.count) / (left.count + right.count);
  parent.centre = left.centre + share * (right.centre - left.centre);
  parent.cell = commonCell(left.cell.begin(), right.cell.begin());
  parent.count = left.count + right.count;
  parent.softening = std::max(left.softening, right.softening);

  const struct {
    const Node& node;
    const Moments& moments;
  } children[] = {{left, leftMoments}, {right, rightMoments}};
  double bySpheres = 0;
  for (const auto& child : children) {
    const Vec3 shift = child.node.centre - parent.centre;
    bySpheres = std::max(bySpheres, norm(shift) + child.node.radius);
    for (int axis = 0; axis < 3; ++axis) {
      float &below = moments.below[axis], &above = moments.above[axis];
      below = std::min(below, float(shift[axis] + child.moments.below[axis]));
      above = std::max(above, float(shift[axis] + child.moments.above[axis]));
    }
  }
  double corner2 = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const double half = std::max(-double(moments.below[axis]), double(moments.above[axis]));
    corner2 += half * half;
  }
  parent.radius = float(std::min(bySpheres, std::sqrt(corner2)));
  parent.radius = std::max({parent.radius, left.radius, right.radius});  // never 0

  for (int which : {0, 1}) {
    const auto& child = children[which];
    const Vec3 shift = -1. / parent.radius * (child.node.centre - parent.centre);
    merger.children[which] = {float(shift.x), float(shift.y), float(shift.z), child.node.radius / parent.radius,
                              child.moments.term};
  }
  merger.moments = moments.term;
  return parent;
}

}  // namespace

/// Collects nodes, moments and floats, then lays them out in one block.
class TreeBuilder {
 public:
  /// Puts the subtree of particles [first, last) at node `at`, which exists. Children always come after their parent.
  /// What is above leaves is made by `mergeAll`. Returns how high the node is above the lowest leaf.
  std::size_t addSubtree(std::size_t at, std::size_t first, std::size_t last) {
    const Cell cell = commonCell(particles[first].key, particles[last - 1].key);
    if (last - first <= std::size_t(bucket) || cell.level() == key_bits) {
      Node leaf;
      leaf.cell = cell;
      leaf.count = std::uint32_t(last - first);
      leaf.owner = owner;
      leaf.first = std::int32_t(first);
      leaf.particles = std::int32_t(floats.size()) + 1;  // made a distance in `finish`
      floats.resize(floats.size() + 5 * leaf.count);
      setLeaf(leaf, moments[at], particles.subspan(first, leaf.count), smallest, floats.data() + leaf.particles - 1);
      nodes[at] = leaf;
      return 0;
    }
    const std::size_t middle = secondHalf(particles, first, last, cell);
    const std::size_t children = nodes.size();
    resizeNodes(children + 2);
    const std::size_t left = addSubtree(children, first, middle);
    return addParent(at, children, std::max(left, addSubtree(children + 1, middle, last)));
  }

  /// Puts what is above roots at node `at`; returns its height, as addSubtree.
  std::size_t addTrunk(std::size_t at, std::span<const Root> roots) {
    if (roots.size() == 1) {
      nodes[at] = roots[0].node;
      moments[at] = roots[0].moments;
      return 0;
    }
    const std::size_t middle =
        secondHalf(roots, 0, roots.size(), commonCell(keyOf(roots.front()), keyOf(roots.back())));
    const std::size_t children = nodes.size();
    resizeNodes(children + 2);
    const std::size_t left = addTrunk(children, roots.first(middle));
    return addParent(at, children, std::max(left, addTrunk(children + 1, roots.subspan(middle))));
  }

  std::size_t addParent(std::size_t at, std::size_t children, std::size_t height) {
    if (parents.size() <= height) parents.resize(height + 1);
    parents[height].push_back(std::uint32_t(at));
    nodes[at].children = std::int32_t(children - at);
    return height + 1;
  }

  /// All parents, the lowest first: those of a height know nothing of each other.
  void mergeAll() {
    std::vector<Merger> mergers;
    for (const std::vector<std::uint32_t>& level : parents) {
      mergers.resize(level.size());
      for (std::size_t i = 0; i < level.size(); ++i) {
        const std::size_t at = level[i], left = at + std::size_t(nodes[at].children), right = left + 1;
        const std::int32_t children = nodes[at].children;
        nodes[at] = parentOf(nodes[left], moments[left], nodes[right], moments[right], moments[at], mergers[i]);
        nodes[at].children = children;
        nodes[at].owner = owner;
      }
      kernels().merge(mergers.data(), mergers.size());
    }
  }

  void resizeNodes(std::size_t count) {
    nodes.resize(count);
    moments.resize(count + 1);  // readers take whole vectors, past the end of moments
  }

  Tree finish(std::size_t roots) {
    // Readers take whole vectors, past the end of moments and of runs.
    floats.resize(floats.size() + 2 * near_padding + (nodes.size() * moment_floats + floats.size()) % 2);
    const Tree::Header header{std::uint32_t(nodes.size()), std::uint32_t(roots), floats.size()};
    Tree tree;
    tree.block_.resize(Tree::wordsFor(header));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::size_t toMoments = (nodes.size() - i) * node_floats;
      nodes[i].moments = std::int32_t(toMoments + i * moment_floats);
      if (nodes[i].particles != 0) nodes[i].particles += std::int32_t(toMoments + nodes.size() * moment_floats) - 1;
    }
    auto* to = reinterpret_cast<std::byte*>(tree.block_.data());
    const auto append = [&](const void* from, std::size_t size) {
      if (size > 0) std::memcpy(to, from, size);
      to += size;
    };
    append(&header, sizeof header);
    append(nodes.data(), nodes.size() * sizeof(Node));
    append(moments.data(), nodes.size() * sizeof(Moments));
    append(floats.data(), floats.size() * sizeof(float));
    return tree;
  }

  std::span<const Particle> particles = {};
  int owner = -1;
  int bucket = 1;
  double smallest = 0;
  std::vector<Node> nodes = {};
  std::vector<Moments> moments = {};
  std::vector<float> floats = {};
  std::vector<std::vector<std::uint32_t>> parents = {};  // by height
};

Tree buildTree(std::span<const Particle> particles, Key begin, Key end, int owner, int bucket, double smallest) {
  TreeBuilder builder{particles, owner, bucket, smallest};
  builder.floats.reserve(5 * particles.size() + 64);
  std::vector<std::size_t> starts;
  findRoots(particles, 0, particles.size(), begin, end, starts);
  builder.resizeNodes(starts.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    builder.addSubtree(i, starts[i], i + 1 < starts.size() ? starts[i + 1] : particles.size());
  }
  builder.mergeAll();
  return builder.finish(starts.size());
}

std::vector<Root> rootsOf(const Tree& tree) {
  std::vector<Root> roots;
  for (const Node& node : tree.roots()) {
    roots.push_back({node, node.momentsHere()});
    Node& alone = roots.back().node;
    alone.children = alone.particles = alone.moments = 0;
  }
  return roots;
}

Tree buildBranch(std::span<const Root> roots, Key begin, Key end, int owner) {
  TreeBuilder builder{.owner = owner};
  std::vector<std::size_t> starts;
  findRoots(roots, 0, roots.size(), begin, end, starts);
  builder.resizeNodes(starts.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t last = i + 1 < starts.size() ? starts[i + 1] : roots.size();
    builder.addTrunk(i, roots.subspan(starts[i], last - starts[i]));
  }
  builder.mergeAll();
  return builder.finish(starts.size());
}

Tree buildTrunk(std::span<const Root> roots) { return buildBranch(roots, 0, key_end, -1); }

std::size_t Tree::wordsFor(const Header& h) {
  static_assert(sizeof(Header) % 8 == 0 && sizeof(Node) % 8 == 0);
  return (sizeof h + h.nodes * sizeof(Node) + h.nodes * sizeof(Moments) + h.floats * sizeof(float)) / 8;
}

const Tree::Header& Tree::header() const {
  static const Header empty;
  return block_.empty() ? empty : *reinterpret_cast<const Header*>(block_.data());
}

const Node* Tree::find(Cell cell) const {
  const auto root = std::ranges::find_if(roots(), [&](const Node& r) { return r.cell.holds(cell); });
  return root == roots().end() ? nullptr : find(*root, cell);
}

const Node* Tree::find(const Node& top, Cell cell) {
  const Node* node = &top;
  while (node->cell != cell) {
    if (node->children == 0) return nullptr;
    const Node& left = node->child(0);
    node = left.cell.holds(cell) ? &left : &node->child(1);
    if (!node->cell.holds(cell)) return nullptr;
  }
  return node;
}

Tree Tree::excerpt(const Node& top, std::size_t limit, const Finder& find) {
  TreeBuilder builder;
  std::vector<const Node*> from{&top};
  builder.nodes.push_back(top);
  builder.moments.push_back(top.momentsHere());
  for (std::size_t i = 0; i < from.size(); ++i) {
    Node& copy = builder.nodes[i];
    if (const Node* here = from[i]->isOpenable() ? nullptr : find(*from[i])) copy = *(from[i] = here);
    copy.children = 0;
    copy.particles = 0;
    if (from[i]->particles != 0) {
      copy.particles = std::int32_t(builder.floats.size()) + 1;
      const float* runs = from[i]->particleRuns();
      builder.floats.insert(builder.floats.end(), runs, runs + 5 * copy.count);
    } else if (from[i]->children != 0 && from.size() + 2 <= std::max<std::size_t>(limit, 3)) {
      copy.children = std::int32_t(from.size() - i);
      for (int which : {0, 1}) {
        from.push_back(&from[i]->child(which));
        builder.nodes.push_back(*from.back());
        builder.moments.push_back(from.back()->momentsHere());
      }
    }
  }
  return builder.finish(1);
}

Tree::Tree(std::span<const std::byte> bytes) : block_(bytes.size() / 8) {
  const auto fail = [&](const char* what) {
    throw std::invalid_argument(fmt::format("nbody: a block of {} bytes is not a tree: {}", bytes.size(), what));
  };
  if (bytes.empty()) return;
  if (bytes.size() % 8 != 0 || bytes.size() < sizeof(Header)) fail("its size is no whole number of nodes");
  std::memcpy(block_.data(), bytes.data(), bytes.size());
  const Header& h = header();
  if (h.roots > h.nodes || h.floats > bytes.size() || wordsFor(h) != block_.size())
    fail("its header tells another size");
  const auto all = nodes();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Node& n = all[i];
    const std::size_t toMoments = (all.size() - i) * node_floats, toFloats = toMoments + all.size() * moment_floats;
    if (n.moments < 0 || std::size_t(n.moments) != toMoments + i * moment_floats) fail("moments lie outside it");
    if (n.children < 0 || (n.children > 0 && i + n.children + 1 >= all.size())) fail("a child lies outside it");
    if (n.particles == 0) continue;
    if (n.particles < 0 || std::size_t(n.particles) < toFloats ||
        n.particles + 5 * std::size_t(n.count) + near_padding > toFloats + h.floats) {
      fail("a leaf's particles lie outside it");
    }
  }
}

}  // namespace periapt::nbody
