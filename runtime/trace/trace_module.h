// Trace modules of a program's own, as trace.h of Charm++ declares them. One module is a class over Trace, and a
// function
//
//   void _createTraceNAME(char** argv) { CkpvAccess(_traces)->addTrace(new MyTrace(argv)); }
//
// which charmc -tracemode NAME finds in the program's objects or in libtrace-NAME.a. It runs on each PE, before
// anything of the program does; argv is the PE's own. C++17: reached from include/trace.h.
#pragma once
#include "runtime/containers/vec.h"
#include "runtime/converse/converse.h"
#include "runtime/converse/cth_hooks.h"
#include "runtime/converse/per_pe.h"
#include "runtime/registry/user_envelope.h"

// Is told what happens on its PE, by that PE. Times are those of CmiWallTimer(). What the runtime calls is said in
// docs/tracing.md; the others are there so that modules which override them compile.
class Trace {
 public:
  Trace() = default;
  virtual ~Trace() = default;
  // Off: the module is told nothing. Said for all modules when they have been made, from +traceprocessors.
  virtual void setTraceOnPE(int on) { _traceOn = on != 0; }
  virtual int traceOnPE() { return _traceOn; }
  virtual void traceBegin() {}
  virtual void traceEnd() {}

  // What runs. A message's envelope and its object; while the call lasts. Calls nest.
  virtual void beginExecute(envelope* call, void* object) {}
  // A thread of an entry that goes on. `event`, `type`, `from` and `id`: not known here, 0, 0, this PE and null.
  virtual void beginExecute(int event, int type, int entry, int from, int bytes, CmiObjId* id, void* object) {}
  virtual void beginExecute(char*) {}
  virtual void beginExecute(CmiObjId*) {}
  // Of the innermost, or of a thread that stops.
  virtual void endExecute() {}
  virtual void endExecute(char*) {}
  virtual void changeLastEntryTimestamp(double) {}
  virtual void beginSDAGBlock(int event, int type, int entry, int from, int bytes, CmiObjId* id) {}
  virtual void endSDAGBlock() {}

  // A message to one PE, or to `number` of them. The envelope has no message behind it.
  virtual void creation(envelope* message, int entry, int number = 1) {}
  virtual void creation(char*) {}
  virtual void creationMulticast(envelope* message, int entry, int number = 1, const int* pes = nullptr) {}
  virtual void creationDone(int number = 1) {}
  virtual void messageRecv(void* message, int bytes) {}
  virtual void messageSend(void* message, int pe, int bytes) {}
  virtual void enqueue(envelope*) {}
  virtual void dequeue(envelope*) {}
  virtual void beginPack() {}
  virtual void endPack() {}
  virtual void beginUnpack() {}
  virtual void endUnpack() {}

  virtual void beginIdle(double now) {}
  virtual void endIdle(double now) {}

  // What the program adds.
  virtual int traceRegisterUserEvent(const char* name, int event) { return 0; }
  virtual int traceRegisterUserStat(const char* name, int stat) { return 0; }
  virtual void userEvent(int event) {}
  virtual void userBracketEvent(int event, double begin, double end, int nested = 0) {}
  virtual void beginUserBracketEvent(int event, int nested = 0) {}
  virtual void endUserBracketEvent(int event, int nested = 0) {}
  virtual void updateStat(int stat, double value) {}
  virtual void updateStatPair(int stat, double value, double at) {}
  virtual void userSuppliedData(int value) {}
  virtual void userSuppliedNote(const char* text) {}
  virtual void userSuppliedBracketedNote(const char* text, int event, double begin, double end) {}
  virtual void memoryUsage(double bytes) {}
  virtual void beginAppWork() {}
  virtual void endAppWork() {}
  virtual void countNewChare() {}
  virtual void beginTuneOverhead() {}
  virtual void endTuneOverhead() {}
  virtual void endPhase() {}

  // The program begins on this PE. Its end is the module's own to call, from traceClose().
  virtual void beginComputation() {}
  virtual void endComputation() {}
  // The run ends as it should: the module writes what it has, and may take itself out by removeTrace().
  virtual void traceClose() {}
  virtual void traceFlushLog() {}
  virtual void traceClearEps() {}
  virtual void traceWriteSts() {}
  virtual void traceEnableCCS() {}

  virtual void traceBeginComm() {}
  virtual void traceEndComm() {}
  virtual void traceBeginOnCommThread() {}
  virtual void traceEndOnCommThread() {}
  virtual void traceCommSetMsgID(char*) {}
  virtual void traceGetMsgID(char* message, int* pe, int* event) {}
  virtual void traceSetMsgID(char* message, int pe, int event) {}
  virtual void malloc(void* where, int bytes, void** stack, int depth) {}
  virtual void free(void* where, int bytes) {}
  virtual void traceAddThreadListeners(CthThread thread, envelope* message) {}

 protected:
  bool _traceOn = false;
};

// The modules of a PE, in the order in which they were added. They belong to the program.
class TraceArray {
 public:
  void addTrace(Trace* module) { modules_.push_back(module); }
  // Also from within a call to that module; its place is empty until clearTrace().
  void removeTrace(Trace* module) {
    for (int i = 0; i < length(); ++i)
      if (modules_[i] == module) modules_[i] = nullptr;
  }
  void clearTrace() {
    for (int i = length() - 1; i >= 0; --i)
      if (modules_[i] == nullptr) modules_.remove(i);
  }
  int length() const { return static_cast<int>(modules_.size()); }
  void setTraceOnPE(int on) {
    for (int i = 0; i < length(); ++i) modules_[i]->setTraceOnPE(on);
  }

  // Calls `what` with each module that is on.
  template <class What>
  void each(What&& what) {
    for (int i = 0; i < length(); ++i)
      if (modules_[i] != nullptr && modules_[i]->traceOnPE()) what(*modules_[i]);
  }
  // The last first: what ends is told in the other order than what begins.
  template <class What>
  void each_backwards(What&& what) {
    for (int i = length() - 1; i >= 0; --i)
      if (modules_[i] != nullptr && modules_[i]->traceOnPE()) what(*modules_[i]);
  }

 private:
  CkVec<Trace*> modules_;
};

CkpvExtern(TraceArray*, _traces);
// Whether +traceprocessors has this PE.
CkpvExtern(int, traceOnPe);
