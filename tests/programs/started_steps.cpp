// A client on each PE waits for the end of a step that StartLB() begins, and never comes to the barrier. In every other
// round nothing runs that could be measured. Usage: started_steps [all|looked|relay|ends|off|forgotten]. all: all PEs
// begin each step; else PE 0 does, and the others, too, while they are in it: that begins no second one. looked: there
// is no client, and right before a step is begun the coordinator looks whether all have come to the barrier. relay,
// ends: when the last PE is resumed, or told the end, it has PE 1 begin the next step, which may not know of the end
// yet. off: nothing moves. forgotten: clients wait for a second step that never begins.
#include <string>
#include <vector>

#include "LBManager.h"
#include "runtime/loadbalance/balancer.h"
#include "started_steps.decl.h"

CProxy_Main mainProxy;
CProxy_Watcher watchers;
CProxy_Piece pieces;
bool all_begin = false, looked = false, relayed = false, by_ends = false, off = false, forgotten = false;

namespace {
constexpr int pieces_a_pe = 2, rounds = 6, relayed_rounds = 50, asked_again = 300;

void require(bool right, const char* what) {
  if (!right) CkAbort("PE %d: %s\n", CkMyPe(), what);
}
}  // namespace

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    const std::string mode = m->argc > 1 ? m->argv[1] : "";
    all_begin = mode == "all";
    looked = mode == "looked";
    by_ends = mode == "ends";
    relayed = by_ends || mode == "relay";
    off = mode == "off";
    forgotten = mode == "forgotten";
    delete m;
    mainProxy = thisProxy;
    watchers = CProxy_Watcher::ckNew();
    pieces = CProxy_Piece::ckNew(pieces_a_pe * CkNumPes());
    watchers.go();
  }
  // Rounds, steps begun, steps ended.
  void finished(int n, int* counts) {
    const int expected = rounds * CkNumPes();
    require(n == 3 && counts[0] == expected, "each client is resumed in each round");
    require(counts[1] == counts[2], "a step has no end");
    require(all_begin || counts[1] == expected, "as many steps as were begun");
    pieces.tell();
  }
  void moved(int moves) {
    const int expected = CkNumPes() > 1 && !off ? rounds * pieces_a_pe * CkNumPes() : 0;
    require(all_begin || moves == expected, "each piece moves in each step");
    CkPrintf("all checks passed\n");
    CkExit();
  }
};

class Watcher : public CBase_Watcher {
  bool waits_ = false, in_step_ = false;
  int round_ = 0, begun_ = 0, ended_ = 0;

  static bool is_last() { return CkMyPe() == CkNumPes() - 1; }

 public:
  Watcher() {
    LBManager* const manager = LBManager::Object();
    if (!looked && !by_ends && (!relayed || is_last())) manager->AddLocalBarrierClient(this, &Watcher::resume);
    manager->AddStartLBFn(this, &Watcher::begin);
    manager->AddMigrationDoneFn(this, &Watcher::end);
  }
  void go() {
    if (relayed) {
      if (is_last()) thisProxy[CkNumPes() > 1].begin_next();
      return;
    }
    if (round_ % 2 == 1 && CkMyPe() == 0) pieces.work();
    waits_ = true;
    contribute(CkCallback(CkReductionTarget(Watcher, together), watchers));
  }
  void together() {
    if ((!all_begin && CkMyPe() != 0) || (forgotten && round_ > 0)) return;
    if (looked) LBManager::Object()->LocalBarrierOn();
    LBManager::Object()->StartLB();
  }
  void begin() {
    require(!in_step_, "a step begins in another one");
    in_step_ = true;
    ++begun_;
    if (!all_begin && !relayed) thisProxy[CkMyPe()].ask_again(asked_again);
  }
  void begin_next() { LBManager::Object()->StartLB(); }
  // Once all know that the step is over, though not that its end is told here, one more would begin.
  void ask_again(int hops) {
    const auto& balancer = periapt::loadbalance::Balancer::of(*periapt::Pe::current());
    if (!in_step_ || static_cast<int>(balancer.asks_for()) != balancer.balancings() + 1) return;
    LBManager::Object()->StartLB();
    if (hops > 0) thisProxy[CkMyPe()].ask_again(hops - 1);
  }
  void end() {
    require(in_step_, "an end that had no beginning");
    in_step_ = false;
    ++ended_;
    if (looked || (by_ends && is_last())) resume();
  }
  void resume() {
    require(!in_step_, "it is resumed within a step");
    if (relayed) {
      if (++round_ < relayed_rounds) return go();
      CkPrintf("all checks passed\n");
      return CkExit();
    }
    // Where all begin steps, a PE may be late and begin one more.
    require(all_begin || waits_, "it is resumed where it doesn't wait");
    if (!waits_) return;
    waits_ = false;
    if (++round_ < rounds) return go();
    const std::vector<int> counts{round_, begun_, ended_};
    contribute(counts, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, finished), mainProxy));
  }
};

class Piece : public CBase_Piece {
  int moves_ = 0;

 public:
  Piece() = default;
  explicit Piece(CkMigrateMessage*) {}
  void pup(PUP::er& p) override { p | moves_; }
  void work() {}
  void ckJustMigrated() override {
    ArrayElement::ckJustMigrated();
    ++moves_;
  }
  void tell() {
    contribute(sizeof moves_, &moves_, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, moved), mainProxy));
  }
};

#include "started_steps.def.h"
