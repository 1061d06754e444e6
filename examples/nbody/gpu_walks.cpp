// See gpu_walks.h.
#include "examples/nbody/gpu_walks.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "examples/nbody/tree_piece.h"

using namespace periapt::nbody;

extern CProxy_TreePiece pieces;
extern Settings settings;

namespace {

struct Made {
  std::string whyNot;
  std::unique_ptr<GpuWalk> walk;
};

/// Of this process.
Made& made() {
  static Made one = [] {
    Made made;
    if (CkNumNodes() > 1)
      made.whyNot = "a walk on GPUs needs all trees in one process, and this run has several (+ppn)";
    else if (settings.gpusOnHost)
      made.walk = makeGpuWalkOnHost();
    else
      made.walk = makeGpuWalk(made.whyNot);
    return made;
  }();
  return one;
}
GpuWalk& gpuWalk() { return *made().walk; }

}  // namespace

std::string GpuWalks::whyNot() { return made().whyNot; }
std::string GpuWalks::name() { return gpuWalk().name(); }

void GpuWalks::plant(const Tree& trunk, const std::map<int, PlantedTree>& trees) {
  std::vector<const Tree*> all;
  gpuOf_.clear();
  gpus_.assign(std::size_t(gpuWalk().gpus()), {});
  for (const auto& [piece, planted] : trees) {
    all.push_back(planted.tree);
    const int gpu = planted.pe % gpuWalk().gpus();
    gpuOf_[piece] = gpu;
    OfGpu& own = gpus_[std::size_t(gpu)];
    own.pieces.push_back(piece);
    // At most: all nodes of the tree and all above it.
    own.sinks += planted.tree->nodes().size() + trunk.nodes().size();
    for (const Node& root : planted.tree->roots()) own.actives += root.count;
  }
  const SourceBlock sources(trunk, all);
  sources.write(gpuWalk().sources(sources.bytes()));
  gpuWalk().send();
  for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    OfGpu& own = gpus_[gpu];
    own.room = gpuWalk().room(int(gpu), own.sinks, own.actives);
    own.left = own.pieces.size();
    own.sinks = own.actives = 0;
  }
}

Staged GpuWalks::stage(int piece, Walk& walk) {
  const std::span<const Sink> sinks = walk.handOver();
  OfGpu& own = of(piece);
  Staged at;
  {
    const std::lock_guard guard(lock_);
    at = {own.sinks, own.actives};
    own.sinks += sinks.size();
    own.actives += walk.actives();
    if (!sinks.empty()) own.first.push_back(std::uint32_t(at.sinks));
  }
  Sink* to = own.room.sinks + at.sinks;
  for (Sink sink : sinks) {
    for (std::int32_t& child : sink.child) {
      if (child >= 0) child += std::int32_t(at.sinks);
    }
    sink.firstActive += std::int32_t(at.actives);
    *to++ = sink;
  }
  walk.places(own.room.places + at.actives);
  return at;
}

void GpuWalks::staged(int piece, const Gravity& gravity) {
  OfGpu& own = of(piece);
  {
    const std::lock_guard guard(lock_);
    if (--own.left > 0) return;
  }
  std::ranges::sort(own.first);
  const int gpu = gpuOf_.at(piece);
  gpuWalk().start(gpu, PairRules(gravity), firstPairs(gravity, 0, own.first), own.sinks, own.actives,
                  CkCallback(told, new Told{this, gpu}));
}

void GpuWalks::told(void* param, void*) {
  const Told told = *static_cast<Told*>(param);
  if (!gpuWalk().isOver(told.gpu)) return;
  delete static_cast<Told*>(param);
  for (const int piece : told.walks->gpus_[std::size_t(told.gpu)].pieces) pieces[piece].walked();
}

void GpuWalks::take(int piece, const Staged& staged, Walk& walk) {
  OfGpu& own = of(piece);
  bool counts;
  {
    const std::lock_guard guard(lock_);
    counts = !std::exchange(own.isCounted, true);
  }
  walk.add(own.room.locals + staged.sinks * terms, own.room.fields + staged.actives,
           counts ? gpuWalk().work(gpuOf_.at(piece)) : Work{});
}
