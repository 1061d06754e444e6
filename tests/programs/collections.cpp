// The maps that every program has; messages to the members of a process; the lock of a node group; elements that a call
// makes; chares and elements with two bases, and three. Each step of Main is one check.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <set>
#include <vector>

#include "collections.decl.h"

CProxy_Main mainProxy;
CProxy_Members members;
CProxy_Ledger ledger;

namespace {
constexpr int cells = 11;
constexpr int bookings = 20;
constexpr int late_arrays = 20;
constexpr int late_elements = 12;
constexpr int betweens = 5;

void require(bool right, const char* wrong) {
  if (!right) CkAbort("%s", wrong);
}
}  // namespace

class Shared : public CMessage_Shared {
 public:
  std::atomic<int> seen{0};
  int* filling;
};

class Main : public CBase_Main {
  int step_ = 0, expected_ = 0;
  CProxy_Cell array_;
  CProxy_Lazy lazy_;
  CProxy_Late late_[late_arrays];
  std::set<std::array<int, 3>> tiles_;  // what each of them has told: its index, and whether it was asked

 public:
  Main(CkArgMsg* m) {
    delete m;
    mainProxy = thisProxy;
    members = CProxy_Members::ckNew();
    ledger = CProxy_Ledger::ckNew();
    thisProxy.step();
  }

  // An array of `cells` elements tells where they are.
  void place(CkGroupID map) {
    CkArrayOptions options(cells);
    options.setMap(map);
    array_ = CProxy_Cell::ckNew(options);
    array_.tell();
  }

  void step() {
    switch (step_++) {
      case 0:
        return place(CProxy_RRMap::ckNew());
      case 1:
        return place(CProxy_BlockMap::ckNew());
      case 2:
        return place(CProxy_DefaultArrayMap::ckNew());
      case 3:
        return place(CProxy_FastArrayMap::ckNew());
      case 4:
        return place(CProxy_ReadFileMap::ckNew());
      case 5:
        return place(CProxy_Simple1DFileMap::ckNew());
      case 6:
        return place(CProxy_ConfigurableRRMap::ckNew());
      case 7:
        return place(CProxy_PropMap::ckNew());
      case 8:
        return place(CProxy_CldMap::ckNew());
      case 9:
        return place(CProxy_Shifted::ckNew());
      case 10: {  // each element says that it is there, and answers to an index of no certain dimension
        CkArrayOptions options(5, 7);
        options.setMap(CProxy_HilbertArrayMap::ckNew());
        expected_ = 70;
        const CkArrayID tiles = CProxy_Tile::ckNew(options);
        for (int i = 0; i < 35; ++i) {
          const CkArrayIndex index = CkArrayIndex2D(i % 5, i / 5);
          CProxyElement_Tile(tiles, index).ask();
        }
        return;
      }
      case 11:
      case 12: {  // so many see the message of their process before them
        expected_ = 0;
        for (int node = 0; node < CkNumNodes(); ++node) expected_ += CkNodeSize(node) * (CkNodeSize(node) - 1) / 2;
        if (step_ == 13) expected_ = 0;  // each has its own
        return step_ == 12 ? ledger.share() : ledger.copies();
      }
      case 13:  // [exclusive] entries and those that hold the lock, side by side
        expected_ = 2 * CkNumPes();
        return members.book(bookings);
      case 14:
        expected_ = 2 * CkNumPes();
        lazy_ = CProxy_Lazy::ckNew();
        return members.lazy(lazy_);
      case 15: {
        expected_ = 11 + 5 * betweens;
        CProxy_Between between = CProxy_Between::ckNew(betweens);
        between.up(1);
        between.CProxy_Lower::low(2);
        between.meet(4);
        CProxy_Grandchild grandchild = CProxy_Grandchild::ckNew(CkNumPes() - 1);
        grandchild.left(1);
        grandchild.middle(2);
        grandchild.right(4);
        grandchild.own(8);
        CProxy_Child child = CProxy_Child::ckNew(7, CkNumPes() - 1);
        child.left(1);
        child.right(2);
        child.own(4);
        child.both(8);
        CProxy_Left left(child.ckGetChareID());
        return left.left(16);
      }
      case 16: {  // elements that a map knows, and no options name
        CkArrayOptions options;
        options.setMap(CProxy_Spreading::ckNew());
        return CProxy_Grain(CProxy_Grain::ckNew(options)).count();
      }
      case 17:  // elements that are inserted far away and sent for at once, by what goes to all and comes another way
        expected_ = late_arrays;
        for (CProxy_Late& late : late_) {
          late = CProxy_Late::ckNew();
          for (int i = 0; i < late_elements; ++i) late[i].insert(7 * i % CkNumPes());
          late.doneInserting();
          late.count();
        }
        return;
      case 18:  // into arrays that are in use
        expected_ = late_arrays;
        for (CProxy_Late& late : late_) {
          late[late_elements].insert(CkNumPes() - 1);
          late.count();
        }
        return;
      default:
        CkPrintf("all checks passed\n");
        CkExit();
    }
  }

  void answered(int) {
    if (--expected_ == 0) thisProxy.step();
  }
  void tile(int x, int y, bool asked) {
    require(x >= 0 && x < 5 && y >= 0 && y < 7, "an element has an index that its array does not have");
    require(tiles_.insert({x, y, asked}).second,
            asked ? "a call has come to another element, or twice" : "an element of two dimensions was made twice");
    answered(0);
  }
  void summed(int sum) {
    require(sum == expected_, step_ == 12 ? "a message within a process is not shared" : "a message has two owners");
    thisProxy.step();
  }
  void counted(int grains) {
    require(grains == CkNumPes(), "a map has not made the elements that it knows");
    thisProxy.step();
  }
  void heard(int elements) {
    require(elements == late_elements + (step_ == 19),
            "an element that was inserted before a broadcast has not heard it");
    answered(0);
  }
  void made(int index, int pe, int wanted) {
    if (pe != wanted) CkAbort("element %d was made on PE %d, not %d", index, pe, wanted);
    answered(0);
  }

  void placed(int n, int* at) {
    const int pes = CkNumPes();
    const int larger = cells % pes, size = cells / pes, ceiling = (cells + pes - 1) / pes;
    for (int i = 0; i < n; ++i) {
      int wanted = 0;
      switch (step_ - 1) {
        case 0:
        case 6:
        case 8:
          wanted = i % pes;
          break;
        case 1:
        case 2:
        case 7:
          wanted = i < larger * (size + 1) ? i / (size + 1) : larger + (i - larger * (size + 1)) / std::max(size, 1);
          break;
        case 3:
          wanted = i / ceiling;
          break;
        case 9:
          wanted = (i + 1) % pes;
          break;
        default:  // the file says 0 for each
          break;
      }
      if (at[i] != wanted) CkAbort("step %d: element %d is on PE %d, not %d", step_ - 1, i, at[i], wanted);
    }
    array_.ckDestroy();
    thisProxy.step();
  }
};

class Shifted : public CBase_Shifted {
 public:
  Shifted() = default;
  int procNum(int array, const CkArrayIndex& index) override { return (RRMap::procNum(array, index) + 1) % CkNumPes(); }
};

/// An element a PE, whatever the options say.
class Spreading : public CBase_Spreading {
 public:
  Spreading() = default;
  int procNum(int, const CkArrayIndex& index) override { return index.data()[0] / 3; }
  void populateInitial(int, CkArrayOptions&, void* message, CkArray* manager) override {
    manager->insertInitial(CkArrayIndex1D(3 * CkMyPe()), message);
    manager->doneInserting();
  }
};
class Grain : public CBase_Grain {
 public:
  Grain() = default;
  Grain(CkMigrateMessage*) {}
  void count() {
    const int here = thisIndex == 3 * CkMyPe();
    contribute(sizeof here, &here, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, counted), mainProxy));
  }
};

class Late : public CBase_Late {
 public:
  Late() = default;
  Late(CkMigrateMessage*) {}
  void count() {
    const int one = 1;
    contribute(sizeof one, &one, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, heard), mainProxy));
  }
};

class Cell : public CBase_Cell {
 public:
  Cell() = default;
  Cell(CkMigrateMessage*) {}
  void tell() {
    int at[cells] = {};
    at[thisIndex] = CkMyPe();
    contribute(sizeof at, at, CkReduction::sum_int, CkCallback(told, nullptr));
  }
  static void told(void*, void* message) {
    auto* sum = static_cast<CkReductionMsg*>(message);
    mainProxy.placed(cells, static_cast<int*>(sum->getData()));
    delete sum;
  }
};

class Tile : public CBase_Tile {
 public:
  Tile() {
    require(CkMyPe() == thisProxy.ckLocMgr()->homePe(CkArrayIndex2D(thisIndex.x, thisIndex.y)),
            "an element was made elsewhere than its map says");
    mainProxy.tile(thisIndex.x, thisIndex.y, false);
  }
  Tile(CkMigrateMessage*) {}
  void ask() { mainProxy.tile(thisIndex.x, thisIndex.y, true); }
};

// Made by a call to an index that has no element: where the call came from, or at home. A call before that waits.
class Lazy : public CBase_Lazy {
 public:
  Lazy() = default;
  Lazy(CkMigrateMessage*) {}
  void before() { waited_ = true; }
  void here(int caller) { made_on(caller); }
  void atHome() { made_on(thisProxy.ckLocMgr()->homePe(CkArrayIndex1D(thisIndex))); }

 private:
  void made_on(int wanted) {
    if (!waited_) CkAbort("element %d has lost the call before the one that made it", thisIndex);
    mainProxy.made(thisIndex, CkMyPe(), wanted);
  }
  bool waited_ = false;
};

class Ledger : public CBase_Ledger {
 public:
  std::atomic<bool> open{false};
  int entries = 0;

  Ledger() = default;
  void share() { CkBroadcastWithinNode(CkIndex_Members::look(nullptr), message(), members); }
  void copies() { CkWithinNodeBroadcast(CkIndex_Members::take(nullptr), message(), members); }
  void book() {
    write();
    if (entries == 2 * bookings * CkMyNodeSize()) finished();
  }
  // Only with the lock.
  void write() {
    require(!open.exchange(true), "two write into a ledger at a time");
    usleep(20);
    ++entries;
    open = false;
  }
  void finished() {
    for (int i = 0; i < 2 * CkMyNodeSize(); ++i) mainProxy.answered(0);
  }

 private:
  static Shared* message() {
    auto* shared = new (300) Shared;
    std::fill(shared->filling, shared->filling + 300, 5);
    return shared;
  }
};

class Members : public CBase_Members {
 public:
  Members() = default;
  void look(Shared* message) { saw(message->seen++, message); }
  void take(Shared* message) {
    saw(message->seen++, message);
    delete message;
  }
  // One by an entry of the ledger, one with its lock, and so on.
  void book(int times) {
    Ledger* here = ledger.ckLocalBranch();
    ledger[CkMyNode()].book();
    CmiLock(here->__nodelock);
    here->write();
    const bool last = here->entries == 2 * bookings * CkMyNodeSize();
    CmiUnlock(here->__nodelock);
    if (last) here->finished();
    if (times > 1) thisProxy[CkMyPe()].book(times - 1);
  }
  void lazy(CProxy_Lazy lazy) {
    const int next = (CkMyPe() + 1) % CkNumPes();  // the home of the first
    lazy[next].before();
    lazy[next].here(CkMyPe());
    lazy[CkNumPes() + CkMyPe()].before();
    lazy[CkNumPes() + CkMyPe()].atHome();
  }

 private:
  void saw(int before, Shared* message) {
    require(message->filling[0] == 5 && message->filling[299] == 5, "a message has changed within its process");
    contribute(sizeof before, &before, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, summed), mainProxy));
  }
};

class Left : public CBase_Left {
 public:
  int a = 0;
  Left() = default;
  virtual ~Left() = default;
  void left(int) {
    require(a == 7, "an entry of the first base runs on another object");
    mainProxy.answered(0);
  }
  virtual void both(int) { CkAbort("the entry of a base was called, not the one that overrides it"); }
};
class Right : public CBase_Right {
 public:
  int b = 0;
  Right() = default;
  virtual ~Right() = default;
  void right(int) {
    require(b == 14, "an entry of the second base runs on another object");
    mainProxy.answered(0);
  }
  void inPlace() { right(0); }
  virtual void both(int) { CkAbort("the entry of a base was called, not the one that overrides it"); }
};
class Child : public CBase_Child {
 public:
  explicit Child(int value) { a = value, b = 2 * value; }
  void own(int) {
    require(a == 7 && b == 14, "an entry of a class with two bases runs on another object");
    CkCallback(CkIndex_Right::inPlace(), thisProxy.ckGetChareID(), true).send();
    mainProxy.answered(0);
  }
  void both(int) override {
    require(a == 7 && b == 14, "an entry that two bases have runs on another object");
    mainProxy.answered(0);
  }
};
class Middle : public CBase_Middle {
 public:
  int c = 0;
  Middle() = default;
  virtual ~Middle() = default;
  void middle(int) {
    require(c == 21, "an entry of the middle base runs on another object");
    mainProxy.answered(0);
  }
  virtual void both(int) { CkAbort("the entry of a base was called, not the one that overrides it"); }
};
class Grandchild : public CBase_Grandchild {
 public:
  Grandchild() { a = 7, b = 14, c = 21; }
  void own(int) {
    require(a == 7 && b == 14 && c == 21, "an entry of a class with three bases runs on another object");
    mainProxy.answered(0);
    thisProxy.both(16);
  }
  void both(int) override {
    require(a == 7 && b == 14 && c == 21, "an entry that three bases have runs on another object");
    mainProxy.answered(0);
  }
};

class Upper : public CBase_Upper {
 public:
  int up_ = 0;
  Upper() = default;
  explicit Upper(CkMigrateMessage*) {}
  void pup(PUP::er& p) override { p | up_; }
  void up(int number) {
    up_ += number;
    mainProxy.answered(0);
  }
};
class Lower : public CBase_Lower {
 public:
  int low_ = 0;
  Lower() = default;
  explicit Lower(CkMigrateMessage*) {}
  void pup(PUP::er& p) override { p | low_; }
  void low(int number) {
    low_ += number;
    mainProxy.answered(0);
  }
  void inPlace() {
    require(low_ == 2, "a callback in place runs an entry of the second base on another object");
    mainProxy.answered(0);
  }
};
// Both bases have an index and a manager under the same names; all the same an object is one element of one array.
class Between : public CBase_Between {
 public:
  Between() = default;
  explicit Between(CkMigrateMessage* message) : CBase_Between(message) {}
  void pup(PUP::er&) override {}
  void meet(int number) {
    require(up_ == 1 && low_ == 2, "an element of a class with two bases has lost what they hold");
    require(Upper::thisIndex == Lower::thisIndex, "the bases of an element have other indices");
    mainProxy.answered(0);
    if (number == 0) return;
    CkCallback(CkIndex_Lower::inPlace(), Upper::thisProxy[Upper::thisIndex], true).send();
    thisProxy[Upper::thisIndex].meet(0);
    Upper::migrateMe((CkMyPe() + 1) % CkNumPes());
  }
};

#include "collections.def.h"
