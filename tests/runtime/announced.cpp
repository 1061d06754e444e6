// What a PE sends to another of its host behind the creation of a collection finds it made there, with more PEs than a
// broadcast has branches.
#include "announced.decl.h"

/*readonly*/ CProxy_Main mainProxy;

class Made : public CBase_Made {
 public:
  Made() = default;
};
class NodeMade : public CBase_NodeMade {
 public:
  NodeMade() = default;
};
class Cell : public CBase_Cell {
 public:
  Cell() = default;
  explicit Cell(CkMigrateMessage*) {}
};

class User : public CBase_User {
 public:
  void use(const CProxy_Made& made, const CProxy_Cell& cells) {
    int missing = made.ckLocalBranch() == nullptr;
    missing += cells[CkMyPe()].ckLocal() == nullptr;  // its home, by the default map
    contribute(sizeof missing, &missing, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, used), mainProxy));
  }
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* args) {
    delete args;
    mainProxy = thisProxy;
    users_ = CProxy_User::ckNew();
    thisProxy.begin();
  }
  void begin() {
    const CProxy_Made made = CProxy_Made::ckNew();
    CProxy_NodeMade::ckNew();
    const CProxy_Cell cells = CProxy_Cell::ckNew(CkNumPes());
    for (int pe = CkNumPes() - 1; pe >= 0; --pe) users_[pe].use(made, cells);
  }
  void used(int missing) {
    if (missing != 0) CkAbort("%d members or elements are not there", missing);
    if (++rounds_ < 5) return begin();
    CkPrintf("announced: all members were there\n");
    CkExit();
  }

 private:
  CProxy_User users_;
  int rounds_ = 0;
};

#include "announced.def.h"
