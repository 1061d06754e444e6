// In each round a token goes round all PEs, and each comes to the barrier when it has the token, so one after the
// other. A PE that goes on tells all of them: one that has not come to that barrier then sees that it was too early.
#include "barrier.h"

#include "barrier_steps.decl.h"

CProxy_Main mainProxy;
CProxy_Comer comers;
CkGroupID barrier_id;

constexpr int rounds = 20;
static void go_on();

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    mainProxy = thisProxy;
    barrier_id = barrierInit();
    comers = CProxy_Comer::ckNew();
    if (m->argc > 1)
      comers[0].come_twice();
    else
      comers[0].token();
    delete m;
  }
  void done(int wrong) {
    if (wrong != 0) CkPrintf("failed: %d times a PE has gone on too early\n", wrong);
    CkExit(wrong == 0 ? 0 : 1);
  }
};

class Comer : public CBase_Comer {
  int tokens_ = 0, came_ = 0, went_on_ = 0, told_ = 0, wrong_ = 0;

 public:
  Comer() = default;
  void come_twice() {
    come();
    come();
  }
  void token() {
    ++tokens_;
    come_if_ready();
  }
  void go_on() {
    if (went_on_ >= came_) ++wrong_;
    comers.has_gone_on(went_on_++);
    if (went_on_ < rounds && went_on_ % CkNumPes() == CkMyPe()) ++tokens_;
    come_if_ready();
  }
  void has_gone_on(int round) {
    if (came_ <= round) ++wrong_;
    if (++told_ == rounds * CkNumPes())
      contribute(sizeof wrong_, &wrong_, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, done), mainProxy));
  }

 private:
  void come() {
    FP* message = new FP;
    message->fp = ::go_on;
    CProxy_Barrier(barrier_id)[CkMyPe()].atBarrier(message);
  }
  void come_if_ready() {
    if (went_on_ < came_ || tokens_ <= came_) return;
    const int round = came_++, next = (CkMyPe() + 1) % CkNumPes();
    if (round % 3 == 0) CProxy_Barrier(barrier_id)[CkMyPe()].reset();
    come();
    if (next != round % CkNumPes()) comers[next].token();
  }
};

static void go_on() { comers.ckLocalBranch()->go_on(); }

#include "barrier_steps.def.h"
