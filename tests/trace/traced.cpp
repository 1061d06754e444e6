// A program whose trace is known: what it does is the same in every layout, and trace_test.py knows how often each
// entry runs.
#include "traced.decl.h"
#if !CMK_TRACE_ENABLED
#error programs leave out what they record of their own
#endif

CProxy_Main main_proxy;
CProxy_Line line;
CProxy_Plane plane;
CProxy_Box box;
CProxy_Crowd crowd;
int landmark;

namespace {
constexpr int length = 12, event_named = 77, statistic = 3;
void work(int microseconds) {
  const double until = CkWallTimer() + 1e-6 * microseconds;
  while (CkWallTimer() < until) {
  }
}
}  // namespace

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    delete m;
    main_proxy = thisProxy;
    landmark = traceRegisterUserEvent("landmark");
    traceRegisterUserEvent("a named one", event_named);
    traceRegisterUserStat("height", statistic);
    crowd = CProxy_Crowd::ckNew();
    line = CProxy_Line::ckNew(length);
    plane = CProxy_Plane::ckNew(3, 4);
    box = CProxy_Box::ckNew();
    for (int i = 0; i < 2; ++i)
      for (int k = 0; k < 2; ++k) box(i, 0, k, 0).insert();
    box.doneInserting();
    for (int i = 0; i < length; ++i) line[i].step(i);
  }
  void stepped() { crowd.hear(7); }
  void heard() { plane.visit(); }
  void visited() { box.open(); }
  void opened() {
    line.wait();
    for (int i = 0; i < length; ++i) line[i].wake();
  }
  void waited() { line.talk(); }
  void talked() { thisProxy.leave(0); }
  void leave(int) { CkExit(); }
};

class Crowd : public CBase_Crowd {
 public:
  void hear(int word) {
    const double before = CkWallTimer();
    work(200);
    traceUserEvent(landmark);
    traceUserBracketEvent(event_named, before, CkWallTimer());
    traceBeginUserBracketEvent(event_named);
    traceEndUserBracketEvent(event_named);
    traceUserSuppliedData(word);
    traceUserSuppliedNote("said\nin two lines");
    traceMemoryUsage();
    updateStat(statistic, 1.5);
    updateStatPair(statistic, 2.5, 10);
    contribute(CkCallback(CkReductionTarget(Main, heard), main_proxy));
  }
};

class Line : public CBase_Line {
  Line_SDAG_CODE public : Line() = default;
  explicit Line(CkMigrateMessage*) {}
  void step(int) {
    work(300);
    thisProxy[thisIndex].within();
    int value = 3;
    if (thisProxy[thisIndex].nearby(&value) != 4 || value != 5) CkAbort("a [local] entry is not what the method is");
    thisProxy[thisIndex].unseen();
    thisProxy[(thisIndex + 1) % length].within();
    work(100);
    thisProxy[thisIndex].secret();
    CkDisableTracing(CkIndex_Line::hidden());
    CkEnableTracing(CkIndex_Line::shown());
    if (CkDisableTracing(CkIndex_Line::hidden())) CkAbort("an entry is traced right after CkDisableTracing()");
    thisProxy[thisIndex].hidden();
    thisProxy[thisIndex].shown();
    contribute(CkCallback(CkReductionTarget(Main, stepped), main_proxy));
  }
  void within() { work(50); }
  int nearby(int* value) {
    work(20);
    *value += 2;
    return *value - 1;
  }
  void unseen() {}
  void secret() {}
  void hidden() {}
  void shown() {}
  // The thread stops until wake() has come, which may be there before.
  void wait() {
    if (!woken_) {
      waiting_ = CthSelf();
      CthSuspend();
    }
    contribute(CkCallback(CkReductionTarget(Main, waited), main_proxy));
  }
  void wake() {
    woken_ = true;
    if (waiting_) CthAwaken(waiting_);
  }
  void greet() { work(100); }

 private:
  bool woken_ = false;
  CthThread waiting_ = nullptr;
};

class Plane : public CBase_Plane {
 public:
  Plane() = default;
  explicit Plane(CkMigrateMessage*) {}
  void visit() { contribute(CkCallback(CkReductionTarget(Main, visited), main_proxy)); }
};

class Box : public CBase_Box {
 public:
  Box() = default;
  explicit Box(CkMigrateMessage*) {}
  void open() { contribute(CkCallback(CkReductionTarget(Main, opened), main_proxy)); }
};

#include "traced.def.h"
