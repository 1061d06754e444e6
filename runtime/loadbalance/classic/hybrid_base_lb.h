// HybridBaseLB: a balancer of groups of PEs: work() is called for the machine as a whole, whose PEs are then the
// groups, and then for each group. The member on one PE plays the roots of all groups. C++17: reached from
// HybridBaseLB.h.
#pragma once
#include "runtime/loadbalance/classic/central_lb.h"

PERIAPT_BALANCER_BASE(HybridBaseLB, BaseLB)

class HybridBaseLB : public BaseLB {
 public:
  explicit HybridBaseLB(const CkLBOptions& options) : BaseLB(options) { lbname = "HybridBaseLB"; }
  explicit HybridBaseLB(CkMigrateMessage* m) : BaseLB(m) { lbname = "HybridBaseLB"; }

  bool impl_wants(int step) override { return QueryBalanceNow(step); }
  std::vector<int> impl_solve(const periapt::loadbalance::LoadDatabase& database) override;

 protected:
  struct LevelData {
    int parent = -1;
    std::vector<int> children;
    int nChildren = 0;
    LDStats* statsData = nullptr;
  };

  virtual bool QueryBalanceNow(int step) { return true; }
  virtual bool QueryMigrateStep(int step) { return true; }
  // To be overridden. Writes stats->to_proc; at level 1 PEs are those of a group, at level 2 they are the groups. An
  // object that came to a group from outside has from_proc[i] == nprocs().
  virtual void work(LDStats* stats) {}
  virtual LBMigrateMsg* Strategy(LDStats* stats) {
    work(stats);
    return nullptr;
  }
  // What the PE that is being asked has measured; a balancer may change it.
  virtual CLBStatsMsg* AssembleStats();
  void initTree() {}

  std::vector<LevelData*> levelData;  // of the group whose work() runs, from level 0 up
  int currentLevel = 0;

 private:
  void decide(LDStats& stats, int level, const std::vector<int>& children);
  LDStats gather(const periapt::loadbalance::LoadDatabase& database);

  LDStats* all_ = nullptr;
  int leaf_ = 0;
};
