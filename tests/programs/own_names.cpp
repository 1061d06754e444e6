// A program that has names of Converse itself, as a C library of its own may: those of tables, tasks, random numbers,
// futures, channels and their like, which it does not use from the runtime. It links, as none of what it does asks for
// an object of the runtime that defines one of them; and what it has in them stays as it is.
#include "own_names.decl.h"

/*readonly*/ CProxy_Main mainProxy;

extern "C" int own_names_sum(void);

class Main : public CBase_Main {
  CProxy_Element elements_;

 public:
  explicit Main(CkArgMsg* arguments) {
    delete arguments;
    mainProxy = thisProxy;
    elements_ = CProxy_Element::ckNew(4);
    thisProxy.work();
  }
  void work() {
    if (elements_[3].twice(21) != 42) CkAbort("a [sync] entry answers wrongly");
    CkWaitQD();
    elements_.give();
  }
  void summed(int sum) {
    if (sum != 4 * own_names_sum()) CkAbort("the program's own variables have other values on some PE");
    CkPrintf("all checks passed\n");
    CkExit();
  }
};

class Element : public CBase_Element {
 public:
  Element() = default;
  explicit Element(CkMigrateMessage*) {}
  int twice(int number) { return 2 * number; }
  void give() {
    int sum = own_names_sum();
    contribute(sizeof sum, &sum, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, summed), mainProxy));
  }
};

#include "own_names.def.h"
