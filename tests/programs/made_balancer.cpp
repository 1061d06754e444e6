// No +balancer and no registration: the program makes a CentralLB by ckNew(), as molecular dynamics codes do, with the
// number that says that it is the only one. From then on it decides at each AtSync. Arguments: none makes
// none; off, with +LBOff, has one that is not asked; late makes it when the second step has begun, ended when the first
// is over; two makes one more on the last PE at the same time; runners, with +LBPeriod, has elements that do not use
// AtSync; declined has steps of CkStartLB() which it leaves out, started one that it decides, asked for while PE 1 is
// to make its member, which waits there for a group, relayed one that is asked for where it is not known yet.
// forgotten asks for a step, and makes none.
#include <string>
#include <vector>

#include "CentralLB.h"
#include "made_balancer.decl.h"

CProxy_Main mainProxy;
bool relayed = false;

namespace {
constexpr int piece_count = 12, rounds = 4;
bool declines = false;  // on PE 0 it matters
}  // namespace

// All go to the next PE, but at step 2, which it leaves out. Every PE is told the end of the same steps.
class NextLB : public CBase_NextLB {
  int asked_ = LBManager::Object()->step();

 public:
  NextLB() : CBase_NextLB(CkLBOptions(-1)) { lbname = "NextLB"; }
  explicit NextLB(CkMigrateMessage* m) : CBase_NextLB(m) {}
  bool QueryBalanceNow(int step) override {
    if (step != asked_++) CkAbort("step %d is asked for, and not the next one", step);
    return !declines && step != 2;
  }
  void work(LDStats* stats) override {
    if (stats->objData.size() != piece_count) CkAbort("the balancer is not shown all objects");
    for (std::size_t i = 0; i < stats->objData.size(); ++i)
      stats->to_proc[i] = (stats->from_proc[i] + 1) % stats->nprocs();
    mainProxy.decides(thisgroup);
  }
  void LoadbalanceDone(int balancing) override {
    const std::vector<int> steps{LBManager::Object()->step(), -LBManager::Object()->step(), balancing};
    contribute(steps, CkReduction::max_int, CkCallback(CkReductionTarget(Main, told), mainProxy));
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

// Run until they have moved twice.
class Runner : public CBase_Runner {
  int moves_ = 0;
  bool told_ = false;

 public:
  Runner() = default;
  explicit Runner(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | moves_;
    p | told_;
  }
  void run() {
    thisProxy[thisIndex].run();
    if (moves_ < 2 || told_) return;
    told_ = true;
    contribute(CkCallback(CkReductionTarget(Main, enough), mainProxy));
  }
  void ckJustMigrated() override {
    ArrayElement::ckJustMigrated();
    ++moves_;
  }
};

class Main : public CBase_Main {
  int expected_ = 0, begun_ = 0, told_ = 0, declined_ = 0;
  CkGroupID decider_{0};
  bool started_ = false, forgets_ = false;
  CProxy_Maker makers_;

 public:
  explicit Main(CkArgMsg* m) {
    mainProxy = thisProxy;
    const std::string what = m->argc > 1 ? m->argv[1] : "";
    delete m;
    declines = what == "declined";
    if (declines) LBManager::Object()->AddMigrationDoneFn([this] { ended_without_moves(); });
    forgets_ = what == "forgotten";
    relayed = what == "relayed";
    started_ = what == "started" || relayed || forgets_;
    if (what == "ended")
      LBManager::Object()->AddMigrationDoneFn([this] {
        if (++begun_ == 1) CProxy_NextLB::ckNew();
      });
    else if (what == "late")
      LBManager::Object()->AddStartLBFn([this] {
        if (++begun_ == 2) CProxy_NextLB::ckNew();
      });
    else if (what != "none" && !started_)
      CProxy_NextLB::ckNew();
    if (declines || started_) {
      CProxy_Runner::ckNew(piece_count);
      if (relayed) makers_ = CProxy_Maker::ckNew();
      thisProxy.begin();
      return;
    }
    if (what == "two") {
      expected_ = CkNumPes() > 1 ? piece_count * (rounds - 1) : 0;
      CProxy_Maker::ckNew();
      return;
    }
    if (what == "runners") {
      CProxy_Runner(CProxy_Runner::ckNew(piece_count)).run();
      return;
    }
    if (what != "none" && what != "off" && CkNumPes() > 1)
      expected_ = piece_count * (what == "late" || what == "ended" ? rounds - 2 : rounds - 1);
    CProxy_Piece(CProxy_Piece::ckNew(piece_count)).work();
  }
  void begin() {
    if (started_ && !forgets_) {
      CkEntryOptions behind;
      behind.setGroupDepID(CProxy_Slow::ckNew());
      CProxy_NextLB::ckNew(&behind);
    }
    if (relayed) return makers_[1].relay(2);
    CkStartLB();
  }
  void all_made() { CProxy_Piece(CProxy_Piece::ckNew(piece_count)).work(); }
  void decides(CkGroupID balancer) {
    if (decider_.idx != 0 && balancer.idx != decider_.idx) CkAbort("two balancers decide");
    decider_ = balancer;
  }
  void told(int n, int* steps) {
    ++told_;
    if (n != 3 || steps[0] != -steps[1]) CkAbort("PEs are told the end of different steps");
    if (steps[2] != (steps[0] != 3 && !declines)) CkAbort("step %d: balanced or not", steps[0] - 1);
    if (declines) check_declined();
    if (started_) enough();
  }
  void ended_without_moves() {
    ++declined_;
    check_declined();
  }
  void check_declined() {
    if (declined_ != told_) return;
    if (told_ == 3) return enough();
    CkStartLB();
  }
  void enough() {
    CkPrintf("all checks passed\n");
    CkExit();
  }
  void finished(int moves) {
    if (moves != expected_) CkAbort("%d pieces have moved, and not %d", moves, expected_);
    CkPrintf("all checks passed\n");
    CkExit();
  }
};

class Maker : public CBase_Maker {
 public:
  Maker() {
    if (relayed) return;
    if (CkMyPe() == CkNumPes() - 1) CProxy_NextLB::ckNew();
    contribute(CkCallback(CkReductionTarget(Main, all_made), mainProxy));
  }
  void relay(int pe) { thisProxy[pe].start(); }
  void start() { CkStartLB(); }
};

// On one PE the step's messages come while it is made; relayed: the word that begins the step.
class Slow : public CBase_Slow {
 public:
  Slow() {
    const double begin = CkWallTimer();
    while (CkMyPe() == (relayed ? 2 : 1) && CkWallTimer() - begin < 0.1) CsdSchedulePoll();
  }
};

#include "made_balancer.def.h"
