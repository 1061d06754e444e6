// The same walk (walk.h) as one list of pairs: what GPUs do, and, for tests, the host.
//
// A pair is a sink and a source. Each is looked at by itself, in any order: it acts from afar, it acts nearby, or it
// becomes two pairs, of the sink's children or of the source's. The rules are the walk's, in the walk's precision, so
// that the same pairs act; only the order of the sums is another one.
//
// Sources lie in one block: the trees of all pieces, each as it is, with nodes at multiples of 64 bytes, and a trunk
// whose leaves refer to what is below the pieces' roots. A source is called by the number of its node in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "examples/nbody/far.h"
#include "examples/nbody/softening.h"
#include "examples/nbody/walk.h"

namespace periapt::nbody {

/// A source and the image of it that is meant: 27 of them, 32 numbers.
using ImageOf = std::uint32_t;
PERIAPT_BOTH inline ImageOf imageOf(std::uint32_t node, int image) { return node * 32 + std::uint32_t(image); }
inline constexpr std::size_t most_nodes = std::size_t{1} << 27;

struct Pair {
  std::uint32_t sink;
  ImageOf source;
};

/// What the walk decides by.
struct PairRules {
  float opening;
  double period;

  explicit PairRules(const Gravity& gravity);
  PairRules() = default;
};

/// What is acted on, by what. Memory of the GPU's or the host's.
struct PairScene {
  PairRules rules;
  const Node* nodes;  // of the whole block
  const Sink* sinks;
  const ActivePlace* places;
};

/// From the middle image to the one that is meant.
struct Shift {
  double x, y, z;
  PERIAPT_BOTH Shift(double period, int image)
      : x(period * (image / 9 - 1)), y(period * (image / 3 % 3 - 1)), z(period * (image % 3 - 1)) {}
};

enum class Fate { far, near, sinkOpens, sourceOpens };

PERIAPT_BOTH inline Fate fateOf(const PairScene& scene, const Pair& pair) {
  using gpu_example::product;
  const Sink& sink = scene.sinks[pair.sink];
  const Node& node = scene.nodes[pair.source / 32];
  const Shift shift(scene.rules.period, int(pair.source % 32));
  const float dx = float(sink.centre.x) - float(node.centre.x + shift.x);
  const float dy = float(sink.centre.y) - float(node.centre.y + shift.y);
  const float dz = float(sink.centre.z) - float(node.centre.z + shift.z);
  const float extent = sink.radius + node.radius;
  const float wide = product(scene.rules.opening, extent), soft = extent + sink.softening + node.softening;
  const float reach = wide > soft ? wide : soft;
  if (product(dx, dx) + product(dy, dy) + product(dz, dz) > product(reach, reach)) return Fate::far;
  if (!sink.leaf && (node.isLeaf() || node.radius < sink.radius)) return Fate::sinkOpens;
  return node.isLeaf() ? Fate::near : Fate::sourceOpens;
}

/// The up to two pairs that stand for one that opens. The number of them.
PERIAPT_BOTH inline int open(const PairScene& scene, const Pair& pair, Fate fate, Pair (&to)[2]) {
  int count = 0;
  for (int which = 0; which < 2; ++which) {
    if (fate == Fate::sinkOpens) {
      const std::int32_t child = scene.sinks[pair.sink].child[which];
      if (child >= 0) to[count++] = {std::uint32_t(child), pair.source};
    } else {
      const std::int64_t child = std::int64_t(pair.source / 32) + scene.nodes[pair.source / 32].children + which;
      to[count++] = {pair.sink, imageOf(std::uint32_t(child), int(pair.source % 32))};
    }
  }
  return count;
}

PERIAPT_BOTH inline void addFar(const PairScene& scene, const Sink& sink, ImageOf source, Series<float>& sum) {
  const Node& node = scene.nodes[source / 32];
  const Shift shift(scene.rules.period, int(source % 32));
  const float x = float(sink.centre.x - node.centre.x - shift.x), y = float(sink.centre.y - node.centre.y - shift.y),
              z = float(sink.centre.z - node.centre.z - shift.z);
  const float* const given = node.momentsHere().term;
  actFromAfar(
      x, y, z, node.radius, sink.radius,
      [given](Series<float> & moments) __attribute__((always_inline)) {
        detail::unrolled<terms>([&](auto k) __attribute__((always_inline)) { moments[k] = given[k]; });
      },
      sum);
}

/// A particle, in the frame of the sink that it acts on.
struct NearSource {
  float x, y, z, mass, softening;
};
/// The `i`-th of a leaf.
PERIAPT_BOTH inline NearSource nearSource(const PairScene& scene, const Sink& sink, ImageOf source, std::uint32_t i) {
  const Node& node = scene.nodes[source / 32];
  const Shift shift(scene.rules.period, int(source % 32));
  const float* const run = node.particleRuns() + i;
  const std::uint32_t n = node.count;
  return {run[0] + float(node.centre.x + shift.x - sink.centre.x),
          run[n] + float(node.centre.y + shift.y - sink.centre.y),
          run[2 * n] + float(node.centre.z + shift.z - sink.centre.z), run[3 * n], run[4 * n]};
}

PERIAPT_BOTH inline void addNear(const NearSource& source, const ActivePlace& at, ActiveField& sum) {
  const float dx = source.x - at.x, dy = source.y - at.y, dz = source.z - at.z;
  const float twoH = source.softening + at.softening;
  const float r2 = dx * dx + dy * dy + dz * dz;
  float depth, pull;
  if (r2 < twoH * twoH + float(tiny)) {
    const Softened<float> soft = softened(r2, twoH);
    depth = source.mass * soft.depth, pull = source.mass * soft.pull;
  } else {
    const float inverse = gpu_example::reciprocal_sqrt(r2);
    depth = source.mass * inverse, pull = depth * inverse * inverse;
  }
  sum.x += pull * dx, sum.y += pull * dy, sum.z += pull * dz;
  sum.potential -= depth;
}

/// Sums over many leaves: in single precision they would lose what the leaves' own sums have.
struct FieldSum {
  double x = 0, y = 0, z = 0, potential = 0;
  PERIAPT_BOTH void add(const ActiveField& of_leaf) {
    x += of_leaf.x, y += of_leaf.y, z += of_leaf.z, potential += of_leaf.potential;
  }
  PERIAPT_BOTH ActiveField rounded() const { return {float(x), float(y), float(z), float(potential)}; }
};

/// The block of sources: where each tree goes in it, and what the trunk's leaves refer to.
class SourceBlock {
 public:
  /// Numbers the trees; `trees` are those of all pieces. Throws std::length_error if there are too many nodes.
  SourceBlock(const Tree& trunk, std::span<const Tree* const> trees);
  std::size_t bytes() const { return bytes_; }
  /// The source that holds all others: its number. There is none where there are no particles.
  std::uint32_t root() const { return 0; }
  bool isEmpty() const { return trunk_.roots().empty(); }
  /// Writes it; `to` is a multiple of 64, bytes() long.
  void write(std::byte* to) const;

 private:
  std::size_t place(const Tree& tree);
  const Tree& trunk_;
  std::vector<const Tree*> trees_;
  std::vector<std::size_t> places_;  // of the trees' blocks
  std::size_t bytes_ = 0;
};

/// Looks at all pairs below those given, on the host. Writes `terms` locals a sink, and a field for each active
/// particle.
Work walkPairs(const PairScene& scene, std::vector<Pair> pairs, std::span<float> locals, std::span<ActiveField> fields);

/// The pairs that a walk begins with: each image of the root, with each of the sinks that have no parent.
std::vector<Pair> firstPairs(const Gravity& gravity, std::uint32_t root, std::span<const std::uint32_t> sinks);

}  // namespace periapt::nbody
