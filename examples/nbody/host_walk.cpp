// See gpu_walk.h. Two GPUs, so that pieces are shared out.
#include <new>
#include <vector>

#include "examples/nbody/gpu_walk.h"

namespace periapt::nbody {
namespace {

class HostWalk : public GpuWalk {
  static constexpr int count = 2;
  struct Line {
    alignas(64) std::byte bytes[64];
  };
  struct OfGpu {
    std::vector<Sink> sinks;
    std::vector<ActivePlace> places;
    std::vector<float> locals;
    std::vector<ActiveField> fields;
    Work work;
    CkCallback told;
    bool isOver = false;
  };
  std::vector<Line> sources_;
  OfGpu all_[count];

 public:
  std::string name() const override { return "what GPUs would do, by the processor"; }
  int gpus() const override { return count; }
  std::byte* sources(std::size_t bytes) override {
    sources_.resize(bytes / sizeof(Line) + 1);
    return sources_[0].bytes;
  }
  void send() override {}
  ActedOn room(int gpu, std::size_t sinks, std::size_t actives) override {
    OfGpu& own = all_[gpu];
    own.sinks.resize(sinks);
    own.places.resize(actives);
    own.locals.assign(sinks * terms, 0);
    own.fields.assign(actives, {});
    return {own.sinks.data(), own.places.data(), own.locals.data(), own.fields.data()};
  }
  void start(int gpu, const PairRules& rules, std::span<const Pair> first, std::size_t, std::size_t,
             const CkCallback& told) override {
    OfGpu& own = all_[gpu];
    const PairScene scene{rules, reinterpret_cast<const Node*>(sources_.data()), own.sinks.data(), own.places.data()};
    own.work = walkPairs(scene, {first.begin(), first.end()}, own.locals, own.fields);
    own.isOver = false;
    own.told = told;
    told.send();
  }
  /// The second time, as a GPU's may be.
  bool isOver(int gpu) override {
    if (all_[gpu].isOver) return true;
    all_[gpu].isOver = true;
    all_[gpu].told.send();
    return false;
  }
  Work work(int gpu) const override { return all_[gpu].work; }
};

}  // namespace

std::unique_ptr<GpuWalk> makeGpuWalkOnHost() { return std::make_unique<HostWalk>(); }

}  // namespace periapt::nbody
