// Whose time is it? Three elements on one PE: one waits in a thread while another works; one calls the other inline,
// which is a plain call and so the caller's. With an argument: elements that ask for their time in the middle of an
// entry and leave from it, taking it along. With "rest" or "work": one that sleeps, whose time that is or, with
// +LBUseCpuTime, is not.
#include <unistd.h>

#include <string>

#include "metered.decl.h"

CProxy_Main mainProxy;
CProxy_Box boxes;
CProxy_Walker walkers;

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
    const std::string mode = m->argc > 1 ? m->argv[1] : "";
    const bool walk = mode == "walk";
    delete m;
    mainProxy = thisProxy;
    if (walk) {
      walkers = CProxy_Walker::ckNew(3);
      walkers.walk();
      return;
    }
    begin = CkWallTimer();
    boxes = CProxy_Box::ckNew(3);
    if (mode == "rest" || mode == "work") {
      boxes[0].rest(mode == "rest");
      return;
    }
    boxes[0].wait();
    boxes[1].work();
    boxes[2].outer();
  }
  void slept() { CkExit(0); }
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
  // No more than has passed since the begin was measured, and all three got at least what they used: so none got
  // another object's time.
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
  void rest(bool processor_time) {
    setObjTime(0);
    usleep(200'000);
    const double rested = getObjTime(), processor = CmiCpuTimer();
    while (CmiCpuTimer() < processor + spell) {
    }
    const double worked = getObjTime() - rested;
    if (worked < 0.99 * spell || (processor_time ? rested > 0.1 : rested < 0.2)) {
      CkPrintf("a box slept for 0.2 s and worked for %g s: measured %g s and %g s\n", spell, rested, worked);
      CkExit(1);
    }
    mainProxy.slept();
  }
};

class Walker : public CBase_Walker {
  double spent_ = 0;

  void expect(bool holds, const char* what, double measured, double passed) {
    if (holds) return;
    CkPrintf("walker %d: %s: measured %g s in %g s\n", thisIndex, what, measured, passed);
    CkExit(1);
  }

 public:
  Walker() { usesAtSync = true; }
  Walker(CkMigrateMessage*) {}
  void pup(PUP::er& p) { p | spent_; }
  // Two readings in one entry differ by what was worked between them: neither what was before the first counts, as
  // where a thread was late to begin, nor is anything behind the last charge forgotten.
  void walk() {
    spin(spell);
    const double begun = CkWallTimer(), before = getObjTime();
    spin(spell);
    const double measured = getObjTime() - before, passed = CkWallTimer() - begun;
    expect(measured >= 0.99 * spell && measured <= passed, "between two readings", measured, passed);
    setObjTime(0);
    const double reset = CkWallTimer(), rest = getObjTime(), since = CkWallTimer() - begun;
    expect(rest <= since - passed, "after setObjTime(0)", rest, since - passed);
    spin(spell);
    spent_ = CkWallTimer() - reset;
    thisProxy[thisIndex].arrived();
    migrateMe((CkMyPe() + 1) % CkNumPes());
  }
  // What it worked in the entry that it left from came with it.
  void arrived() {
    const double measured = getObjTime();
    expect(measured >= 0.99 * spent_, "after the way", measured, spent_);
    contribute(CkCallback(CkReductionTarget(Main, done), mainProxy));
  }
};

#include "metered.def.h"
