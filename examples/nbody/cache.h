// What the tree pieces of one process share during a walk: the trunk, each other's trees and branches, and blocks
// fetched from other processes. What it hands out stays as it is until the next trunk is planted, when all walks are
// over. All PEs of the process use it at once: the trunk and the process's own trees without a lock, as they don't
// change during a walk; the rest under one.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "examples/nbody/density.h"
#include "examples/nbody/gpu_walks.h"
#include "examples/nbody/helper.h"
#include "examples/nbody/phases.h"
#include "nbody.decl.h"

class Cache : public CBase_Cache {
 public:
  using Node = periapt::nbody::Node;
  using Tree = periapt::nbody::Tree;

  Cache() = default;
  explicit Cache(CkMigrateMessage*) {}

  // By messages.
  void plant(int n, const Root* roots, bool onGpu, CkCallback done);
  void request(Key cell, int process);
  void reply(int n, const Byte* block);
  void picture(CkCallback done);

  // By pieces of this process.
  const Tree& trunk() const { return trunk_; }
  /// The tree of a piece that lives here, and the branch that it has made.
  void publish(int piece, const Tree* tree);
  void graft(int piece, const Tree* branch);
  void withdraw(int piece);
  /// The root of this cell, if its tree or branch is here, or null.
  const Node* rootHere(Key cell) const;
  /// The node of the same cell, openable, fetched from another process. If it is not here yet, null; then it is asked
  /// for, once, and `piece` is told when it has arrived.
  const Node* need(const Node& node, int piece);
  const Node* fetched(Key cell);
  /// How many blocks this process has fetched since the trunk was planted. When all walks are over.
  std::size_t fetchedBlocks() const { return blocks_.size(); }
  /// Splits parts off a walk for PEs of this process that have nothing to do.
  void share(int piece, periapt::nbody::Walk& walk);
  /// For the helper of a PE that has nothing to do: a part, or none; then the helper is called when there is one.
  Part takePart(int pe);
  /// A part that is walked goes back to its piece, which is told to `join` it.
  void giveBack(Part part);
  std::unique_ptr<periapt::nbody::Walk> walked(int piece);
  void draw(const std::vector<Particle>& particles, int pe);
  GpuWalks& gpuWalks() { return gpuWalks_; }

 private:
  std::mutex lock_;
  Tree trunk_;
  std::map<int, PlantedTree> trees_;
  std::unordered_map<Key, const Node*> roots_;  // of all these trees and branches
  std::deque<Tree> blocks_;
  std::unordered_map<Key, const Node*> nodes_;         // tops of blocks
  std::unordered_map<Key, std::vector<int>> waiting_;  // pieces, by what they wait for
  std::deque<Part> parts_;                             // to be walked
  std::deque<Part> walked_;                            // to be joined
  std::set<int> idle_;                                 // PEs
  std::atomic<bool> isAnyIdle_ = false;
  std::optional<periapt::nbody::DensityMap> map_;
  GpuWalks gpuWalks_;
};
