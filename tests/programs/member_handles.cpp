// The handle of a member of a group or node group (thishandle) names that member, as in Charm++: molecular dynamics
// codes give it to CkStartQD() between the phases of their start. Each member asks for quiescence, sends messages and
// has a reduction end by its handle; so does each branch of a node group.
#include "member_handles.decl.h"

CProxy_Main mainProxy;
CProxy_Phases phases;
CProxy_Shared shared;

namespace {
enum Way { quiescence, reduction, sent, at_once, callback, of_proxy, ways };
constexpr int letters = 40;
}  // namespace

class Word : public CMessage_Word {
 public:
  int* letters;
};

class Main : public CBase_Main {
  int way_ = 0, reached_ = 0;

 public:
  explicit Main(CkArgMsg* m) {
    delete m;
    mainProxy = thisProxy;
    phases = CProxy_Phases::ckNew();
    shared = CProxy_Shared::ckNew();
    phases.begin(way_);
  }
  void reached(int pe, int what) {
    if (what != way_) CkAbort("a handle brings what was not asked for");
    if (++reached_ < (way_ == ways ? CkNumNodes() : CkNumPes())) return;
    reached_ = 0;
    if (++way_ < ways) return phases.begin(way_);
    if (way_ == ways) return shared.begin();
    CkPrintf("member handles: all checks passed\n");
    CkExit();
  }
};

class Phases : public CBase_Phases {
  int waits_for_ = -1;

  void have(int what) {
    if (waits_for_ != what) CkAbort("a member is reached by another one's handle, or twice");
    waits_for_ = -1;
    mainProxy.reached(CkMyPe(), what);
  }
  static Word* word() {
    Word* const word = new (letters) Word;
    for (int i = 0; i < letters; ++i) word->letters[i] = CkMyPe() + i;
    return word;
  }

 public:
  Phases() = default;
  void begin(int way) {
    waits_for_ = way;
    switch (way) {
      case quiescence:
        return CkStartQD(CkIndex_Phases::quiet(nullptr), &thishandle);
      case reduction: {
        CProxy_Cell cells = CProxy_Cell::ckNew(5);
        cells.tell(CkCallback(CkIndex_Phases::hear(nullptr), thishandle));
        return;
      }
      case sent:
        return CkSendMsg(CkIndex_Phases::read(nullptr), word(), &thishandle);
      case at_once:
        CkSendMsgInline(CkIndex_Phases::read(nullptr), word(), &thishandle);
        if (waits_for_ != -1) CkAbort("what runs at once has not run");
        return;
      case callback:
        return CkCallback(CkIndex_Phases::urgent(nullptr), ckGetChareID()).send(word());
      case of_proxy: {
        const CkChareID handle = thisProxy.ckGetChareID();
        if (!(handle == thishandle)) CkAbort("the handle that a proxy has is not the member's");
        return CkSendMsg(CkIndex_Phases::read(nullptr), word(), &handle);
      }
    }
  }
  void quiet(CkQdMsg* m) {
    delete m;
    have(quiescence);
  }
  void hear(CkReductionMsg* m) {
    if (*static_cast<const int*>(m->getData()) != 5) CkAbort("a sum is wrong");
    delete m;
    have(reduction);
  }
  void read(Word* m) {
    for (int i = 0; i < letters; ++i)
      if (m->letters[i] != CkMyPe() + i) CkAbort("a member reads another one's word");
    delete m;
    have(waits_for_ == at_once ? at_once : waits_for_ == sent ? sent : of_proxy);
  }
  void urgent(Word* m) {
    delete m;
    have(callback);
  }
};

class Shared : public CBase_Shared {
  int node_ = CkMyNode();

 public:
  Shared() = default;
  void begin() {
    const CkChareID handle = shared.ckGetChareID();
    CkStartQD(CkIndex_Shared::quiet(nullptr), &handle);
  }
  void quiet(CkQdMsg* m) {
    delete m;
    if (node_ != CkMyNode()) CkAbort("a branch is reached by another one's handle");
    mainProxy.reached(CkMyPe(), ways);
  }
};

class Cell : public CBase_Cell {
 public:
  Cell() = default;
  explicit Cell(CkMigrateMessage*) {}
  void tell(CkCallback where) {
    const int one = 1;
    contribute(sizeof one, &one, CkReduction::sum_int, where);
  }
};

#include "member_handles.def.h"
