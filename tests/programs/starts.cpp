// The first microsecond: a constructor of a collection that the mainchare makes runs the scheduler, while calls of all
// PEs and collections that are made since are on their way to its PE. What comes there runs when all is made that the
// mainchare's constructor made; and what one PE has sent to an element comes in the order in which it was sent, as do
// creations among calls where all PEs are of one host.
#include <vector>

#include "starts.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Slow slow;
/*readonly*/ CProxy_Next next;
/*readonly*/ CProxy_Once once;
/*readonly*/ CProxy_Cell cells;

namespace {
constexpr int calls = 30;  // of each PE to each cell
constexpr int cells_per_pe = 2;
// Where constructors run whatever comes, and where one runs a few messages of what waits.
bool yields() { return CkMyPe() != 0 && CkMyPe() % 2 == 0; }
bool schedules() { return CkMyPe() % 2 == 1; }

void require(bool right, const char* wrong) {
  if (!right) CkAbort("%s", wrong);
}
void check_made();
void call_all(int begin, int end) {
  for (int number = begin; number < end; ++number)
    for (int i = 0; i < cells_per_pe * CkNumPes(); ++i) cells[i].take(CkMyPe(), number);
}
}  // namespace

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* arguments) {
    delete arguments;
    mainProxy = thisProxy;
    next = CProxy_Next::ckNew();
    slow = CProxy_Slow::ckNew();
    once = CProxy_Once::ckNew();
    cells = CProxy_Cell::ckNew(cells_per_pe * CkNumPes());
    call_all(0, calls / 2);
    thisProxy.begin();
  }
  void begin() {
    call_all(calls / 2, calls);
    for (int i = 0; i < 4; ++i) {
      CProxy_LaterOnce::ckNew();
      for (int pe = 1; pe < CkNumPes(); ++pe) slow[pe].note(i);
      CProxy_Later later = CProxy_Later::ckNew(i);
      later.call();
    }
  }
  void all() {
    CkPrintf("all checks passed\n");
    CkExit();
  }
};

class Slow : public CBase_Slow {
 public:
  bool made = false;
  int noted = -1;
  Slow() {
    if (CkMyPe() != 0) call_all(0, calls / 3);
    if (schedules()) CsdScheduler(5);
    for (int i = 0; yields() && i < 300; ++i) {
      CthYield();
      if (i == 100) call_all(calls / 3, calls / 2);
    }
    if (CkMyPe() != 0) call_all(yields() ? calls / 2 : calls / 3, calls);
    made = true;
  }
  void note(int creation) { noted = creation; }
};

class Next : public CBase_Next {
 public:
  bool made = false;
  Next() {
    for (int i = 0; yields() && i < 50; ++i) CthYield();
    made = true;
  }
};

class Once : public CBase_Once {
 public:
  bool made = false;
  Once() {
    for (int i = 0; yields() && i < 50; ++i) CthYield();
    made = true;
  }
};

namespace {
void check_made() {
  const Slow* const its_slow = slow.ckLocalBranch();
  const Next* const its_next = next.ckLocalBranch();
  const Once* const its_once = once.ckLocalBranch();
  require(its_slow && its_slow->made && its_next && its_next->made && its_once && its_once->made,
          "something runs on a PE before all is made there that the mainchare's constructor made");
}
}  // namespace

class Later : public CBase_Later {
 public:
  explicit Later(int creation) {
    check_made();
    if (CkMyPe() != 0 && CmiNumPhysicalNodes() == 1)
      require(slow.ckLocalBranch()->noted == creation, "a creation has overtaken a call, or the other way round");
  }
  void call() { check_made(); }
};

class LaterOnce : public CBase_LaterOnce {
 public:
  LaterOnce() { check_made(); }
};

class Cell : public CBase_Cell {
  std::vector<int> expected_ = std::vector<int>(CkNumPes());
  int left_ = calls * CkNumPes();

 public:
  Cell() = default;
  explicit Cell(CkMigrateMessage*) {}
  void take(int from, int number) {
    check_made();
    require(expected_[from]++ == number, "a call has overtaken another one of the same PE to the same element");
    if (--left_ == 0) contribute(CkCallback(CkReductionTarget(Main, all), mainProxy));
  }
};

#include "starts.def.h"
