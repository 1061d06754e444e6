// Calls an entry, or makes an element or a group, that a template would have for int, if the .ci file had asked for it:
// the run ends, and says so.
#include <string>

#include "uninstantiated.decl.h"

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    const std::string way = m->argc > 1 ? m->argv[1] : "call";
    delete m;
    if (way == "group") {
      CProxy_Hub<int>::ckNew();
      return;
    }
    if (way == "array") {
      CProxy_Ring<int>::ckNew(2);
      return;
    }
    CProxy_Counts counts = CProxy_Counts::ckNew(2);
    counts[0].begin();
  }
};

template <class T>
class Ring : public CBase_Ring<T> {
 public:
  Ring() = default;
  explicit Ring(CkMigrateMessage*) {}
  void pass(T) {}
};

template <class T>
class Hub : public CBase_Hub<T> {};

class Counts : public CBase_Counts {
 public:
  Counts() = default;
  explicit Counts(CkMigrateMessage* m) : CBase_Counts(m) {}
  void begin() { Ring<int>::thisProxy[1].pass(3); }
};

#include "uninstantiated.def.h"
