// Whose time is it? Three elements on one PE: one waits in a thread while another works; one calls the other inline,
// which is a plain call and so the caller's.
#include "metered.decl.h"

CProxy_Main mainProxy;
CProxy_Box boxes;

namespace {
constexpr double spell = 20e-3;
void spin(double seconds) {
  const double end = CkWallTimer() + seconds;
  while (CkWallTimer() < end) {
  }
}
double begin;
CthThread sleeper;
}  // namespace

class Main : public CBase_Main {
 public:
  Main(CkArgMsg* m) {
    delete m;
    mainProxy = thisProxy;
    begin = CkWallTimer();
    boxes = CProxy_Box::ckNew(3);
    boxes[0].wait();
    boxes[1].work();
    boxes[2].outer();
  }
  void half() { CthAwaken(sleeper); }
  void done() { CkExit(0); }
};

class Box : public CBase_Box {
 public:
  Box() { usesAtSync = true; }
  Box(CkMigrateMessage*) {}
  // Box 0: works before and after it waits.
  void wait() {
    spin(spell);
    sleeper = CthSelf();
    CthSuspend();
    spin(spell);
    thisProxy.check();
  }
  // Box 1: works while box 0 waits.
  void work() { spin(spell); }
  void nested() { spin(spell); }
  // Box 2: works, and makes box 1 work in the middle of it.
  void outer() {
    spin(spell);
    thisProxy[1].nested();
    spin(spell);
    mainProxy.half();
  }
  // No more than has passed since the begin was measured, and all three got at least what they used: so nobody got
  // anybody else's time.
  void check() {
    static double sum = 0;
    const double mine = getObjTime();
    const double used = (thisIndex == 0 ? 2 : thisIndex == 1 ? 1 : 3) * spell;
    if (mine < used) {
      CkPrintf("box %d worked for %g s, measured %g s\n", thisIndex, used, mine);
      CkExit(1);
    }
    sum += mine;
    const double passed = CkWallTimer() - begin;
    if (sum > passed) {
      CkPrintf("%g s measured in %g s\n", sum, passed);
      CkExit(1);
    }
    setObjTime(0.5);
    if (getObjTime() < 0.5) CkExit(1);
    contribute(CkCallback(CkReductionTarget(Main, done), mainProxy));
  }
};

#include "metered.def.h"
