// How the pieces of a process walk on its GPUs. A part of the cache: what the pieces share.
//
// PE k uses GPU k modulo their number, and a piece the one of its PE. When the trunk is planted all trees are copied to
// all GPUs. Then each piece puts its sinks beside those of the others of its GPU (`stage`), and the last one starts the
// walk (`staged`). When that is over all of them are told, and take what is theirs (`take`).
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "examples/nbody/gpu_walk.h"
#include "examples/nbody/phases.h"

/// The tree of a piece, where the piece is, and the branch that it has made of its neighbours' roots, if it has.
struct PlantedTree {
  const periapt::nbody::Tree* tree;
  int pe;
  const periapt::nbody::Tree* branch = nullptr;
};

/// Where a piece's part begins.
struct Staged {
  std::size_t sinks = 0, actives = 0;
};

class GpuWalks {
 public:
  using Tree = periapt::nbody::Tree;
  using Walk = periapt::nbody::Walk;

  /// Why there can be no walks on GPUs in this run; "": there can. Makes them at the first call.
  static std::string whyNot();
  static std::string name();

  void plant(const Tree& trunk, const std::map<int, PlantedTree>& trees);
  Staged stage(int piece, Walk& walk);
  void staged(int piece, const periapt::nbody::Gravity& gravity);
  void take(int piece, const Staged& staged, Walk& walk);

 private:
  struct OfGpu {
    std::vector<int> pieces;
    std::size_t left = 0;  // pieces that have not staged
    std::size_t sinks = 0, actives = 0;
    std::vector<std::uint32_t> first;  // sinks without a parent
    periapt::nbody::ActedOn room{};
    bool isCounted = false;  // its work, by one of the pieces
  };
  struct Told {
    GpuWalks* walks;
    int gpu;
  };
  OfGpu& of(int piece) { return gpus_[std::size_t(gpuOf_.at(piece))]; }
  static void told(void* told, void*);

  std::mutex lock_;
  std::map<int, int> gpuOf_;  // of each piece
  std::vector<OfGpu> gpus_;
};
