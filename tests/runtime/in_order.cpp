// A PE tells a group something large and then something small, and a node group's branches, each by its number and all;
// they see whether both have come in order. PEs that pass messages on, or take those of a node group, are busy
// meanwhile. All PEs call the branches of the node group at once, before they exist and afterwards.
#include <vector>

#include "in_order.decl.h"
#include "pup_stl.h"

static void be_busy(double seconds) {
  const double until = CkWallTimer() + seconds;
  while (CkWallTimer() < until) {
  }
}

class Main : public CBase_Main {
  CProxy_Listener listeners_;
  CProxy_Book books_;
  int round_ = 0, checked_ = 0;

 public:
  explicit Main(CkArgMsg* m) {
    delete m;
    books_ = CProxy_Book::ckNew(thisProxy);
    listeners_ = CProxy_Listener::ckNew(thisProxy, books_);
    next();
  }
  void checked() {
    if (++checked_ < 2) return;  // the group and the node group
    checked_ = 0;
    if (++round_ == 200) {
      CkPrintf("all checks passed\n");
      return CkExit();
    }
    next();
  }

 private:
  void next() {
    const std::vector<int> values(round_ % 2 ? 30 : 30000, round_);
    listeners_.begin(round_);
    books_.fill(values);
    for (int node = 0; node < CkNumNodes(); ++node) books_[node].turn(round_);
    listeners_.fill(values);
    listeners_.check(round_);
    for (int node = 0; node < CkNumNodes(); ++node) books_[node].turn(-round_);
    books_.check(round_);
  }
};

class Listener : public CBase_Listener {
  CProxy_Main main_;
  CProxy_Book books_;
  int begun_ = -1, filled_ = -1, number_ = 0;

 public:
  Listener(CProxy_Main main, CProxy_Book books) : main_(main), books_(books) { note(); }
  void begin(int round) {
    begun_ = round;
    note();
    be_busy(20e-6);
  }
  void fill(const std::vector<int>& values) {
    if (begun_ != values[0]) CkAbort("round %d is filled on PE %d, where %d has begun", values[0], CkMyPe(), begun_);
    filled_ = values[0];
  }
  void check(int round) {
    if (filled_ != round) CkAbort("round %d is checked on PE %d, where %d is filled", round, CkMyPe(), filled_);
    contribute(CkCallback(CkReductionTarget(Main, checked), main_));
  }

 private:
  void note() {
    for (int i = 0; i < 4; ++i) books_[CkMyNode()].note(CkMyPe(), ++number_);
  }
};

class Book : public CBase_Book {
  CProxy_Main main_;
  int filled_ = -1, turned_ = 0;
  std::vector<int> noted_ = std::vector<int>(CkNumPes(), 0);  // the last of each PE

 public:
  explicit Book(CProxy_Main main) : main_(main) {}
  void fill(const std::vector<int>& values) { filled_ = values[0]; }
  // First to the round, then back.
  void turn(int round) {
    if (round > 0 ? turned_ > 0 : turned_ != -round) CkAbort("a book is turned to %d behind %d", round, turned_);
    turned_ = round;
  }
  void note(int caller, int number) {
    if (number != noted_[caller] + 1)
      CkAbort("call %d of PE %d comes behind its call %d", number, caller, noted_[caller]);
    noted_[caller] = number;
    be_busy(2e-6);
  }
  void check(int round) {
    if (filled_ != round) CkAbort("round %d is checked on node %d, where %d is filled", round, CkMyNode(), filled_);
    contribute(CkCallback(CkReductionTarget(Main, checked), main_));
  }
};

#include "in_order.def.h"
