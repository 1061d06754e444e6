// A wave is what one grower inserts and then calls all leaves with: those leaves must hear of it, and no leaf twice.
#include <map>

#include "insertions.decl.h"
#include "pup_stl.h"

CProxy_Main mainProxy;
CProxy_Leaf leaves;

namespace {
constexpr int growers = 8;
constexpr int leaves_a_wave = 20;
constexpr int turns = 5;
constexpr int late_ones = 40;
}  // namespace

class Main : public CBase_Main {
  CProxy_Grower growers_;
  CProxy_Late late_;
  int turn_ = 0;
  int heard_ = 0;
  bool held_ = false;

 public:
  Main(CkArgMsg* m) {
    delete m;
    mainProxy = thisProxy;
    leaves = CProxy_Leaf::ckNew();
    leaves.doneInserting();
    growers_ = CProxy_Grower::ckNew(growers);
    late_ = CProxy_Late::ckNew();
    growers_.call_late(late_);
    CkStartQD(CkCallback(CkIndex_Main::nobody(), thisProxy));
  }
  // What waits for an element that does not exist is not under way.
  void nobody() {
    if (heard_ != 0) CkAbort("%d calls of elements that do not exist", heard_);
    late_.ckLocalBranch()->beginInserting();
    for (int i = 0; i < late_ones; ++i) late_[i].insert((i * 3) % CkNumPes());
    late_.doneInserting();
    CkStartQD(CkCallback(CkIndex_Main::all_late(), thisProxy));
  }
  void heard(int n) { heard_ += n; }
  void all_late() {
    if (heard_ != growers * late_ones * 2) CkAbort("%d calls of elements that came late", heard_);
    grow();
  }
  void grow() {
    ++turn_;
    growers_.grow();
    CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
  }
  // Their reduction waits for this PE, which says alone that others come.
  void quiet() {
    leaves.ckLocalBranch()->remoteBeginInserting();
    held_ = true;
    leaves.tell();
    CkStartQD(CkCallback(CkIndex_Main::release(), thisProxy));
  }
  void release() {
    held_ = false;
    leaves.ckLocalBranch()->remoteDoneInserting();
  }
  void told(int, int* sums) {
    if (held_) CkAbort("a reduction did not wait for a PE that inserts");
    if (sums[0] != turn_ * growers * leaves_a_wave) CkAbort("%d leaves in turn %d", sums[0], turn_);
    if (sums[1] != 0) CkAbort("%d leaves have not heard of their own wave once", sums[1]);
    if (sums[2] != 0) CkAbort("%d leaves have heard of a wave twice", sums[2]);
    if (turn_ < turns) return grow();
    CkPrintf("all checks passed\n");
    CkExit();
  }
};

class Late : public CBase_Late {
  std::map<int, int> calls_;  // by caller

 public:
  Late() = default;
  Late(CkMigrateMessage*) {}
  void hear(int n) {
    if (calls_[n / 2]++ != n % 2) CkAbort("the calls of %d came in the wrong order", n / 2);
    mainProxy.heard(1);
  }
};

class Grower : public CBase_Grower {
  int turn_ = 0;

 public:
  Grower() = default;
  Grower(CkMigrateMessage*) {}
  void call_late(CProxy_Late late) {
    for (int i = 0; i < 2 * late_ones; ++i) late[i % late_ones].hear(2 * thisIndex + i / late_ones);
  }
  void grow() {
    const int wave = turn_++ * growers + thisIndex;
    for (int i = 0; i < leaves_a_wave; ++i) leaves[wave * leaves_a_wave + i].insert(wave, (thisIndex + i) % CkNumPes());
    leaves.hear(wave);
  }
};

class Leaf : public CBase_Leaf {
  int wave_ = 0;
  std::map<int, int> heard_;  // how often, by wave

 public:
  Leaf(int wave) : wave_(wave) {}
  Leaf(CkMigrateMessage* m) : CBase_Leaf(m) {}
  void pup(PUP::er& p) override {
    p | wave_;
    p | heard_;
  }
  void hear(int wave) {
    ++heard_[wave];
    if ((wave + thisIndex) % 3 == 0) migrateMe((CkMyPe() + 1 + wave) % CkNumPes());
  }
  void tell() {
    int sums[] = {1, heard_[wave_] != 1, 0};
    for (const auto& [_, times] : heard_) sums[2] += times > 1;
    contribute(sizeof sums, sums, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, told), mainProxy));
  }
};

#include "insertions.def.h"
