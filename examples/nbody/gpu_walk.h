// Walks of all pieces of this process at once, by GPUs (pairs.h). Each GPU acts on the sinks of the pieces whose PEs
// use it, and has all sources. No function waits for a GPU but where it makes memory, which is kept for the next time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "charm++.h"
#include "examples/nbody/pairs.h"

namespace periapt::nbody {

/// What a GPU's walk acts on, and what comes back: memory of the host, until the next room().
struct ActedOn {
  Sink* sinks;
  ActivePlace* places;
  float* locals;  // `terms` a sink
  ActiveField* fields;
};

class GpuWalk {
 public:
  virtual ~GpuWalk() = default;
  /// For people.
  virtual std::string name() const = 0;
  virtual int gpus() const = 0;

  /// Room for the block of sources, at a multiple of 64.
  virtual std::byte* sources(std::size_t bytes) = 0;
  /// They are there: for all walks that start later.
  virtual void send() = 0;
  /// Room for so many sinks and active particles, at most.
  virtual ActedOn room(int gpu, std::size_t sinks, std::size_t actives) = 0;
  /// With so many of both. `told` is sent from this PE, as often as isOver() says that the walk is not.
  virtual void start(int gpu, const PairRules& rules, std::span<const Pair> first, std::size_t sinks,
                     std::size_t actives, const CkCallback& told) = 0;
  /// When `told` has come, by the same PE. If not, the walk goes on.
  virtual bool isOver(int gpu) = 0;
  virtual Work work(int gpu) const = 0;
};

/// GPUs of this process; null, and why not, where none can be used. Defined by one of gpu_walk.cu and no_gpu.cpp.
std::unique_ptr<GpuWalk> makeGpuWalk(std::string& whyNot);
/// For tests: the same by the processor, in the call of start().
std::unique_ptr<GpuWalk> makeGpuWalkOnHost();

}  // namespace periapt::nbody
