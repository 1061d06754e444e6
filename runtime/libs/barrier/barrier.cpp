// See barrier.h.
#include "barrier.h"

CkGroupID barrierInit() { return CProxy_Barrier::ckNew(); }

void Barrier::atBarrier(FP* function) {
  if (waits_)
    CkAbort("Barrier::atBarrier() is called twice on PE %d before all PEs have come to the barrier", CkMyPe());
  waits_ = true;
  function_ = function->fp;
  delete function;
  contribute(CkCallback(CkIndex_Barrier::callFP(), thisProxy));
}

void Barrier::callFP() {
  waits_ = false;
  if (function_ != nullptr) function_();
}

#include "barrier.def.h"
