// Classes with bodies of entries that derive from ArrayElement1D, Chare, Group and NodeGroup in place of their CBase_X,
// as those of older programs do: their machines lie in members. Elements move with bodies that wait, by AtSync() and by
// a message of their own.
#include <vector>

#include "old_classes.decl.h"

CkChareID mainhandle;

namespace {
enum { pairs, rings, nodes, cells, belows, kinds };
constexpr int cell_count = 7, rounds = 9, pair_count = 5;
}  // namespace

class Main : public Chare {
  Main_SDAG_CODE int seen = 0, wanted = 0, counts[kinds] = {};

 public:
  explicit Main(CkArgMsg* m) {
    delete m;
    mainhandle = thishandle;
    wanted = pair_count + CkNumPes() + CkNumNodes() + cell_count + 4;
    CProxy_Main(thishandle).run();
    make();
  }
  static void make();
  void finish() {
    const int right[kinds] = {pair_count, CkNumPes(), CkNumNodes(), cell_count, 4};
    for (int i = 0; i < kinds; ++i)
      if (counts[i] != right[i]) CkAbort("%d of kind %d are done", counts[i], i);
    CkPrintf("old_classes: all checks passed\n");
    CkExit();
  }
};

class Pair : public Chare {
  Pair_SDAG_CODE std::vector<double> values_;

 public:
  Pair() { __sdag_init(); }
  void meet(double left, double right) {
    if (left != 1.5 || right != 2.5) CkAbort("the halves of a pair are wrong");
    CProxy_Main(mainhandle).done(pairs);
    delete this;
  }
};

class Ring : public Group {
  Ring_SDAG_CODE int turn = 0, turns = 20, sum = 0;

 public:
  Ring() = default;
  void next() { CProxy_Ring(thisgroup)[(CkMyPe() + 1) % CkNumPes()].pass(turn); }
  void finish() {
    if (sum != turns * (turns - 1) / 2) CkAbort("a turn is lost");
    CProxy_Main(mainhandle).done(rings);
  }
};

class Shared : public NodeGroup {
  Shared_SDAG_CODE int sum = 0;

 public:
  Shared() = default;
  void finish() { CProxy_Main(mainhandle).done(nodes); }
};

class Cell : public ArrayElement1D {
  Cell_SDAG_CODE int step = 0, gone = 0, resumes = 0;
  double sum = 0;

 public:
  Cell() { usesAtSync = true; }
  explicit Cell(CkMigrateMessage* m) : ArrayElement1D(m) {}
  void pup(PUP::er& p) override {
    ArrayElement1D::pup(p);
    p | step;
    p | gone;
    p | resumes;
    p | sum;
    _sdag_pup(p);
  }
  CProxy_Cell thisProxy_() { return CProxy_Cell(thisArrayID); }
  void send() {
    std::vector<double> values(thisIndex + 3, step);
    const int to = (thisIndex + 1) % cell_count;
    thisProxy_()[to].from(step, static_cast<int>(values.size()), values.data());
    thisProxy_()[to].go(step);
  }
  void take(int n, const double* values) {
    if (n != (thisIndex + cell_count - 1) % cell_count + 3) CkAbort("the length of an array is wrong");
    for (int i = 0; i < n; ++i) sum += values[i];
  }
  void sync() { AtSync(); }
  void ResumeFromSync() override { thisProxy_()[thisIndex].resumed(); }
  // From outside of the body, which waits for resumed().
  void leave() {
    if (CkNumPes() == 1) return resumed();
    ckMigrate((CkMyPe() + 1) % CkNumPes());
  }
  void ckJustMigrated() override {
    ArrayElement1D::ckJustMigrated();
    if (step % 3 == 2) thisProxy_()[thisIndex].resumed();
  }
  void finish() {
    const int from = (thisIndex + cell_count - 1) % cell_count + 3;
    if (gone != rounds || resumes != rounds / 3 * 2 || sum != from * rounds * (rounds - 1) / 2)
      CkAbort("an element has lost something on its way");
    CProxy_Main(mainhandle).done(cells);
  }
};

class Above : public ArrayElement2D {
  Above_SDAG_CODE

      protected : int got = 0;

 public:
  Above() = default;
  explicit Above(CkMigrateMessage* m) : ArrayElement2D(m) {}
};
class Below : public Above {
  Below_SDAG_CODE

      public : Below() = default;
  explicit Below(CkMigrateMessage* m) : Above(m) {}
  void finish(int x) {
    if (got != 3 || x != 4) CkAbort("a base's body has not run before");
    CProxy_Main(mainhandle).done(belows);
  }
};

void Main::make() {
  for (int i = 0; i < pair_count; ++i) {
    CProxy_Pair pair = CProxy_Pair::ckNew(i % CkNumPes());
    pair.half(1, 2.5);
    pair.run();
    pair.half(0, 1.5);
  }
  CProxy_Ring ring = CProxy_Ring::ckNew();
  ring.run();
  CProxy_Shared shared = CProxy_Shared::ckNew();
  shared.run();
  for (int i = 0; i < CkNumPes(); ++i) shared.count(1);
  CProxy_Cell cells = CProxy_Cell::ckNew(cell_count);
  cells.run(rounds);
  CProxy_Below below = CProxy_Below::ckNew(2, 2);
  below.up();
  below.low(3);
  below.down();
  below.deep(4);
}

#include "old_classes.def.h"
