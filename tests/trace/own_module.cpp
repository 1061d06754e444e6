// A program with a trace module of its own. The module counts what it is told on each PE and says so when the run ends;
// own_module_test.py adds up.
#include <map>

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
  void beginExecute(int, int, int entry, int, int, CmiObjId*, void* object) override {
    ++depth_;
    if (entry == CkIndex_Line::wait()) {
      ++resumed_;
      return;
    }
    if (entry == CkIndex_Line::within()) {  // in place
      if (depth_ != 2) CkAbort("an [inline] call runs by itself");
      ++within_;
      return;
    }
    if (object == nullptr || entry == _sdagEP) CkAbort("a block of a body runs on nothing, or is not known");
    if (depth_ != 1) CkAbort("a block of a body runs within its entry");
    if (++blocks_[entry] == 1) ++kinds_;
    ++serials_;
  }
  void endExecute() override {
    if (--depth_ < 0) CkAbort("more entries have ended than begun");
  }
  void beginPack() override { ++packs_; }
  void endPack() override { packed_ += packs_ > packed_; }
  void beginUnpack() override { ++unpacks_; }
  void endUnpack() override { unpacked_ += unpacks_ > unpacked_; }
  void creation(envelope* message, int entry, int number) override {
    if (message->getEpIdx() != entry) CkAbort("a message is for another entry than is said");
    if (entry == CkIndex_Line::idx_step_marshall2()) created_ += number;
  }
  void creationDone(int) override { ++done_; }
  void beginIdle(double) override {
    if (idle_) CkAbort("a PE that is idle becomes idle");
    idle_ = true;
  }
  void endIdle(double now) override {
    if (!idle_) CkAbort("a PE that is busy becomes busy");
    if (now > TraceTimer() || TraceTimer(now) < 0) CkAbort("a time that a module is told is none of TraceTimer()");
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
        "resumed=%d created=%d done=%d events=%d brackets=%d sides=%d data=%d notes=%d stats=%d serials=%d kinds=%d "
        "packs=%d packed=%d unpacks=%d unpacked=%d\n",
        CkMyPe(), scale_, begun_, ended_, computations_, depth_, step_, within_, secret_, wait_, wake_, resumed_,
        created_, done_ > 0, events_, brackets_, sides_, data_, notes_, stats_, serials_, kinds_, packs_, packed_,
        unpacks_, unpacked_);
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
  std::map<int, int> blocks_;
  int serials_ = 0, kinds_ = 0, packs_ = 0, packed_ = 0, unpacks_ = 0, unpacked_ = 0;
  bool idle_ = false;
};
}  // namespace

/// Packs itself, wherever it goes.
class Packed : public CMessage_Packed {
 public:
  static void* pack(Packed* m) { return m; }
  static Packed* unpack(void* bytes) { return static_cast<Packed*>(bytes); }
};

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
    for (int i = 0; i < length; ++i) line[i].talk(new Packed);
  }
  void talked() {
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
  Line_SDAG_CODE

      public : Line() = default;
  int heard = 0;
  void again() {
    if (heard < 2) thisProxy[thisIndex].answer(1);
  }
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
