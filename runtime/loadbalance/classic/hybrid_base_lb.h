// HybridBaseLB: a balancer of groups of PEs: work() is called for the machine as a whole, whose PEs are then the
// groups, and then for each group. The member on one PE plays the roots of all groups. C++17: reached from
// HybridBaseLB.h.
#pragma once
#include "runtime/loadbalance/classic/central_lb.h"
#include "runtime/loadbalance/classic/hierarchy_tree.h"

PERIAPT_BALANCER_BASE(HybridBaseLB, BaseLB)

class HybridBaseLB : public BaseLB {
 public:
  explicit HybridBaseLB(const CkLBOptions& options);
  explicit HybridBaseLB(CkMigrateMessage* m);
  HybridBaseLB(const HybridBaseLB&) = delete;
  void operator=(const HybridBaseLB&) = delete;
  ~HybridBaseLB() override;

  bool impl_wants(int step) override { return QueryBalanceNow(step); }
  std::vector<int> impl_solve(const periapt::loadbalance::LoadDatabase& database) override;

 protected:
  struct LevelData {
    int parent = -1;
    std::vector<int> children;
    int nChildren = 0;
    LDStats* statsData = nullptr;
  };

  // Both are asked on the PE of +LBCentPE, for all groups. False: no work() at this step, and loads are counted on to
  // the next; all has been decided, and nothing moves.
  virtual bool QueryBalanceNow(int step) { return true; }
  virtual bool QueryMigrateStep(int step) { return true; }
  // To be overridden. Writes stats->to_proc; at level 1 PEs are those of a group, above they are the parts of the level
  // below. An object that came to a part from outside has from_proc[i] == nprocs().
  virtual void work(LDStats* stats) {}
  virtual LBMigrateMsg* Strategy(LDStats* stats) {
    work(stats);
    return nullptr;
  }
  // What the PE that is being asked has measured; a balancer may change it.
  virtual CLBStatsMsg* AssembleStats();
  // The groups. A constructor may delete it and put another there: one group where there are up to four PEs, otherwise
  // a ThreeLevelTree.
  MyHierarchyTree* tree = nullptr;
  void initTree() {}
  // The root of a level always knows all objects below it, as with FULL.
  enum StatsStrategy { FULL, SHRINK, SHRINK_NULL };
  StatsStrategy statsStrategy = FULL;
  int shrinklevel = 0;

  std::vector<LevelData*> levelData;  // of the group whose work() runs, from level 0 up
  int currentLevel = 0;

 private:
  struct Descent;
  void decide(LDStats& stats, int level, const std::vector<int>& children);
  LDStats gather(const periapt::loadbalance::LoadDatabase& database);

  LDStats* all_ = nullptr;
  int leaf_ = 0;
};
