// A program in which all kinds of traffic are under way all the time, so that a process can be hit in the middle of
// any: small messages, large ones, broadcasts, reductions, elements that migrate. After so many steps (its argument) it
// ends.
#include <cstdlib>
#include <vector>

#include "charm++.h"
#include "death.decl.h"
#include "points.h"
#include "pup_stl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Piece pieces;
/*readonly*/ int steps;

namespace {
int count() { return 2 * CkNumPes(); }
void here(const char* name) { point(name, CkMyNode()); }
constexpr int smalls = 20;
constexpr std::size_t large_bytes = std::size_t{1} << 20;
}  // namespace

class Main : public CBase_Main {
  int step_ = 0;

 public:
  explicit Main(CkArgMsg* args) {
    steps = args->argc > 1 ? std::atoi(args->argv[1]) : 10;
    delete args;
    mainProxy = thisProxy;
    pieces = CProxy_Piece::ckNew(count());
    pieces.step(0);
  }
  void stepped() {
    if (++step_ == steps)
      CkExit(0);
    else
      pieces.step(step_);
  }
};

class Piece : public CBase_Piece {
 public:
  Piece() {}
  explicit Piece(CkMigrateMessage*) {}
  void pup(PUP::er& p) {
    if (p.isPacking()) here("leaving");
    if (p.isUnpacking()) here("arriving");
  }
  void step(int number) {
    here("broadcast");
    for (int i = 1; i <= smalls; ++i) thisProxy[(thisIndex + i) % count()].small(number);
    thisProxy[(thisIndex + count() / 2) % count()].large(std::vector<char>(large_bytes, static_cast<char>(number)));
    here("contribute");
    contribute(CkCallback(CkReductionTarget(Main, stepped), mainProxy));
    if ((number + thisIndex) % 3 == 0) migrateMe((CkMyPe() + 1) % CkNumPes());
  }
  void small(int) { here("small"); }
  void large(std::vector<char> bytes) {
    here("large");
    if (bytes.size() != large_bytes) CkAbort("%d bytes came", static_cast<int>(bytes.size()));
  }
};

#include "death.def.h"
