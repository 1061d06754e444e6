// Bodies of entries whose whens wait for what a base declares that stands in another .ci, a base of a base too, in
// namespaces, and as a template.
#include "charm++.h"

namespace first {
class Note;
}
#include "far_bases_first.decl.h"

namespace first {
class Note : public CMessage_Note {
 public:
  int* values;
};
class Base : public CBase_Base {
  Base_SDAG_CODE protected : int sum_ = 0;

 public:
  Base() {}
  explicit Base(CkMigrateMessage*) {}
  void add(int v) { sum_ += v; }
};
class Member : public CBase_Member {
  Member_SDAG_CODE protected : int sum_ = 0;

 public:
  Member() {}
  virtual void heard(int n) { sum_ += n; }
};
template <class T>
class Table : public CBase_Table<T> {
  Table_SDAG_CODE protected : T sum_;

 public:
  explicit Table(T start) : sum_(start) {}
  explicit Table(CkMigrateMessage*) {}
  void add(T v) { sum_ += v; }
  virtual void ended() {}
};
}  // namespace first

#include "far_bases_second.decl.h"

namespace second {
class Middle : public CBase_Middle {
  Middle_SDAG_CODE public : Middle() {}
  explicit Middle(CkMigrateMessage*) {}
};
class Colleague : public CBase_Colleague {
 public:
  void unused() {}
};
}  // namespace second

#include "far_bases.decl.h"

CProxy_Main mainProxy;

namespace first {
class Twig : public CBase_Twig {
 public:
  Twig() {}
  explicit Twig(CkMigrateMessage*) {}
};
}  // namespace first
class Leaflet : public CBase_Leaflet {
  Leaflet_SDAG_CODE public : Leaflet() {}
  explicit Leaflet(CkMigrateMessage*) {}
};
template <class T>
class Elder : public CBase_Elder<T> {
  Elder_SDAG_CODE public : Elder() {}
  explicit Elder(CkMigrateMessage*) {}
  void give(T value) {
    CkCallback numbered(CkIndex_Elder<T>::redn_wrapper_result(nullptr), this->thisProxy);
    numbered.setRefNum(7);
    this->contribute(sizeof value, &value, CkReduction::sum_double, numbered);
  }
  void tell(T sum) {
    if (this->thisIndex == 0) mainProxy.told(static_cast<int>(sum));
  }
};
template <class T>
class Nearer : public CBase_Nearer<T> {
  Nearer_SDAG_CODE public : Nearer() {}
  explicit Nearer(CkMigrateMessage*) {}
};
template <class T>
class Nearest : public CBase_Nearest<T> {
  Nearest_SDAG_CODE public : Nearest() {}
  explicit Nearest(CkMigrateMessage*) {}
};
class Youngest : public CBase_Youngest {
  Youngest_SDAG_CODE public : Youngest() {}
  explicit Youngest(CkMigrateMessage*) {}
};

class Main : public CBase_Main {
  int missing_ = 1 + 2 * 3 + CkNumPes() + 1 + 2, sum_ = 0;

 public:
  Main(CkArgMsg* m);
  void told(int sum) {
    sum_ += sum;
    if (--missing_ > 0) return;
    if (sum_ != 3 * (1 + 20 + 300 + 4 + 5000) + 2 * 3 * (7 + 1 + 2 + 3) + CkNumPes() * (4 + 50) + 9 + 2 * 2 * 46)
      CkAbort("a when has waited for another call: %d", sum_);
    CkPrintf("all checks passed\n");
    CkExit();
  }
};
class Leaf : public CBase_Leaf {
  Leaf_SDAG_CODE public : Leaf() {}
  explicit Leaf(CkMigrateMessage*) {}
  void give() {
    contribute(sizeof sum_, &sum_, CkReduction::sum_int, CkCallback(CkReductionTarget(Leaf, total), thisProxy));
  }
};
class Last : public CBase_Last {
  Last_SDAG_CODE int calls_ = 0;

 public:
  Last() {}
  void heard(int n) override {
    sum_ += n;
    if (++calls_ == 2) mainProxy.told(sum_);
  }
};
class Sheet : public CBase_Sheet {
  Sheet_SDAG_CODE int ends_ = 0;

 public:
  Sheet() : CBase_Sheet(7) {}
  explicit Sheet(CkMigrateMessage* m) : CBase_Sheet(m) {}
  void ended() override {
    if (++ends_ == 2) mainProxy.told(sum_);
  }
};

namespace {
template <class Proxy>
void run(const Proxy& proxy) {
  proxy.own();
  proxy.token(1, 2, 3);
  const CProxy_Elder<double>& elder = proxy;
  elder.token(2, 4);
}
}  // namespace

Main::Main(CkArgMsg* m) {
  delete m;
  mainProxy = thisProxy;
  CProxy_Leaf leaves = CProxy_Leaf::ckNew(3);
  leaves.begin(1);
  leaves.tick(1, 1);
  leaves.middle(2);
  leaves.tick(2, 2);
  for (int i = 0; i < 2; ++i) {
    auto* note = new (1) first::Note;
    note->values[0] = 4 + i;
    if (i == 0)
      leaves.listen();
    else
      leaves.both();
    leaves.note(note);
  }
  leaves.leaf(3);
  leaves.tick(3, 3);
  CProxy_Last members = CProxy_Last::ckNew();
  members.begin();
  members.go(4);
  members.more();
  members.go(5);
  CProxy_Sheet sheets = CProxy_Sheet::ckNew(2, 3);
  sheets.run();
  sheets.got(1);
  sheets.other(9);
  sheets.own();
  sheets.got(2);
  sheets.other(3);
  CProxy_Leaflet leaflets = CProxy_Leaflet::ckNew(1);
  leaflets.leaf(4);
  leaflets.tick(4, 9);
  run(CProxy_Nearest<double>(CProxy_Nearest<double>::ckNew(2)));
  run(CProxy_Youngest(CProxy_Youngest::ckNew(2)));
}

#include "far_bases.def.h"
#include "far_bases_first.def.h"
#include "far_bases_second.def.h"
