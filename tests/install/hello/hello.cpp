// What the install test builds outside the tree: every element of an array says hello and contributes its index.
#include "hello.decl.h"

/*readonly*/ CProxy_Main mainProxy;

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* args) {
    int elements = args->argc > 1 ? atoi(args->argv[1]) : 8;
    delete args;
    mainProxy = thisProxy;
    CProxy_Hello hello = CProxy_Hello::ckNew(elements);
    hello.greet(CkMyPe());
  }
  void done(int sum) {
    CkPrintf("sum %d on %d PEs\n", sum, CkNumPes());
    CkExit();
  }
};

class Hello : public CBase_Hello {
 public:
  Hello() {}
  explicit Hello(CkMigrateMessage*) {}
  void greet(int) {
    CkPrintf("hello from %d\n", thisIndex);
    int index = thisIndex;
    contribute(sizeof(int), &index, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, done), mainProxy));
  }
};

#include "hello.def.h"
