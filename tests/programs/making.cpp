// Constructors of elements that run the scheduler, which brings orders to these very elements: by their proxies, by
// entries of their own, by the constructors themselves, and to elements that are bound to them. Such an element moves
// and is destroyed when its constructor has returned.
//
// program_making [balanced|late|measured] ...: instead, constructors of bound elements that wait for the end of a step
// of a balancer, and a second step when they have returned. balanced, late: it is RotateLB, which moves all that may
// move. late: sizes are asked for, and the constructors begin when their PE has said them.
//
// program_making saved ...: a checkpoint of an element whose constructor runs, which ends the run.
#include <cstring>
#include <utility>
#include <vector>

#include "making.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Slow slow;
/*readonly*/ CProxy_Host hosts;
/*readonly*/ int cells;
/*readonly*/ bool rotates;
/*readonly*/ bool late;

namespace {
constexpr int yields = 100;

void require(bool right, const char* wrong) {
  if (!right) CkAbort("%s", wrong);
}
}  // namespace

class Main : public CBase_Main {
  CProxy_Guest guests_;
  int greeted_ = 0, moved_ = 0, destroyed_ = 0, steps_ = 0;

 public:
  explicit Main(CkArgMsg* arguments) {
    const char* const how = arguments->argc > 1 ? arguments->argv[1] : "";
    late = std::strcmp(how, "late") == 0;
    rotates = late || std::strcmp(how, "balanced") == 0;
    const bool steps = rotates || std::strcmp(how, "measured") == 0;
    delete arguments;
    mainProxy = thisProxy;
    if (steps) {
      hosts = CProxy_Host::ckNew(4 * CkNumPes());
      late ? hosts.synchronize() : thisProxy.insert(0);
      return;
    }
    if (std::strcmp(how, "saved") == 0) {
      thisProxy.begin();
      thisProxy.save();
      return;
    }
    cells = 6 * CkNumPes();
    slow = CProxy_Slow::ckNew();
    thisProxy.work();
  }
  void work() {
    CkArrayOptions options;
    options.bindTo(slow);
    CProxy_Beside beside = CProxy_Beside::ckNew(options);
    for (int i = 0; i < cells; ++i) {
      const int pe = i % CkNumPes(), next = (i + 1) % CkNumPes();
      slow[i].insert(pe);
      const int way = i / CkNumPes();
      if (way != 3 && way != 4) slow[i].greet();  // which an order by a proxy may overtake
      switch (way) {
        case 0:
          slow[i].move(next);
          break;
        case 1:
          slow[i].ckEmigrate(next);
          break;
        case 2:
          slow[i].leave();
          break;
        case 3:
          slow[i].ckDestroy();
          break;
        case 4:
          break;  // orders itself in its constructor
        default:
          beside[i].insert(pe);
          beside[i].ckEmigrate(next);
      }
    }
    slow.doneInserting();
    beside.doneInserting();
  }
  // Those of this PE are made inside, which has to wait for the next ones.
  void insert(int guest) {
    if (guest == 4 * CkNumPes()) return guests_.doneInserting();
    if (guest == 0) {
      CkArrayOptions options;
      options.bindTo(hosts);
      guests_ = CProxy_Guest::ckNew(options);
    }
    thisProxy.insert(guest + 1);
    guests_[guest].insert();
  }
  void begin() { CProxy_Endless::ckNew(1); }
  void save() { CkStartCheckpoint("making.saved", CkCallback(CkIndex_Main::saved(), thisProxy)); }
  void saved() { CkAbort("an element is written to a checkpoint whose constructor runs"); }
  void synchronized() {
    if (++steps_ == 1) return hosts.synchronize();
    CkPrintf("all checks passed\n");
    CkExit();
  }
  void greeted() { ++greeted_, look(); }
  void moved() { ++moved_, look(); }
  void destroyed() { ++destroyed_, look(); }

 private:
  // What is lost is missing for ever. (Quiescence does not wait for a constructor that yields.)
  void look() {
    const int moves = CkNumPes() == 1 ? 0 : 3 * CkNumPes();
    const int greets = 4 * CkNumPes();
    if (greeted_ < greets || moved_ < moves || destroyed_ < 3 * CkNumPes()) return;
    require(greeted_ == greets && moved_ == moves && destroyed_ == 3 * CkNumPes(), "something has come twice");
    CkPrintf("all checks passed\n");
    CkExit();
  }
};

class Slow : public CBase_Slow {
  bool made_ = false, leaves_ = false;
  std::vector<int> memory_ = std::vector<int>(100, thisIndex);

 public:
  Slow() {
    if (thisIndex / CkNumPes() == 4) ckDestroy();
    for (int i = 0; i < yields; ++i) {
      CthYield();
      for (const int number : memory_) require(number == thisIndex, "an element is gone whose constructor runs");
    }
    made_ = true;
  }
  explicit Slow(CkMigrateMessage*) {}
  ~Slow() override {
    require(made_, "an element is destroyed whose constructor runs");
    memory_.assign(100, -1);
    if (!leaves_) mainProxy.destroyed();
  }
  void pup(PUP::er& p) override {
    require(made_ || p.isUnpacking(), "an element is packed whose constructor runs");
    p | made_;
    p | memory_;
  }
  void ckAboutToMigrate() override { leaves_ = true; }
  void ckJustMigrated() override { mainProxy.moved(); }
  void greet() { mainProxy.greeted(); }
  void move(int pe) { migrateMe(pe); }
  void leave() { ckDestroy(); }
};

class Beside : public CBase_Beside {
  bool made_ = false;

 public:
  Beside() {
    for (int i = 0; i < yields; ++i) CthYield();
    made_ = true;
  }
  explicit Beside(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    require(made_ || p.isUnpacking(), "a bound element is packed whose constructor runs");
    p | made_;
  }
};

class Host : public CBase_Host {
  int steps_ = 0, from_ = -1;
  bool measured_ = false;

 public:
  Host() { usesAtSync = true; }
  explicit Host(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    // What this begins comes before what the step tells the PE to do.
    if (p.isSizing() && late && thisIndex == 0 && !std::exchange(measured_, true)) mainProxy.insert(0);
    p | steps_;
    p | from_;
    p | measured_;
  }
  int steps() const { return steps_; }
  void synchronize() {
    from_ = CkMyPe();
    AtSync();
  }
  void ResumeFromSync() override {
    if (++steps_ == 1) return;  // what is bound to it goes on
    if (rotates) require((CkMyPe() != from_) == (CkNumPes() > 1), "elements stay whose constructors have returned");
    contribute(CkCallback(CkReductionTarget(Main, synchronized), mainProxy));
  }
};

// Waits in its constructor for a step that its host takes part in.
class Guest : public CBase_Guest {
  bool made_ = false;

 public:
  Guest() {
    Host* const host = hosts[thisIndex].ckLocal();
    if (!late) host->synchronize();
    while (host->steps() == 0) CthYield();
    made_ = true;
    contribute(CkCallback(CkReductionTarget(Main, synchronized), mainProxy));
  }
  explicit Guest(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    require(made_ || p.isUnpacking(), "a bound element is packed or measured whose constructor runs");
    p | made_;
  }
};

class Endless : public CBase_Endless {
 public:
  Endless() {
    while (thisIndex == 0) CthYield();
  }
  explicit Endless(CkMigrateMessage*) {}
};

#include "making.def.h"
