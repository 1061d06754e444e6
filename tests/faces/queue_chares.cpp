// What a program takes from the scheduler's queue by hand may be calls of entry methods and threads: CmiHandleMessage()
// runs them as the scheduler does.
#include <queueing.h>

#include <string>

#include "queue_chares.decl.h"

CProxy_Main mainProxy;

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    delete m;
    mainProxy = thisProxy;
    CProxy_Member(CProxy_Member::ckNew()).begin();
    CkStartQD(CkCallback(CkIndex_Main::done(), thisProxy));
  }
  void done() {
    CkPrintf("quiet\n");
    CkExit();
  }
};

class Member : public CBase_Member {
  std::string seen_;

 public:
  void begin() {
    const auto queue = static_cast<Queue>(CpvAccess(CsdSchedQueue));
    CProxy_Member own = thisProxy;
    char word[] = "a text that is too long for a line of the queue, and goes as a message of its own";
    own[CkMyPe()].note(1);
    own[CkMyPe()].text(sizeof word, word);
    own[CkMyPe()].thread();
    own[CkMyPe()].note(2);
    CkAssert(CqsLength(queue) >= 4);
    while (!CqsEmpty(queue)) {
      void* message = nullptr;
      CqsDequeue(queue, &message);
      CmiHandleMessage(message);
    }
    // With +fuzz the thread may go on before.
    if (seen_ != "1atb2c" && seen_ != "1atbc2") CkAbort("instead of 1atb2c: %s", seen_.c_str());
  }
  void note(int n) { seen_ += std::to_string(n); }
  void text(int, char* word) { seen_ += word[0]; }
  void thread() {
    seen_ += "tb";
    CthYield();
    seen_ += "c";
  }
};

#include "queue_chares.def.h"
