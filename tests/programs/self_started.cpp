// A program that begins with a message of Converse's which an initproc sends: it has no mainchare.
#include "self_started.decl.h"

namespace {
constexpr int times = 3;
}

CpvDeclare(int, begin_handler);
CsvDeclare(int, starts);

class Summer : public CBase_Summer {
 public:
  explicit Summer(int given) : times_(given) {}
  void add(int number) {
    const int mine = CsvAccess(starts) == 1 ? times_ * number : 0;
    contribute(sizeof mine, &mine, CkReduction::sum_int, CkCallback(CkReductionTarget(Summer, sum), thisProxy[0]));
  }
  void sum(int sum) {
    if (sum != times * 7 * CkNumPes()) CkAbort("a sum of %d", sum);
    CkPrintf("all checks passed\n");
    CkExit();
  }

 private:
  int times_;
};

static void begin(void* message) {
  CmiFree(message);
  CProxy_Summer summers = CProxy_Summer::ckNew(times);
  summers.add(7);
}

void startProcess() {
  CsvInitialize(int, starts);
  ++CsvAccess(starts);
}
void startPe() {
  CpvInitialize(int, begin_handler);
  CpvAccess(begin_handler) = CmiRegisterHandler(begin);
  if (CkMyPe() != CkNumPes() - 1) return;
  void* const message = CmiAlloc(CmiMsgHeaderSizeBytes);
  CmiSetHandler(message, CpvAccess(begin_handler));
  CmiSyncSendAndFree(0, CmiMsgHeaderSizeBytes, message);
}

#include "self_started.def.h"
