// Balancing at any time (+LBPeriod, LBSetPeriod(), CkStartLB()), while elements send tokens to each other, hear
// broadcasts, contribute, wait in threads, are inserted and destroyed. Everything is counted.
//
//   any_time COUNT HOPS [program | start | sync | late_sync | exit | negative] [+LBPeriod ...] [+balancer ...]
//
// "program" sets the period itself, "start" asks for each step; "exit" ends the run in the middle of it all; with
// "sync" an element uses AtSync, with "late_sync" it is there before the period is set. Exits 0 when all is right.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "any_time.decl.h"

CProxy_Main mainProxy;
CProxy_Cell cells;
CProxy_Mate mates;
int count;
bool starts;  // cells ask for balancings

namespace {
constexpr int shouts = 5;
constexpr double period = 1e-3;

void check(bool right, const std::string& what) {
  if (right) return;
  CkPrintf("failed: %s\n", what.c_str());
  CkExit(1);
}
void spin(double seconds) {
  const double end = CkWallTimer() + seconds;
  while (CkWallTimer() < end) {
  }
}
}  // namespace

class Main : public CBase_Main {
 public:
  Main(CkArgMsg* m) {
    count = std::atoi(m->argv[1]);
    hops_ = std::atoi(m->argv[2]);
    if (m->argc > 3) mode_ = m->argv[3];
    check(m->argc <= 4, std::string(m->argc > 4 ? m->argv[4] : "") + " is left on the command line");
    delete m;
    mainProxy = thisProxy;
    starts = mode_ == "start";
    if (mode_ == "negative") LBSetPeriod(-3);
    CProxy_Synced synced;
    if (mode_ == "late_sync") synced = CProxy_Synced::ckNew(4);
    cells = CProxy_Cell::ckNew();
    for (int i = 0; i < count; ++i) cells[i].insert();
    cells.doneInserting();
    CkArrayOptions bound(count);
    bound.bindTo(cells);
    mates = CProxy_Mate::ckNew(bound);
    stubborn_ = CProxy_Stubborn::ckNew(3);
    for (int i = 0; i < 3; ++i) stubborn_[i].look(-1);
    if (mode_ == "sync") synced = CProxy_Synced::ckNew(4);
    if (mode_ == "late_sync") synced.meet();
    check(mode_.empty() == (LBManager::GetLBPeriod() > 0) || mode_ == "exit" || mode_ == "sync",
          "the period is " + std::to_string(LBManager::GetLBPeriod()));
    if (mode_ == "program" || mode_ == "late_sync") LBSetPeriod(period);
    for (int i = 0; i < count; ++i) cells[i].token(hops_);
    for (int i = 0; i < count; i += 3) cells[i].wait(hops_);
    for (int i = 1; i <= shouts; ++i) cells.shout(i);
    thisProxy.later();
    CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
  }
  // Insertion goes on.
  void later() {
    if (mode_ == "exit" && later_ == 40) CkExit(0);
    if (++later_ <= 100) {
      if (later_ % 10 == 0) stubborn_[2 + later_ / 10].insert();
      thisProxy.later();
    }
  }
  void reduced(int n, const long long* x) {
    check(n == 1 && x[0] == count, "a reduction brings " + std::to_string(x[0]));
    ++reduced_;
  }
  void quiet() {
    if (++quiet_ > 1) return;
    check(reduced_ == shouts, std::to_string(reduced_) + " reductions have ended");
    cells.check();
  }
  void checked(int received, int shouts_heard, int moves) {
    received_ += received;
    moves_ += moves;
    check(shouts_heard == shouts, "a cell has heard " + std::to_string(shouts_heard) + " broadcasts");
    if (++checked_ < count) return;
    const int tokens = count + (count + 2) / 3;
    check(received_ == tokens * (hops_ + 1), std::to_string(received_) + " tokens have come");
    check(CkNumPes() == 1 || moves_ > 0, "nothing has moved");
    check(LBManager::Object()->step() > 0, "there was no balancing");
    LBSetPeriod(-1);
    CkExit(0);
  }

 private:
  CProxy_Stubborn stubborn_;
  std::string mode_;
  int hops_ = 0, later_ = 0, reduced_ = 0, quiet_ = 0, checked_ = 0, received_ = 0, moves_ = 0;
};

class Cell : public CBase_Cell {
 public:
  Cell() {}
  Cell(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | received_;
    p | shouts_;
    p | moves_;
  }
  void ckJustMigrated() override { ++moves_; }
  void token(int hops) {
    ++received_;
    spin(20e-6);
    if (starts && hops % 8 == 0) CkStartLB();
    mates[thisIndex].note();
    if (hops > 0) cells[(thisIndex * 7 + hops * 3 + 1) % count].token(hops - 1);
  }
  // A thread of it begins before the first step and ends behind it: it stays meanwhile.
  void wait(int hops) {
    ++received_;
    const int here = CkMyPe();
    for (int i = 0; i < 3; ++i) {
      CthYield();
      check(CkMyPe() == here, "an element moves under its thread");
    }
    if (hops > 0) cells[(thisIndex + 1) % count].token(hops - 1);
  }
  void shout(int number) {
    ++shouts_;
    check(number == shouts_, "broadcast " + std::to_string(number) + " comes as number " + std::to_string(shouts_));
    const long long one = 1;
    contribute(sizeof one, &one, CkReduction::sum_long_long, CkCallback(CkReductionTarget(Main, reduced), mainProxy));
  }
  void check() { mates[thisIndex].check(); }
  void answer() { mainProxy.checked(received_, shouts_, moves_); }

 private:
  void check(bool right, const std::string& what) { ::check(right, what); }
  int received_ = 0, shouts_ = 0, moves_ = 0;
};

class Mate : public CBase_Mate {
 public:
  Mate() {}
  Mate(CkMigrateMessage*) {}
  void note() {}
  void check() {
    Cell* cell = cells[thisIndex].ckLocal();
    ::check(cell != nullptr, "a mate is elsewhere than its cell");
    cell->answer();
  }
};

// Stays where it is, and some are destroyed at once.
class Stubborn : public CBase_Stubborn {
 public:
  Stubborn() {
    setMigratable(false);
    if (thisIndex >= 3) thisProxy[thisIndex].look(CkMyPe());
  }
  Stubborn(CkMigrateMessage*) {}
  void look(int pe) {
    check(pe < 0 || pe == CkMyPe(), "one moves that is not migratable");
    if (thisIndex % 2 == 1) ckDestroy();
  }
};

class Synced : public CBase_Synced {
 public:
  Synced() { usesAtSync = true; }
  Synced(CkMigrateMessage*) {}
  void meet() { AtSync(); }
};

#include "any_time.def.h"
