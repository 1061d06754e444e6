// A program whose own main() starts Converse, and the chares on each PE, as molecular dynamics codes do: the start
// function and main() call _initCharm(), main() makes groups and arrays outside of any entry, and drives the run in
// rounds by the scheduler that it starts and that an entry ends. By its first argument:
//
//   (none)    the same, 20 rounds
//   classic   ConverseInit() is given _initCharm() itself and never comes back
//   early     main() uses chares' PEs before ConverseInit()
#include <string>

#include "init_charm.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ int seed;

constexpr int patch_count = 13;
CkpvDeclare(int, local);
static bool classic;
static int latest_sum;

static int expected_sum(int round) {
  int sum = 0;
  for (int i = 0; i < patch_count; ++i) sum += 77 + 5 + round * i;
  return sum;
}

class Store : public CBase_Store {
 public:
  const int value;
  explicit Store(int v) : value(v) {}
};

class Worker : public CBase_Worker {
  CProxy_Store store_;

 public:
  explicit Worker(CProxy_Store store) : store_(store) {
    if (seed != 77) CkAbort("a group's member lacks the readonly");
    if (!store_.ckLocalBranch() || store_.ckLocalBranch()->value != 5) CkAbort("a group's member lacks the node group");
  }
  int value() const { return store_.ckLocalBranch()->value; }
  // Each PE asks for its share of the patches' steps.
  void look(CProxy_Patch patches, int round) {
    if (!classic && CkpvAccess(local) != 100 + CkMyPe()) CkAbort("the PE's own variable is another's");
    for (int i = CkMyPe(); i < patch_count; i += CkNumPes()) patches[i].step(round);
  }
};

/*not a readonly: set by main() and, elsewhere, not at all*/ static CProxy_Worker workers;

class Patch : public CBase_Patch {
 public:
  Patch() {}
  explicit Patch(CkMigrateMessage*) {}
  void step(int round) {
    const int mine = seed + 5 + round * thisIndex;
    contribute(sizeof mine, &mine, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, stepped), mainProxy));
  }
};

static CProxy_Patch patches;

static void make_all() {
  CProxy_Store store = CProxy_Store::ckNew(5);
  workers = CProxy_Worker::ckNew(store);
  patches = CProxy_Patch::ckNew(patch_count);
}

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* arguments) {
    delete arguments;
    mainProxy = thisProxy;
    seed = 77;
    if (!classic) return;
    make_all();
    workers.look(patches, 0);
  }
  void stepped(int sum) {
    latest_sum = sum;
    if (!classic) return CsdExitScheduler();
    if (sum != expected_sum(0)) CkAbort("a wrong sum");
    CkPrintf("all checks passed\n");
    CkExit();
  }
};

static void start_chares(int argc, char** argv) {
  CkpvInitialize(int, local);
  CkpvAccess(local) = 100 + CkMyPe();
  _initCharm(argc, argv);
}
static void run_other_pe(int argc, char** argv) {
  start_chares(argc, argv);
  CsdScheduler(-1);
}

int main(int argc, char** argv) {
  const std::string task = argc > 1 ? argv[1] : "";
  classic = task == "classic";
  if (classic) {
    ConverseInit(argc, argv, _initCharm, 0, 0);
    return 9;
  }
  if (task == "early") _initCharm(argc, argv);
  ConverseInit(argc, argv, run_other_pe, 1, 1);
  if (CmiMyPe() != 0) {
    run_other_pe(argc, argv);
    ConverseExit();
  }
  start_chares(argc, argv);
  if (mainProxy.ckGetChareID().onPE != 0 || seed != 77) CkAbort("the mainchare's constructor has not run");
  make_all();
  if (!workers.ckLocalBranch() || workers.ckLocalBranch()->value() != 5)
    CkAbort("main() lacks the group that it has made");
  for (int round = 0; round < 20; ++round) {
    latest_sum = -1;
    workers.look(patches, round);
    CsdScheduler(-1);
    if (latest_sum != expected_sum(round)) CkAbort("round %d: %d", round, latest_sum);
  }
  CkPrintf("all checks passed\n");
  CkExit();
}

#include "init_charm.def.h"
