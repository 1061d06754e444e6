// A mistake in a program: one element does not contribute, and moves to another PE when all others there have. The
// watchdog must name the reduction, which is open on neither PE, and the element.
#include "late_contribution.decl.h"

namespace {
constexpr int piece_count = 4, silent = 1;
}  // namespace

class Main : public CBase_Main {
  CProxy_Piece pieces_;

 public:
  explicit Main(CkArgMsg* m) {
    delete m;
    pieces_ = CProxy_Piece::ckNew(piece_count);
    pieces_.give(CkCallback(CkIndex_Main::summed(), thisProxy));
    CkStartQD(CkCallback(CkIndex_Main::given(), thisProxy));
  }
  void given() { pieces_[silent].go(); }
  void summed() { CkAbort("the reduction is over, and Piece[%d] has not contributed\n", silent); }
};

class Piece : public CBase_Piece {
 public:
  Piece() = default;
  explicit Piece(CkMigrateMessage*) {}
  void give(const CkCallback& result) {
    if (thisIndex != silent) contribute(result);
  }
  void go() { migrateMe(CkNumPes() - 1 - CkMyPe()); }
};

#include "late_contribution.def.h"
