// An entry polls, asks the last PE, and polls until it is answered. How often it polls before it asks is what clocks
// say in other programs, and in this one the environment: ASKING_POLLS. A timer ticks meanwhile.
#include <cstdlib>

#include "asking.decl.h"

CProxy_Main main_proxy;

class Teller : public CBase_Teller {
 public:
  void tell() { main_proxy.answer(); }
};

// Steps that find something to do, all the time.
static void tick(void*, double) { CcdCallFnAfter(tick, nullptr, 10); }

class Main : public CBase_Main {
  CProxy_Teller tellers_;
  bool answered_ = false;

 public:
  explicit Main(CkArgMsg* m) {
    delete m;
    main_proxy = thisProxy;
    tellers_ = CProxy_Teller::ckNew();
    thisProxy.ask();
  }
  void ask() {
    tick(nullptr, 0);
    const char* polls = std::getenv("ASKING_POLLS");
    for (int left = polls != nullptr ? std::atoi(polls) : 0; left > 0; --left) CsdSchedulePoll();
    tellers_[CkNumPes() - 1].tell();
    while (!answered_) CsdSchedulePoll();
    CkPrintf("answered\n");
    CkExit();
  }
  void answer() { answered_ = true; }
};

#include "asking.def.h"
