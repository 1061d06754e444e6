// DistBaseLB: a balancer whose members agree by messages; each gets what its own PE has measured. C++17: reached from
// DistBaseLB.h.
#pragma once
#include "runtime/loadbalance/classic/base_lb.h"

PERIAPT_BALANCER_BASE(DistBaseLB, BaseLB)

class DistBaseLB : public BaseLB {
 public:
  struct LDStats {
    int from_pe = 0;
    LBRealType total_walltime = 0, idletime = 0, bg_walltime = 0, obj_walltime = 0;
    LBRealType total_cputime = 0, bg_cputime = 0, obj_cputime = 0;
    int pe_speed = 1;
    bool available = true;
    bool move = true;
    std::vector<LDObjData> objData;
    std::vector<LDCommData> commData;
    void clearBgLoad() { bg_walltime = bg_cputime = idletime = 0; }
  };

  explicit DistBaseLB(const CkLBOptions& options) : BaseLB(options) { lbname = "DistBaseLB"; }
  explicit DistBaseLB(CkMigrateMessage* m) : BaseLB(m) { lbname = "DistBaseLB"; }

  // --- for the runtime ---
  bool impl_wants(int step) override { return QueryBalanceNow(step); }
  std::vector<int> impl_solve(const periapt::loadbalance::LoadDatabase& database) override;
  // Calls Strategy() with what this PE has measured.
  void impl_begin(const periapt::loadbalance::LoadDatabase& own);
  // Strategy() was called, and ProcessMigrationDecision() not yet.
  bool impl_decides() const { return decides_; }

 protected:
  // Asked on the PE of +LBCentPE, for all. False: nothing is decided at this step, and loads are counted on to the
  // next.
  virtual bool QueryBalanceNow(int step) { return true; }
  // Asked on every PE when it has decided. False: nothing leaves it in this step.
  virtual bool QueryMigrateStep(int step) { return true; }
  // To be overridden: called on every PE. Sooner or later each member calls ProcessMigrationDecision() once.
  virtual void Strategy(const LDStats* const stats);
  // What leaves this PE. Takes the message.
  void ProcessMigrationDecision(LBMigrateMsg* message);

  LDStats myStats;
  int migrates_expected = -1;

 private:
  bool decides_ = false;
};
