// The tree walk of one piece: gravity of everything on the piece's active particles.
//
// A dual walk (Dehnen 2002, J. Comp. Phys. 179, 27; Stadel 2001, thesis). The particles acted on are under a tree too,
// the *sinks*: the trunk's and the piece's own nodes that hold active particles. Going down the sinks, each has a list
// of sources that still matter. A source far enough from the sink, for all of the sink's particles, acts once on the
// sink's local expansion; a leaf near a leaf acts particle by particle; a larger source is replaced by its children;
// the rest is passed to the sink's children. Afterwards the local expansions are handed down to the particles.
//
// Far enough is  distance > 2/sqrt(3) (b_source + b_sink) / theta,  b being the radius about the centre of mass:
// ChaNGa's opening criterion with the sink's extent counted as the source's. Sources within the reach of softening
// never are.
//
// A source whose inside is not here is parked with the sink, and the walk goes on. What has `arrived` is taken up, all
// of it, when nothing else is left to do: lists of one source would take many visits. Each parked pair is independent
// of all others, so the order of arrival changes results by rounding only.
//
// What is left to do can be split: a subtree of sinks with its list goes to a *part*, which another core may walk at
// the same time. Only the part adds to these sinks then, in the same order as the whole walk would, so it needs no lock
// and changes no result.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "examples/nbody/kernels.h"
#include "examples/nbody/tree.h"

namespace periapt::nbody {

/// The box itself and its 26 neighbours, where space is periodic; the middle one is the box.
inline constexpr int images = 27, middle_image = 13;

/// What a force evaluation is to be like.
struct Gravity {
  double theta = 0.7;
  bool periodic = false;
  double period = 1;  // the box is centred on the origin
  int bucket = 16;    // most particles in a leaf

  /// What keys refer to.
  Box box(std::span<const Particle> particles) const {
    return periodic ? Box{-0.5 * period * Vec3{1, 1, 1}, period} : boundingBox(particles);
  }
};

/// What was done, for interactions per second.
struct Work {
  std::uint64_t cellPairs = 0;
  std::uint64_t particlePairs = 0;
  std::uint64_t tests = 0;
  Work& operator+=(const Work& o) {
    return cellPairs += o.cellPairs, particlePairs += o.particlePairs, tests += o.tests, *this;
  }
};

/// A node that is acted on.
struct Sink {
  Vec3 centre;
  float radius, softening;
  std::int32_t child[2] = {-1, -1};           // sinks; -1: nothing is active there
  std::int32_t firstActive = 0, actives = 0;  // leaf: its stretch of the active particles
  bool leaf = false;
};

/// An active particle as the kernels see it: place relative to its leaf's centre.
struct ActivePlace {
  float x, y, z, softening;
};
/// What near particles do to it.
struct ActiveField {
  float x, y, z, potential;
};

class Walk {
 public:
  /// Where a node that is not openable can be found opened; null if it is not here (yet): then `arrived` must be called
  /// with it later. Called once for each source that is met, so an asking cache must keep account of what it asked for.
  using Finder = std::function<const Node*(const Node&)>;

  /// Whether all nodes above the roots of `own` are here. `find` is asked for those that are not.
  static bool reaches(const Tree& trunk, const Tree& own, const Finder& find);

  /// Sinks are all of `particles` whose rung is at least minRung. The piece's particles, its own tree, the trunk and
  /// what else is above its roots must be here, and stay as they are until the walk is over. Clears acceleration and
  /// potential of the sinks.
  Walk(const Gravity& gravity, const Tree& trunk, const Tree& own, std::span<Particle> particles, int minRung,
       Finder find);

  /// Goes on until nothing is left to do or about `patience` sinks were visited. True if more could be done at once.
  bool advance(std::size_t patience = ~std::size_t{0});
  /// What was asked for: a node of the same cell, openable.
  void arrived(const Node& node) { arrivals_.push_back(&node); }
  /// A part of what is left, usually a large one; null if only little is left, or something has arrived before. It
  /// lives no longer than this walk. `find` is called from where the part is walked; what it doesn't find stays parked.
  std::unique_ptr<Walk> split(Finder find);
  /// Takes back a part whose `advance` has nothing left to do. Asks again for what it has parked.
  void join(Walk& part);
  /// Nothing to do, nothing parked and no part away.
  bool isOver() const { return tasks_.empty() && parked_.empty() && shared_->parts == 0; }
  /// Hands the local expansions down to the particles. Once, when the walk is over.
  void finish();

  const Work& work() const { return work_; }

  /// For another walker (pairs.h) that does it all: what is acted on, parents before children. Nothing is left to do
  /// here but `add` and `finish`.
  std::span<const Sink> handOver();
  std::size_t actives() const { return shared_->actives.size(); }
  void places(ActivePlace* to) const;
  /// What it has found: `terms` floats a sink, and near fields of the active particles.
  void add(const float* locals, const ActiveField* fields, const Work& work);

 private:
  /// A copy of what is asked of a source again and again, so that lists are read in a row.
  struct Source {
    float x, y, z;  // centre of the image; good enough to decide by
    float radius, softening;
    std::int16_t image;
    bool leaf;
    const Node* node;
  };
  static_assert(sizeof(void*) != 8 || sizeof(Source) == 32);
  struct Near {
    const Node* node;
    int image;
  };
  struct Task {
    std::int32_t sink;
    std::size_t begin, end;  // sources
  };
  struct Parked {
    std::int32_t sink, image;
    const Node* source;
  };
  /// What a walk and its parts have in common.
  struct Shared {
    std::vector<Sink> sinks;
    std::vector<Series<double>> locals;  // one for each sink; degree n times radius^n
    std::vector<std::uint32_t> actives;  // indices of particles, by sink
    std::atomic<int> parts = 0;          // away
  };

  Walk(const Walk& whole, Finder find);  // a part
  std::int32_t addSink(const Node& node, int minRung);
  Source sourceOf(const Node& node, int image) const;
  bool takeUp();
  void visit(Task task);
  void actFromAfar(std::int32_t sink);
  void actNearby(std::int32_t sink);
  void handDown(std::int32_t sink);

  const Gravity gravity_;
  const float opening_;
  std::array<Vec3, images> shifts_;  // of the images
  const Tree& own_;
  std::span<Particle> particles_;
  Finder find_;
  const Kernels& kernels_;

  const std::shared_ptr<Shared> shared_;
  std::vector<Source> sources_;  // lists of waiting tasks, the top task's last
  std::vector<Task> tasks_;      // a stack
  std::unordered_map<Key, std::vector<Parked>> parked_;
  std::vector<const Node*> arrivals_;  // that wait until all else is done and all parts are back
  bool mayOverlap_ = false;            // a sink may be below another one in tasks_

  // Of the sink being visited.
  std::vector<Source> open_;  // to be looked into
  std::vector<FarSource> far_;
  std::vector<Near> near_;
  std::vector<float> sourceRuns_[5];
  std::vector<float> sinkRuns_[8];
  Work work_;
};

}  // namespace periapt::nbody
