// Clients on every PE and a few elements go through the same steps. What is special about each step stands in
// Watcher::begin_round(). Usage: barriers [alone | stay]: without workers; with a client
// that never comes.
#include <cksyncbarrier.h>

#include <string>
#include <vector>

#include "barriers.decl.h"

CProxy_Main mainProxy;
CProxy_Watcher watchers;
CProxy_Worker workers;

namespace {
constexpr int workers_made = 5;
constexpr int long_enough = 5000;     // messages of a PE to itself, in which a step could begin
constexpr int rounds_of_workers = 6;  // then there are none
enum Round { joins = 1, twice = 3, again, turned_off = 6, absent, travels };
constexpr int rounds = travels + 1;
bool stay = false;

void require(bool right, const char* what) {
  if (!right) CkAbort("%s", what);
}
}  // namespace

class Main : public CBase_Main {
 public:
  Main(CkArgMsg* m) {
    const std::string what = m->argc > 1 ? m->argv[1] : "";
    stay = what == "stay";
    delete m;
    mainProxy = thisProxy;
    watchers = CProxy_Watcher::ckNew();
    workers = CProxy_Worker::ckNew(what == "alone" ? 0 : workers_made);
    watchers.go();
    workers.go();
  }
  void finished(int n, int* counts) {
    const int pes = CkNumPes();
    require(n == 3 && counts[0] == rounds * pes, "each PE has been through each step");
    require(counts[1] == (rounds + 1) / 2 * pes, "a receiver that is turned off is called");
    require(counts[2] == rounds * pes, "each client is resumed once a step");
    CkPrintf("barriers: all checks passed\n");
    CkExit();
  }
};

class Watcher : public CBase_Watcher {
  CkSyncBarrier* const barrier_ = CkSyncBarrier::object();
  LDBarrierClient client_, absent_;
  LDBarrierReceiver begin_, receiver_, counter_, end_;
  enum { outside, begun, received } state_ = outside;
  bool waits_ = false, off_ = false, has_absent_ = false;
  int round_ = 0, steps_ = 0, counted_ = 0, resumed_ = 0;
  bool is_first() const { return CkMyPe() == 0; }
  bool is_last() const { return CkMyPe() == CkNumPes() - 1; }

 public:
  int in_sync = 0;  // workers of this PE

  Watcher() {
    require(barrier_->hasReceivers() == (LBManager::GetLBPeriod() < 0), "whether the balancer is a receiver");
    begin_ = barrier_->addBeginReceiver(this, &Watcher::on_begin);
    receiver_ = LBManager::Object()->AddLocalBarrierReceiver(this, &Watcher::on_receive);
    counter_ = barrier_->addReceiver([this] { ++counted_; });
    end_ = barrier_->addEndReceiver([this] { on_end(); });
    client_ = barrier_->addClient(this, &Watcher::resume);
  }
  void go() { begin_round(); }

  // --- a step ---
  void on_begin() {
    require(state_ == outside, "a step begins in another one");
    require(!off_ && !has_absent_, "a step begins without all");
    require(waits_ || (round_ == travels && is_first()), "a step begins without its client");
    require(in_sync == static_cast<int>(workers.ckLocalBranch()->getNumLocalElems()), "a step begins without workers");
    state_ = begun;
  }
  void on_receive() {
    require(state_ == begun, "a receiver is called before the one for the beginning");
    state_ = received;
    ++steps_;
    if (round_ == joins && is_first()) add_absent();
  }
  void on_end() {
    require(state_ == received, "an end that had no beginning");
    state_ = outside;
    in_sync = 0;
    if (steps_ % 2 == 1)
      CkSyncBarrier::turnOffReceiver(counter_);
    else
      CkSyncBarrier::turnOnReceiver(counter_);
    if (steps_ == rounds) barrier_->removeEndReceiver(end_);
  }
  void resume() {
    require(state_ == outside && waits_, "it is resumed within a step, or where it doesn't wait");
    waits_ = false;
    ++resumed_;
    if (has_absent_) thisProxy[CkMyPe()].vanish(long_enough);
    if (++round_ == rounds) return end();
    begin_round();
  }

  // --- its client ---
  void begin_round() {
    if (stay && is_last()) return;
    if (round_ == again && is_first()) {  // it has come already
      waits_ = true;
      return;
    }
    if (round_ == turned_off && is_last()) {
      off_ = true;
      barrier_->turnOff();
      thisProxy[CkMyPe()].turn(long_enough);
    }
    if (round_ == absent && is_first()) {
      add_absent();
      thisProxy[CkMyPe()].vanish(long_enough);
    }
    if (round_ == travels && is_first()) return travel();
    if (round_ == travels && is_last()) return;  // when the other one is there
    thisProxy[CkMyPe()].come((3 * CkMyPe() + round_) % 5);
  }
  void add_absent() {
    has_absent_ = true;
    absent_ = barrier_->addClient(this, [] { CkAbort("a client that has never come is resumed"); });
  }
  void come(int hops) {
    if (hops > 0) return thisProxy[CkMyPe()].come(hops - 1);
    waits_ = true;
    barrier_->atBarrier(client_);
    if (round_ == twice && is_first()) barrier_->atBarrier(client_);
  }
  void turn(int hops) {
    if (hops > 0) return thisProxy[CkMyPe()].turn(hops - 1);
    off_ = false;
    barrier_->turnOn();
  }
  void vanish(int hops) {
    if (hops > 0) return thisProxy[CkMyPe()].vanish(hops - 1);
    has_absent_ = false;
    barrier_->removeClient(absent_);
  }
  // It waits here, and is resumed elsewhere.
  void travel() {
    barrier_->atBarrier(client_);
    const int epoch = (*client_)->epoch;
    barrier_->removeClient(client_);
    thisProxy[CkNumPes() - 1].receive(epoch);
  }
  void receive(int epoch) {
    barrier_->addClient(
        this, [this] { thisProxy[0].back(); }, epoch);
    if (!is_first()) come(0);
  }
  void back() {
    ++resumed_;
    end();
  }
  void end() {
    const std::vector<int> counts{steps_, counted_, resumed_};
    contribute(counts, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, finished), mainProxy));
  }
};

class Worker : public CBase_Worker {
  int rounds_ = 0;

 public:
  Worker() { usesAtSync = true; }
  explicit Worker(CkMigrateMessage*) {}
  void pup(PUP::er& p) override { p | rounds_; }
  void go() {
    ++watchers.ckLocalBranch()->in_sync;
    AtSync();
  }
  void ResumeFromSync() override {
    if (++rounds_ == rounds_of_workers)
      ckDestroy();
    else
      go();
  }
};

#include "barriers.def.h"
