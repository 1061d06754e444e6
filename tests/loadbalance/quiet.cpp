// Elements go from one AtSync() to the next and send nothing themselves: what keeps the run from being quiet are the
// messages of the balancer alone. Quiescence may be seen only when the last step has ended everywhere.
#include "quiet_steps.decl.h"

CProxy_Main mainProxy;

namespace {
constexpr int elements = 24, steps = 6;
}

class Main : public CBase_Main {
  int ended_ = 0;

 public:
  Main(CkArgMsg* m) {
    delete m;
    mainProxy = thisProxy;
    CProxy_Worker workers = CProxy_Worker::ckNew(elements);
    workers.go();
    CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
  }
  void ended() { ++ended_; }
  void quiet() {
    if (ended_ != elements) {
      CkPrintf("failed: quiescence, and %d of %d elements have ended their %d steps\n", ended_, elements, steps);
      CkExit(1);
    }
    CkExit(0);
  }
};

class Worker : public CBase_Worker {
  int step_ = 0;

 public:
  Worker() { usesAtSync = true; }
  explicit Worker(CkMigrateMessage*) {}
  void pup(PUP::er& p) { p | step_; }
  void go() { AtSync(); }
  void ResumeFromSync() {
    if (++step_ < steps)
      AtSync();
    else
      mainProxy.ended();
  }
};

#include "quiet_steps.def.h"
