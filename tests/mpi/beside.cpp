// A library of chares for programs of MPI: see beside_main.cpp.
#include "beside.decl.h"
#include "mpi-interoperate.h"

/*readonly*/ CProxy_Main mainProxy;

static int sum_here = -1;  // what the run of this process has come to, on its first PE

struct Element : CBase_Element {
  Element() {}
  explicit Element(CkMigrateMessage*) {}
  void give() {
    const int value = CkMyPe() >= 0 ? thisIndex : -1;
    contribute(sizeof value, &value, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, added), mainProxy));
  }
};

struct Main : CBase_Main {
  explicit Main(CkArgMsg* m) {
    delete m;
    mainProxy = thisProxy;
  }
  void add(int elements) { CProxy_Element(CProxy_Element::ckNew(elements)).give(); }
  void added(int sum) {
    sum_here = sum;
    CkExit();
  }
};

int sum_of(int elements) {
  if (CkMyPe() == 0) mainProxy.add(elements);
  StartCharmScheduler();
  return sum_here;
}

#include "beside.def.h"
