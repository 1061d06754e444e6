// The parts of CkLoop: see CkLoopAPI.h.
#pragma once
#include "CkLoopAPI.h"

class FuncCkLoop : public CBase_FuncCkLoop {
 public:
  explicit FuncCkLoop(CProxy_LoopHelper helpers);
  explicit FuncCkLoop(CkMigrateMessage*) {}
  void pup(PUP::er& p);
  void exit();

 private:
  void begin();
  CProxy_LoopHelper helpers_;
};

class LoopHelper : public CBase_LoopHelper {
 public:
  LoopHelper() = default;
  explicit LoopHelper(CkMigrateMessage*) {}
  void help(CmiUInt8 loop);
};
