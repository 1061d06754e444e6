// No +balancer and no registration: the program makes a CentralLB by ckNew(), as molecular dynamics codes do, with the
// number that says that it is the only one. From then on it decides at each AtSync. Argument: [none] makes none.
#include "CentralLB.h"
#include "made_balancer.decl.h"

CProxy_Main mainProxy;

namespace {
constexpr int piece_count = 12, rounds = 4;
}  // namespace

// All go to the next PE, but at step 2, which it leaves out.
class NextLB : public CBase_NextLB {
  int asked_ = 0;

 public:
  NextLB() : CBase_NextLB(CkLBOptions(-1)) { lbname = "NextLB"; }
  explicit NextLB(CkMigrateMessage* m) : CBase_NextLB(m) {}
  bool QueryBalanceNow(int step) override {
    if (step != asked_++) CkAbort("step %d is asked for, and not the next one", step);
    return step != 2;
  }
  void work(LDStats* stats) override {
    if (stats->objData.size() != piece_count) CkAbort("the balancer is not shown all objects");
    for (std::size_t i = 0; i < stats->objData.size(); ++i)
      stats->to_proc[i] = (stats->from_proc[i] + 1) % stats->nprocs();
  }
};

class Piece : public CBase_Piece {
  int round_ = 0, moves_ = 0;

 public:
  Piece() { usesAtSync = true; }
  explicit Piece(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | round_;
    p | moves_;
  }
  void work() { AtSync(); }
  void ckJustMigrated() override {
    ArrayElement::ckJustMigrated();
    ++moves_;
  }
  void ResumeFromSync() override {
    if (++round_ < rounds) return AtSync();
    contribute(sizeof moves_, &moves_, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, finished), mainProxy));
  }
};

class Main : public CBase_Main {
  int expected_ = 0;

 public:
  explicit Main(CkArgMsg* m) {
    mainProxy = thisProxy;
    const bool makes = m->argc == 1;
    delete m;
    if (makes) CProxy_NextLB::ckNew();
    if (makes && CkNumPes() > 1) expected_ = piece_count * (rounds - 1);
    CProxy_Piece(CProxy_Piece::ckNew(piece_count)).work();
  }
  void finished(int moves) {
    if (moves != expected_) CkAbort("%d pieces have moved, and not %d", moves, expected_);
    CkPrintf("all checks passed\n");
    CkExit();
  }
};

#include "made_balancer.def.h"
