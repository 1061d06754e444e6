// A barrier of all PEs (-module barrier). C++17: programs include it.
//
//   CkGroupID all = barrierInit();                     // once, for all PEs
//   FP* message = new FP;
//   message->fp = go_on;                               // void go_on()
//   CProxy_Barrier(all)[CkMyPe()].atBarrier(message);  // on each PE, for itself
//
// When every PE has come, each calls its own function, which may come to the barrier again. The message is the
// barrier's from then on. A PE that comes twice to one barrier ends the run with a sentence.
#pragma once
#include "barrier.decl.h"

typedef void (*voidfn)();

class FP : public CMessage_FP {
 public:
  voidfn fp = nullptr;  // an address of the process of the PE to which it is sent; null: there is nothing to call
};

CkGroupID barrierInit();

class Barrier : public CBase_Barrier {
 public:
  Barrier() = default;
  explicit Barrier(CkMigrateMessage*) {}
  // While no PE waits: functions are addresses.
  void pup(PUP::er&) {}

  // Nothing: a barrier may be come to again without it.
  void reset() {}
  void atBarrier(FP* function);
  // Every PE has come.
  void callFP();

 private:
  bool waits_ = false;
  voidfn function_ = nullptr;
};
