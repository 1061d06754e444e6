// One piece of the particles, and its part in each phase (nbody.ci).
//
// It can move to another PE between phases, with its particles, but stays from `exchange` to the end of `walk`: other
// pieces know where trees are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "examples/nbody/gpu_walks.h"
#include "examples/nbody/phases.h"
#include "examples/nbody/walk.h"
#include "nbody.decl.h"

class Cache;

void registerReducers();

class TreePiece : public CBase_TreePiece {
 public:
  TreePiece() { usesAtSync = true; }
  explicit TreePiece(CkMigrateMessage*) { usesAtSync = true; }
  ~TreePiece() override;
  void pup(PUP::er& p) override;

  void begin(int n, Particle* particles, const CkCallback& done, CkNcpyBufferPost* post);
  void begin(int n, Particle* particles, const CkCallback& done);
  void move(const Motion& motion, CkCallback done);
  void count(const Box& box, bool isNew, int n, const Key* probes, CkCallback done);
  void exchange(int n, const Key* cuts, const Count* totals, CkCallback done);
  void take(int n, const Particle* particles);
  void graft(int n, const Root* roots);
  void walk(const Forces& forces, int n, const double* farField, CkCallback done);
  void goOn();
  void join();
  void walked();
  void arrived(Key cell);
  void report(CkCallback done);
  void draw(CkCallback done);
  void save(CkCallback done);
  void balance(double secondsATest, CkCallback done);
  void ResumeFromSync() override;
  void shuffle(Count seed, CkCallback done);
  void ckJustMigrated() override;

 private:
  using Node = periapt::nbody::Node;
  using Tree = periapt::nbody::Tree;

  /// What a walk needs besides the tree.
  struct Walking {
    Cache& cache;
    Forces forces;
    std::vector<double> farField;
    std::unordered_map<Key, const Node*> known = {};  // of other processes; null: asked for
    std::optional<periapt::nbody::Walk> walk = std::nullopt;
    bool isScheduled = false;
    Staged staged = {};  // with a GPU
  };

  void takeIfComplete();
  void plantTree();
  void growBranch();
  void dropTree();
  void startWalk();
  void stageWalk();
  const Node* find(const Node& node);
  void schedule();
  void finishWalk();

  std::vector<Particle> particles_;
  std::vector<Particle> incoming_;
  std::optional<Count> expected_;  // while incoming particles are awaited
  Box box_{{}, 0};
  Key begin_ = 0, end_ = 0;  // of the keys that belong here
  std::unique_ptr<Tree> tree_;
  // Of the first piece of a branch.
  std::vector<Root> roots_;  // of those of its pieces that have planted their trees
  int planted_ = 0;          // how many these are
  int branchPieces_ = 0;
  Key branchEnd_ = 0;
  std::unique_ptr<Tree> branch_;
  std::unique_ptr<Walking> walking_;
  CkCallback done_;
  bool isShuffling_ = false;
  double busy_ = 0;            // seconds since the last report
  std::vector<double> tests_;  // of walks since the last balancing, by the lowest rung that they were for
};
