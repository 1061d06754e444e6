// Elements go from one AtSync() to the next and send nothing themselves: what keeps the run from being quiet are the
// messages of the balancer alone. Quiescence may be seen only when the last step has ended everywhere. Each PE's
// functions for the begin and the end of a step have been called once a step then.
#include "quiet_steps.decl.h"

CProxy_Main mainProxy;

namespace {
constexpr int elements = 24, steps = 6;
}

class Main : public CBase_Main {
  int ended_ = 0;
  CProxy_Watcher watchers_;

 public:
  Main(CkArgMsg* m) {
    delete m;
    mainProxy = thisProxy;
    watchers_ = CProxy_Watcher::ckNew();
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
    watchers_.check();
  }
  void checked() { CkExit(0); }
};

class Watcher : public CBase_Watcher {
  int begun_ = 0, done_ = 0, halves_ = 0, handle_ = 0;

 public:
  Watcher() {
    LBManager* const manager = LBManager::Object();
    manager->AddStartLBFn(this, &Watcher::begin);
    handle_ = manager->AddStartLBFn([this] { ++halves_; });
    manager->AddMigrationDoneFn(this, &Watcher::end);
    manager->RemoveMigrationDoneFn(
        manager->AddMigrationDoneFn([] { CkAbort("failed: a removed function is called"); }));
  }
  void begin() { ++begun_; }
  void end() {
    if (++done_ == steps / 2) LBManager::Object()->TurnOffStartLBFn(handle_);
    if (begun_ != done_) CkAbort("failed: %d steps begun, %d ended", begun_, done_);
  }
  void check() {
    if (begun_ != steps || done_ != steps || halves_ != steps / 2)
      CkAbort("failed: of %d steps %d begun, %d ended, %d of the first half", steps, begun_, done_, halves_);
    contribute(CkCallback(CkReductionTarget(Main, checked), mainProxy));
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
