// Threads of entries, and the objects whose entries they run: an object stays as long as they do, and goes then. Ends
// with status 7.
#include <utility>
#include <vector>

#include "charm++.h"
#include "threads.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Thinker thinkers;
/*readonly*/ CProxy_Member members;

#define MUST(x) \
  if (!(x)) CkAbort("%s:%d: not so: %s", __FILE__, __LINE__, #x)

namespace {
int idle_periods = 0;
bool looks = false;  // an entry on the main chare's PE looks after messages
}  // namespace

class Thinker : public CBase_Thinker {
 public:
  Thinker() { usesAtSync = true; }
  explicit Thinker(CkMigrateMessage*) {}
  ~Thinker() override { alive = 0; }
  void pup(PUP::er& p) override {
    p | came;
    p | steps;
  }
  void ckJustMigrated() override { ++came; }

  // Waits to be woken; the element may be told to move meanwhile.
  void think(CkFuture done) {
    const int pe = CkMyPe();
    MUST(sleeper == nullptr);
    sleeper = CthSelf();
    CthSuspend();
    sleeper = nullptr;
    MUST(alive == this_is_alive && CkMyPe() == pe && ckLocal_is_this());
    CkSendToFuture(done, CkDataMsg::buildNew(0, nullptr));
  }
  // Moves itself, and goes on.
  void leave(CkFuture done) {
    const int pe = CkMyPe(), times = came;
    migrateMe((pe + 1) % CkNumPes());
    for (int i = 0; i < 10; ++i) CthYield();
    MUST(alive == this_is_alive && came == times && ckLocal_is_this());
    CkSendToFuture(done, CkDataMsg::buildNew(0, nullptr));
  }
  // Destroys itself, after having waited.
  void perish(CkFuture done) {
    CthYield();
    ckDestroy();
    CkSendToFuture(done, CkDataMsg::buildNew(0, nullptr));
  }
  // Ends without a return.
  void stop() {
    CthYield();
    CthFree(CthSelf());
  }
  // Of a balancing step that moves every element that may move: those whose threads wait in it stay.
  void step() {
    const int pe = CkMyPe();
    for (int i = 0; i < 3; ++i) {
      waits = CthSelf();
      AtSync();
      CthSuspend();
      MUST(alive == this_is_alive && CkMyPe() == pe);
    }
    mainProxy.synced();
  }
  void begin() { AtSync(); }
  void ResumeFromSync() override {
    if (waits) return CthAwaken(std::exchange(waits, nullptr));
    if (++steps < 3)
      AtSync();
    else
      mainProxy.synced();
  }
  void wake() {
    MUST(sleeper != nullptr);
    CthAwaken(sleeper);
  }
  void move(int to) {
    const bool sleeps = sleeper != nullptr;
    migrateMe(to);
    if (sleeps) MUST(alive == this_is_alive);  // else it may be gone by now
  }
  // Looks after other messages, which tell the element to go.
  void look(CkFuture done) {
    const int pe = CkMyPe();
    looks = true;
    while (looks) CsdSchedulePoll();
    for (int i = 0; i < 3; ++i) CsdSchedulePoll();
    MUST(alive == this_is_alive && CkMyPe() == pe && ckLocal_is_this());
    CkSendToFuture(done, CkDataMsg::buildNew(0, nullptr));
  }
  int where() { return CkMyPe(); }

 private:
  bool ckLocal_is_this() { return thisProxy[thisIndex].ckLocal() == this; }
  static constexpr int this_is_alive = 4711;
  int alive = this_is_alive;
  int came = 0, steps = 0;
  CthThread sleeper = nullptr, waits = nullptr;
};

class Single : public CBase_Single {
 public:
  Single(CkFuture its_start, CkFuture its_done) : start(its_start), done(its_done) { thisProxy.live(); }
  void live() {
    CkWaitVoidFuture(start);
    CkSendToFuture(done, CkDataMsg::buildNew(0, nullptr));
    delete this;
  }

 private:
  CkFuture start, done;
};

class Member : public CBase_Member {
 public:
  void wait(CkFuture until, CkFuture done) {
    CkWaitVoidFuture(until);
    CkSendToFuture(done, CkDataMsg::buildNew(0, nullptr));
  }
};

// Without a partner in the array that is bound to its own.
class Lone : public CBase_Lone {
 public:
  Lone() = default;
  explicit Lone(CkMigrateMessage*) {}
  void move(int to) { migrateMe(to); }
  int where() { return CkMyPe(); }
};
class Partner : public CBase_Partner {
 public:
  Partner() = default;
  explicit Partner(CkMigrateMessage*) {}
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* args) {
    delete args;
    mainProxy = thisProxy;
    thinkers = CProxy_Thinker::ckNew(CkNumPes());
    members = CProxy_Member::ckNew();
    thisProxy.run();
  }

  void run() {
    move_waits_for_threads();
    threads_of_others_hold_nothing();
    orders_wait_for_entries();
    thread_moves_its_element();
    thread_destroys_its_object();
    thread_ends_without_a_return();
    first_of_many_futures();
    waiting_takes_no_time();
    balancing_leaves_those_that_wait();
    CkPrintf("threads: all chapters\n");
    CkExit(7);
  }
  void synced() {
    if (--to_sync == 0) CthAwaken(self);
  }

 private:
  static void finish(CkFuture future) {
    CkFreeMsg(CkWaitFuture(future));
    CkReleaseFuture(future);
  }
  // Until element 0 is there.
  static void comes_to(int pe) {
    while (thinkers[0].where() != pe) CthYield();
  }

  void move_waits_for_threads() {
    const int here = CkMyPe(), there = (here + 1) % CkNumPes();
    for (bool from_elsewhere : {false, true}) {
      CkFuture first = CkCreateFuture();
      thinkers[0].think(first);
      MUST(thinkers[0].where() == here);
      if (from_elsewhere)
        thinkers[0].ckEmigrate(there);
      else
        thinkers[0].move(there);
      MUST(thinkers[0].where() == here);
      thinkers[0].wake();
      finish(first);
      comes_to(there);
      thinkers[0].move(here);
      comes_to(here);
    }
  }
  // Threads of a member and of a chare wait on the PE that elements leave.
  void threads_of_others_hold_nothing() {
    const int here = CkMyPe(), there = (here + 1) % CkNumPes();
    CkFuture until = CkCreateFuture(), ended = CkCreateFuture();
    members[here].wait(until, ended);
    CProxy_Lone lones = CProxy_Lone::ckNew();
    CkArrayOptions options;
    options.bindTo(lones);
    CProxy_Partner partners = CProxy_Partner::ckNew(options);
    for (int i = 0; i < 3; ++i) lones[i].insert(here);
    partners[0].insert(here);
    lones.doneInserting();
    partners.doneInserting();
    CthYield();
    for (int i = 0; i < 3; ++i) lones[i].move(there);
    CkWaitQD();
    for (int i = 0; i < 3; ++i) MUST(lones[i].where() == there);
    CkSendToFuture(until, CkDataMsg::buildNew(0, nullptr));
    finish(ended);
    CkReleaseFuture(until);
  }
  // Of an entry that runs a scheduler of its own: this thread goes on in there.
  void orders_wait_for_entries() {
    const int here = CkMyPe(), there = (here + 1) % CkNumPes();
    CkFuture done = CkCreateFuture();
    thinkers[0].look(done);
    while (!looks) CthYield();
    thinkers[0].ckEmigrate(there);
    CthYield();
    looks = false;
    finish(done);
    comes_to(there);
    thinkers[0].move(here);
    comes_to(here);

    done = CkCreateFuture();
    CProxy_Thinker short_lived = CProxy_Thinker::ckNew();
    short_lived[0].insert(here);
    short_lived[0].look(done);
    while (!looks) CthYield();
    short_lived[0].ckDestroy();
    CthYield();
    looks = false;
    finish(done);
    while (short_lived[0].ckLocal()) CthYield();
    short_lived.doneInserting();
  }
  void thread_moves_its_element() {
    for (int i = 0; i < 2 * CkNumPes(); ++i) {
      const int pe = thinkers[0].where();
      CkFuture done = CkCreateFuture();
      thinkers[0].leave(done);
      finish(done);
      comes_to((pe + 1) % CkNumPes());
    }
  }
  void thread_destroys_its_object() {
    for (int i = 0; i < 3; ++i) {
      CkFuture done = CkCreateFuture();
      thinkers[1000].insert();
      thinkers[1000].perish(done);
      finish(done);
    }
    std::vector<CkFuture> ended;
    CkFuture start = CkCreateFuture();
    for (int i = 0; i < 300; ++i) {
      ended.push_back(CkCreateFuture());
      CProxy_Single::ckNew(start, ended.back(), CkMyPe());
    }
    CkSendToFuture(start, CkDataMsg::buildNew(0, nullptr));
    for (CkFuture future : ended) finish(future);
    CkReleaseFuture(start);
  }
  void thread_ends_without_a_return() {
    const int there = (CkMyPe() + 1) % CkNumPes();
    thinkers[0].stop();
    thinkers[0].move(there);
    comes_to(there);
    thinkers[0].move(CkMyPe());
    comes_to(CkMyPe());
  }

  // Whichever is set next, in whatever order, also several before the thread goes on.
  void first_of_many_futures() {
    constexpr int count = 20;
    std::vector<ck::future<int>> futures(count);
    for (int i = 0; i < count; ++i) {
      const int set = i * 7 % count;
      CcdCallFnAfter([](void* future, double) { static_cast<ck::future<int>*>(future)->set(1); }, &futures[set],
                     static_cast<double>(i / 4));
    }
    std::vector<ck::future<int>> pending = futures;
    while (!pending.empty()) {
      auto [value, at] = ck::wait_any(pending.begin(), pending.end());
      MUST(value == 1);
      pending.erase(at);
    }
    for (ck::future<int>& future : futures) future.release();
  }
  // A thread that waits for one of several futures lets its PE become idle.
  void waiting_takes_no_time() {
    const int registered = CcdCallOnConditionKeep(
        CcdPROCESSOR_BEGIN_IDLE, [](void*) { ++idle_periods; }, nullptr);
    std::vector<ck::future<int>> futures(2);
    const int before = idle_periods;
    CcdCallFnAfter([](void* future, double) { static_cast<ck::future<int>*>(future)->set(idle_periods); }, &futures[1],
                   20);
    auto [value, at] = ck::wait_any(futures.begin(), futures.end());
    MUST(at == futures.begin() + 1);
    MUST(value > before);
    CcdCancelCallOnConditionKeep(CcdPROCESSOR_BEGIN_IDLE, registered);
    for (ck::future<int>& future : futures) future.release();
  }

  void balancing_leaves_those_that_wait() {
    self = CthSelf();
    to_sync = CkNumPes();
    for (int i = 0; i < CkNumPes(); ++i)
      if (i % 2 == 0)
        thinkers[i].step();
      else
        thinkers[i].begin();
    CthSuspend();
  }

  CthThread self = nullptr;
  int to_sync = 0;
};

#include "threads.def.h"
