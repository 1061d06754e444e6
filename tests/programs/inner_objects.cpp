// A group, a node group or a chare may make others of their classes with new, as parts of itself (ChaNGa's balancer of
// three levels has one of two that way). The runtime goes on with the one that it has made, also when such a part is
// deleted.
#include "inner_objects.decl.h"

CProxy_Main main_proxy;

namespace {
constexpr int piece_count = 20;
}

// Places elements round the PEs; its part would place them all on PE 0.
class Placing : public CBase_Placing {
 public:
  explicit Placing(int inner) : inner_(inner) {
    if (inner == 0) part_ = new Placing(1);
  }
  explicit Placing(CkMigrateMessage*) {}
  ~Placing() override { delete part_; }
  int procNum(int, const CkArrayIndex& index) override { return inner_ ? 0 : index.data()[0] % CkNumPes(); }

 private:
  int inner_ = 0;
  Placing* part_ = nullptr;
};

// An exclusive entry of it holds its lock, and not the lock of a part that is gone.
class Locking : public CBase_Locking {
 public:
  Locking() { delete new Locking(nullptr); }
  explicit Locking(CkMigrateMessage*) {}
  void look() { main_proxy.locked(CmiTryLock(__nodelock) != 0); }
};

class Asked : public CBase_Asked {
 public:
  explicit Asked(int inner) : inner_(inner) {
    if (inner == 0) delete new Asked(1);
  }
  void ask() {
    if (inner_ != 0) CkAbort("inner_objects: a chare's part gets its messages\n");
    main_proxy.answered();
  }

 private:
  int inner_;
};

class Piece : public CBase_Piece {
 public:
  Piece() = default;
  explicit Piece(CkMigrateMessage*) {}
  void where() {
    const int wrong = thisIndex % CkNumPes() != CkMyPe();
    contribute(sizeof wrong, &wrong, CkReduction::sum_int, CkCallback(CkIndex_Main::placed(nullptr), main_proxy));
  }
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) : missing_(2 + CkNumNodes()) {
    delete m;
    main_proxy = thisProxy;
    CkArrayOptions options(piece_count);
    options.setMap(CProxy_Placing::ckNew(0));
    CProxy_Piece(CProxy_Piece::ckNew(options)).where();
    CProxy_Locking(CProxy_Locking::ckNew()).look();
    CProxy_Asked(CProxy_Asked::ckNew(0, CkNumPes() - 1)).ask();
  }
  void placed(CkReductionMsg* wrong) {
    if (*static_cast<int*>(wrong->getData()) != 0) CkAbort("inner_objects: a map's part has placed elements\n");
    delete wrong;
    answered();
  }
  void locked(int held) {
    if (held == 0) CkAbort("inner_objects: an exclusive entry runs without the lock of its node group\n");
    answered();
  }
  void answered() {
    if (--missing_ > 0) return;
    CkPrintf("all checks passed\n");
    CkExit();
  }

 private:
  int missing_;
};

#include "inner_objects.def.h"
