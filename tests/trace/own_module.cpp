// A program with a trace module of its own. The module counts what it is told on each PE and says so when the run ends;
// own_module_test.py adds up.
#include "own_module.decl.h"
#include "trace-common.h"
#include "trace.h"

CProxy_Main main_proxy;
CProxy_Line line;

namespace {
constexpr int length = 12, event_named = 77;

class Counter : public Trace {
 public:
  explicit Counter(char** argv) { CmiGetArgInt(argv, "+CounterScale", &scale_); }

  void traceBegin() override { ++begun_; }
  void traceEnd() override { ++ended_; }
  void beginComputation() override { ++computations_; }
  void endComputation() override { ++computations_; }
  void beginExecute(envelope* call, void* object) override {
    if (object == nullptr) CkAbort("an entry runs on nothing");
    count(call->getEpIdx());
    ++depth_;
  }
  void beginExecute(int, int, int entry, int, int, CmiObjId*, void*) override {
    if (entry != CkIndex_Line::wait()) CkAbort("a thread goes on that is not that of wait()");
    ++resumed_;
    ++depth_;
  }
  void endExecute() override {
    if (--depth_ < 0) CkAbort("more entries have ended than begun");
  }
  void creation(envelope* message, int entry, int number) override {
    if (message->getEpIdx() != entry) CkAbort("a message is for another entry than is said");
    if (entry == CkIndex_Line::idx_step_marshall2()) created_ += number;
  }
  void creationDone(int) override { ++done_; }
  void beginIdle(double) override {
    if (idle_) CkAbort("a PE that is idle becomes idle");
    idle_ = true;
  }
  void endIdle(double) override {
    if (!idle_) CkAbort("a PE that is busy becomes busy");
    idle_ = false;
  }
  void userEvent(int event) override { events_ += event == event_named; }
  void userBracketEvent(int event, double begin, double end, int) override {
    brackets_ += event == event_named && begin < end;
  }
  void beginUserBracketEvent(int, int) override { ++sides_; }
  void endUserBracketEvent(int, int) override { ++sides_; }
  void userSuppliedData(int value) override { data_ += value; }
  void userSuppliedNote(const char*) override { ++notes_; }
  void updateStat(int, double) override { ++stats_; }
  void traceClose() override {
    endComputation();
    CkPrintf(
        "counted: pe=%d scale=%d begun=%d ended=%d computations=%d depth=%d step=%d within=%d secret=%d wait=%d "
        "wake=%d "
        "resumed=%d created=%d done=%d events=%d brackets=%d sides=%d data=%d notes=%d stats=%d\n",
        CkMyPe(), scale_, begun_, ended_, computations_, depth_, step_, within_, secret_, wait_, wake_, resumed_,
        created_, done_ > 0, events_, brackets_, sides_, data_, notes_, stats_);
    CkpvAccess(_traces)->removeTrace(this);
  }

 private:
  void count(int entry) {
    step_ += entry == CkIndex_Line::idx_step_marshall2();
    within_ += entry == CkIndex_Line::within();
    secret_ += entry == CkIndex_Line::secret();
    wait_ += entry == CkIndex_Line::wait();
    wake_ += entry == CkIndex_Line::wake();
  }

  int scale_ = 1, begun_ = 0, ended_ = 0, computations_ = 0, depth_ = 0, step_ = 0, within_ = 0, secret_ = 0, wait_ = 0,
      wake_ = 0, resumed_ = 0, created_ = 0, done_ = 0, events_ = 0, brackets_ = 0, sides_ = 0, data_ = 0, notes_ = 0,
      stats_ = 0;
  bool idle_ = false;
};
}  // namespace

void _createTracecounter(char** argv) { CkpvAccess(_traces)->addTrace(new Counter(argv)); }

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    if (m->argc != 1) CkAbort("the module's option is left for the program");
    delete m;
    main_proxy = thisProxy;
    line = CProxy_Line::ckNew(length);
    for (int i = 0; i < length; ++i) line[i].step(i);
  }
  void stepped() {
    line.wait();
    for (int i = 0; i < length; ++i) line[i].wake();
  }
  void waited() {
    traceEnd();
    traceUserEvent(event_named);
    traceBegin();
    if (traceAvailable() && !traceIsOn()) CkAbort("tracing is off behind traceBegin()");
    CkExit();
  }
};

class Line : public CBase_Line {
 public:
  Line() = default;
  explicit Line(CkMigrateMessage*) {}
  void step(int) {
    const double before = CkWallTimer();
    thisProxy[thisIndex].within();
    thisProxy[thisIndex].secret();
    traceUserEvent(event_named);
    while (CkWallTimer() <= before) {
    }
    traceUserBracketEvent(event_named, before, CkWallTimer());
    traceBeginUserBracketEvent(event_named);
    traceEndUserBracketEvent(event_named);
    traceUserSuppliedData(2);
    traceUserSuppliedNote("a note");
    updateStat(1, 2.5);
    contribute(CkCallback(CkReductionTarget(Main, stepped), main_proxy));
  }
  void within() {}
  void secret() {}
  void wait() {
    waiting_ = CthSelf();
    if (!woken_) CthSuspend();
    contribute(CkCallback(CkReductionTarget(Main, waited), main_proxy));
  }
  void wake() {
    woken_ = true;
    if (waiting_ != nullptr) CthAwaken(waiting_);
  }

 private:
  CthThread waiting_ = nullptr;
  bool woken_ = false;
};

#include "own_module.def.h"
