// What a program has registered for its end: one after the other, each when the one before it is over, whether that
// says so by CkContinueExit() on another PE, at once, or not at all.
#include <string>

#include "exits.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Worker workers;

namespace {
// On PE 0.
std::string events;
constexpr int kPasses = 20;

void with_an_end_elsewhere() {
  events += "a";
  workers[CkNumPes() - 1].finish();
}
void without_an_end() {
  events += "c";
  workers[CkNumPes() - 1].pass(kPasses);
}
void at_once() {
  events += "e";
  CkContinueExit();
}
void last() {
  if (events != "abcde") CkAbort("the end went as %s", events.c_str());
  CkPrintf("all checks passed\n");
  CkContinueExit();
}
}  // namespace

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* message) {
    mainProxy = thisProxy;
    int x = 0;
    CmiGetArgInt(message->argv, "-x", &x);
    const bool takes = CmiGetArgFlag(message->argv, "-q") != 0;
    if (CkGetArgv()[CkGetArgc()] != nullptr || CkGetArgv()[CkGetArgc() - 1] == nullptr)
      CkAbort("CkGetArgc() does not count what CkGetArgv() has");
    if (takes) {
      if (x != 3 || quietModeRequested != 1) CkAbort("-x is %d, ++quiet %d", x, quietModeRequested);
      CkPrintf("arguments %d %s\n", CkGetArgc(), CkGetArgv()[CkGetArgc() - 1]);
    }
    delete message;
    workers = CProxy_Worker::ckNew();
    for (auto* function : {with_an_end_elsewhere, without_an_end, at_once, last}) registerExitFn(function);
    thisProxy.leave();
  }
  void leave() { CkExit(); }
  void came() {
    events += "b";
    workers[CkNumPes() - 1].end();
  }
  void over() { events += "d"; }
};

class Worker : public CBase_Worker {
 public:
  void finish() { mainProxy.came(); }
  void end() { CkContinueExit(); }
  void pass(int left) {
    if (left == 0) return mainProxy.over();
    thisProxy[(CkMyPe() + 1) % CkNumPes()].pass(left - 1);
  }
};

#include "exits.def.h"
