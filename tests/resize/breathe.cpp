// A program that is shrunk and expanded while it runs, for resize_test.py. Cells on a ring pass their values on, all
// wait in AtSync, and a sum is printed a round: the same whatever the PEs are. A round waits for a file if one is named
// for it, so that a request can come before it ends.
//
// breathe ROUNDS FOLDER: behind round r it waits as long as there is a file FOLDER/wait.r. The first process that ends
// and finds a file FOLDER/die removes it and is killed. Where there is a file FOLDER/threads, a thread waits on PE 0.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "breathe.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Cell cells;
/*readonly*/ CProxy_Ledger ledger;
/*readonly*/ int rounds;
/*readonly*/ std::string folder;

constexpr int count = 64;  // of cells; 7 has no divisor in common with it

void watch_its_end() {
  std::atexit([] {
    if (unlink((folder + "/die").c_str()) == 0) kill(getpid(), SIGKILL);
  });
}

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    mainProxy = thisProxy;
    rounds = std::stoi(m->argv[1]);
    folder = m->argv[2];
    delete m;
    registerExitFn([] { CkPrintf("breathe: the end\n"); });
    ledger = CProxy_Ledger::ckNew();
    cells = CProxy_Cell::ckNew(count);
    if (unlink((folder + "/threads").c_str()) == 0) ledger[0].wait_in_vain();
    cells.go(1);
  }
  explicit Main(CkMigrateMessage* m) : CBase_Main(m) {
    mainProxy = thisProxy;
    registerExitFn([] { CkPrintf("breathe: the end\n"); });
  }

  void summed(long sum) {
    ++round_;
    CkPrintf("breathe: round %d, sum %ld, %d PEs\n", round_, sum, CkNumPes());
    if (round_ == rounds) return CkExit(7);
    // What is waited for is another process, which needs this one to answer requests meanwhile.
    CcdCallFnAfter([](void* self, double) { static_cast<Main*>(self)->next(); }, this, 1);
  }
  void pup(PUP::er& p) { p | round_; }

 private:
  void next() {
    struct stat found {};
    if (stat((folder + "/wait." + std::to_string(round_)).c_str(), &found) != 0) return cells.go(round_ + 1);
    CcdCallFnAfter([](void* self, double) { static_cast<Main*>(self)->next(); }, this, 10);
  }

  int round_ = 0;
};

class Ledger : public CBase_Ledger {
 public:
  Ledger() = default;
  explicit Ledger(CkMigrateMessage* m) : CBase_Ledger(m) {}
  void pup(PUP::er& p) { p | entries; }
  void wait_in_vain() { CkWaitFuture(CkCreateFuture()); }
  int entries = 0;
};

class Cell : public CBase_Cell {
 public:
  Cell() : value_(thisIndex + 1), weight_(1000, thisIndex) { usesAtSync = true; }
  explicit Cell(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | round_;
    p | value_;
    p | next_;
    p | weight_;
  }

  void go(int round) {
    ++ledger.ckLocalBranch()->entries;
    thisProxy((thisIndex * 7 + round) % count).shift(round, value_ * 3 + rounds);
  }
  void shift(int round, long value) {
    round_ = round;
    next_ = value % 1000003;  // what this cell passes on may still be to go
    for (std::size_t i = 0; i < weight_.size(); ++i)
      if (weight_[i] != thisIndex) CkAbort("a cell has another's memory");
    AtSync();
  }
  void ResumeFromSync() override {
    value_ = next_;
    long value = value_ * (thisIndex + 1);
    contribute(sizeof value, &value, CkReduction::sum_long, CkCallback(CkReductionTarget(Main, summed), mainProxy));
  }

 private:
  int round_ = 0;
  long value_ = 0, next_ = 0;
  std::vector<int> weight_;
};

#include "breathe.def.h"
