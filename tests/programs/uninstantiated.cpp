// Calls an entry that a template would have for int, if the .ci file had asked for it: the run ends, and says so.
#include "uninstantiated.decl.h"

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    delete m;
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

class Counts : public CBase_Counts {
 public:
  Counts() = default;
  explicit Counts(CkMigrateMessage* m) : CBase_Counts(m) {}
  void begin() { Ring<int>::thisProxy[1].pass(3); }
};

#include "uninstantiated.def.h"
