// A planted mistake: the teller pays, and counts on the bank having been opened, and stocked, which messages to another
// object say that are sent before. So it is in the usual order; nothing promises it. Around that is a lot of work.
//
//   hasty [none] +p1 ...       "none": without the mistake
//
// Exits with 3 when the teller has nothing to pay with.
#include <cstring>

#include "hasty.decl.h"

CProxy_Main main_proxy;
CProxy_Worker workers;
CProxy_Bank bank;
CProxy_Teller teller;

static bool opened = false, stocked = false, careful = false;
constexpr int worker_count = 12, rounds = 40;

class Main : public CBase_Main {
  int left_ = worker_count;

 public:
  explicit Main(CkArgMsg* m) {
    careful = m->argc > 1 && std::strcmp(m->argv[1], "none") == 0;
    delete m;
    main_proxy = thisProxy;
    bank = CProxy_Bank::ckNew(0);
    teller = CProxy_Teller::ckNew(0);
    workers = CProxy_Worker::ckNew(worker_count);
    workers.work(rounds);
  }
  void done() {
    if (--left_ == 0) CkExit();
  }
};

class Bank : public CBase_Bank {
 public:
  void open() { opened = true; }
  void stock() { stocked = true; }
};

class Teller : public CBase_Teller {
 public:
  void pay() {
    if (careful || (opened && stocked)) return;
    CkPrintf("the teller pays, and the bank is not %s\n", opened ? "stocked" : "open");
    CkExit(3);
  }
};

class Worker : public CBase_Worker {
 public:
  Worker() {}
  explicit Worker(CkMigrateMessage*) {}
  void work(int left) {
    if (thisIndex == 5 && left == rounds / 2) {
      bank.open();
      bank.stock();
      teller.pay();
    }
    if (left == 0) return main_proxy.done();
    thisProxy[thisIndex].work(left - 1);
  }
};

#include "hasty.def.h"
