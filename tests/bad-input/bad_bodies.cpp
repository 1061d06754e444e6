// See bad_bodies.ci.
#include <string>

#include "bad_base.decl.h"
#include "pup_stl.h"

class Base : public CBase_Base {
 public:
  Base() {}
  explicit Base(CkMigrateMessage*) {}
  void method(int) {}
};

#include "bad_bodies.decl.h"

class Waiter : public CBase_Waiter {
  Waiter_SDAG_CODE public : Waiter() {}
  explicit Waiter(CkMigrateMessage*) {}
  static CmiInt8 largest() { return (CmiInt8{1} << 47) - 1; }
  void packMe() {
    PUP::sizer p;
    virtual_pup(p);
  }
};

#include "bad_base.def.h"
#include "bad_bodies.def.h"
