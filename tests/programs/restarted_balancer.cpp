// The program's own balancer decides a step of CkStartLB(), is written to a checkpoint, and decides the next step, in
// the same run and in one that is started from there. Usage: restarted_balancer FOLDER
#include <cstddef>
#include <string>

#include "CentralLB.h"
#include "restarted_balancer.decl.h"

CProxy_Main mainProxy;

namespace {
int decided = 0;  // in this run, on PE 0
}

class NextLB : public CBase_NextLB {
 public:
  NextLB() : CBase_NextLB(CkLBOptions(-1)) { lbname = "NextLB"; }
  explicit NextLB(CkMigrateMessage* m) : CBase_NextLB(m) { lbname = "NextLB"; }
  void work(LDStats* stats) override {
    ++decided;
    for (std::size_t i = 0; i < stats->objData.size(); ++i)
      stats->to_proc[i] = (stats->from_proc[i] + 1) % stats->nprocs();
  }
};

class Piece : public CBase_Piece {
 public:
  Piece() = default;
  explicit Piece(CkMigrateMessage*) {}
};

class Main : public CBase_Main {
  std::string folder_;
  bool written_ = false;

 public:
  explicit Main(CkArgMsg* m) {
    mainProxy = thisProxy;
    folder_ = m->argv[1];
    delete m;
    CProxy_Piece::ckNew(8);
    CProxy_NextLB::ckNew();
    tell_of_ends();
    thisProxy.begin();
  }
  explicit Main(CkMigrateMessage* m) : CBase_Main(m) { tell_of_ends(); }
  void pup(PUP::er& p) override {
    p | folder_;
    p | written_;
  }
  void begin() { CkStartLB(); }
  void over() {
    if (decided == 0) CkAbort("the balancer is not asked");
    if (!written_) {
      written_ = true;
      return CkStartCheckpoint(folder_.c_str(), CkCallback(CkIndex_Main::go_on(), thisProxy));
    }
    CkPrintf("all checks passed\n");
    CkExit();
  }
  void go_on() {
    decided = 0;
    CkStartLB();
  }

 private:
  static void tell_of_ends() {
    LBManager::Object()->AddMigrationDoneFn([] { mainProxy.over(); });
  }
};

#include "restarted_balancer.def.h"
