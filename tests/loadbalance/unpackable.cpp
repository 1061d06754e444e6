// Elements of which every third has a pup() that goes wrong. Balancing wants to move all of them in each step: those
// that can be packed move, the others stay and work on, and everything is counted.
//
//   unpackable FAULT STEPS [some] [+balancer ...]
//
// "some": the balancer moves some of them, from PE 0 mostly, not all in each step.
// FAULT: none; sizing, packing (an exception), tail (the same, of what is bound to it), more, less (packs another
// number of bytes than it sized), rooted (a class that cannot be made again); unpacking, unpacks_less, unpacks_more:
// where an element has come, which no run survives. Exits 0 when all is right.
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "unpackable.decl.h"

enum Fault { none, sizing, packing, tail, more, less, rooted, unpacking, unpacks_less, unpacks_more, faults };
static const char* const fault_names[] = {"none", "sizing", "packing",   "tail",         "more",
                                          "less", "rooted", "unpacking", "unpacks_less", "unpacks_more"};

CProxy_Main mainProxy;
CProxy_Odd odds;
CProxy_Tail tails;
int fault;
int steps;
constexpr int count = 24;
static bool is_wrong(int index) { return index % 3 == 0; }

#define CHECK(condition)                                    \
  do {                                                      \
    if (!(condition)) {                                     \
      CkPrintf("failed: " #condition " in %d\n", __LINE__); \
      CkExit(1);                                            \
    }                                                       \
  } while (0)

class Main : public CBase_Main {
  bool some_;

 public:
  explicit Main(CkArgMsg* m) {
    const std::string wanted = m->argv[1];
    while (fault < faults && wanted != fault_names[fault]) ++fault;
    CHECK(fault < faults);
    steps = std::atoi(m->argv[2]);
    some_ = m->argc > 3;
    delete m;
    mainProxy = thisProxy;
    odds = CProxy_Odd::ckNew(count);
    CkArrayOptions bound(count);
    bound.bindTo(odds);
    tails = CProxy_Tail::ckNew(bound);
    if (fault == rooted) CProxy_Rooted::ckNew(steps, CkNumPes());
    odds.go();
  }
  // How often all were resumed; how often the good ones and the wrong ones have arrived; told that they leave, that
  // they have come.
  void done(int, const int* x) {
    CHECK(x[0] == count * steps);
    CHECK(x[3] == x[4]);
    const bool stay = fault != none && fault != rooted;
    CHECK(x[3] >= x[1] + x[2]);
    CHECK(!stay || x[2] == 0);
    if (!some_) CHECK(x[1] == (count - count / 3) * steps && x[2] == (stay ? 0 : count / 3 * steps));
    CkPrintf("all is right\n");
    CkExit(0);
  }
};

// An exception or a number of bytes that goes with none, as the fault has it.
static void pup_badly(PUP::er& p, int index) {
  char filler[64] = {};
  if (!is_wrong(index)) return;
  if (fault == sizing && p.isSizing()) throw std::runtime_error("no size today");
  if (fault == packing && p.isPacking()) throw std::runtime_error("no disk today");
  if (fault == unpacking && p.isUnpacking()) throw std::runtime_error("no room today");
  if (fault == more && p.isPacking()) p(filler, 64);
  if (fault == less && p.isSizing()) p(filler, 64);
  if (fault == unpacks_less && !p.isUnpacking()) p(filler, 8);
  if (fault == unpacks_more && p.isUnpacking()) p(filler, 64);
}

class Odd : public CBase_Odd {
  int step_ = 0, resumed_ = 0, arrived_ = 0, leaving_ = 0, come_ = 0, home_ = CkMyPe();
  std::vector<int> kept_;

 public:
  Odd() : kept_(static_cast<std::size_t>(thisIndex) + 1, thisIndex) { usesAtSync = true; }
  explicit Odd(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | step_;
    p | resumed_;
    p | arrived_;
    p | leaving_;
    p | come_;
    p | home_;
    p | kept_;
    pup_badly(p, kept_.empty() ? 0 : kept_[0]);
    if (p.isUnpacking()) ++arrived_;
  }
  void ckAboutToMigrate() override {
    ArrayElement::ckAboutToMigrate();
    ++leaving_;
  }
  void ckJustMigrated() override {
    ArrayElement::ckJustMigrated();
    ++come_;
  }
  void go() {
    setObjTime(home_ == 0 ? 1e-2 : 1e-4);
    AtSync();
  }
  void ResumeFromSync() override {
    CHECK(kept_ == std::vector<int>(static_cast<std::size_t>(thisIndex) + 1, thisIndex));
    CHECK(tails[thisIndex].ckLocal() != nullptr);
    const bool stays = is_wrong(thisIndex) && fault != none && fault != rooted;
    CHECK(!stays || CkMyPe() == home_);
    ++resumed_;
    if (++step_ < steps) return go();
    const int x[] = {resumed_, is_wrong(thisIndex) ? 0 : arrived_, is_wrong(thisIndex) ? arrived_ : 0, leaving_, come_};
    contribute(sizeof x, x, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, done), mainProxy));
  }
};

class Tail : public CBase_Tail {
 public:
  Tail() {}
  explicit Tail(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    if (fault == tail && is_wrong(thisIndex) && p.isPacking()) throw std::runtime_error("no tail today");
  }
};

class Rooted : public CBase_Rooted {
  int left_, home_ = CkMyPe();

 public:
  explicit Rooted(int left) : left_(left) {
    usesAtSync = true;
    AtSync();
  }
  void ResumeFromSync() override {
    CHECK(CkMyPe() == home_);
    if (--left_ > 0) AtSync();
  }
};

#include "unpackable.def.h"
