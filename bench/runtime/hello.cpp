// The smallest program with something on every PE: what starting and ending cost. bench/figures times it whole.
#include "hello.decl.h"

/*readonly*/ CProxy_Main mainProxy;

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    delete m;
    mainProxy = thisProxy;
    CProxy_Greeter greeters = CProxy_Greeter::ckNew();
    greeters.greet();
  }
  void done() { CkExit(); }
};

class Greeter : public CBase_Greeter {
 public:
  Greeter() {}
  void greet() {
    CkPrintf("hello from PE %d\n", CkMyPe());
    contribute(CkCallback(CkReductionTarget(Main, done), mainProxy));
  }
};

#include "hello.def.h"
