// Constructors of elements that run the scheduler, which brings orders to these very elements: by their proxies, by
// entries of their own, by the constructors themselves, and to elements that are bound to them. Such an element moves
// and is destroyed when its constructor has returned.
#include <vector>

#include "making.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Slow slow;
/*readonly*/ int cells;

namespace {
constexpr int yields = 100;

void require(bool right, const char* wrong) {
  if (!right) CkAbort("%s", wrong);
}
}  // namespace

class Main : public CBase_Main {
  int greeted_ = 0, moved_ = 0, destroyed_ = 0;

 public:
  explicit Main(CkArgMsg* arguments) {
    delete arguments;
    mainProxy = thisProxy;
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

#include "making.def.h"
