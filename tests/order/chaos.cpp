// A program whose course depends on the order of all its messages: each cell keeps a hash of what has come, and goes by
// it in what it does next. So one message that overtakes another changes all that follows. At the end it prints
//
//   history 1f93c0a4 places 9b2e    what came to the cells, in which order; on which PEs they are
//
// What one cell sends to another must keep its order; the program aborts where it does not.
#include <cstdlib>
#include <string>
#include <vector>

#include "chaos.decl.h"

CProxy_Main main_proxy;
CProxy_Cell cells;
CProxy_Relay relays;
int cell_count, hops, crash_at;

namespace {
constexpr int rounds = 3, numbers = 12, friends = 3;

unsigned long mixed(unsigned long a, unsigned long b) {
  unsigned long z = (a ^ (b + 0x9E3779B97F4A7C15u + (a << 6))) * 0xBF58476D1CE4E5B9u;
  return z ^ z >> 29;
}
}  // namespace

class Main : public CBase_Main {
  int round_ = 0;

  void go() {
    cells.begin(round_);
    CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
  }

 public:
  Main(CkArgMsg* arguments) {
    main_proxy = thisProxy;
    cell_count = 24;
    hops = arguments->argc > 1 ? std::atoi(arguments->argv[1]) : 60;
    crash_at = arguments->argc > 2 ? std::atoi(arguments->argv[2]) : -1;
    delete arguments;
    relays = CProxy_Relay::ckNew();
    cells = CProxy_Cell::ckNew(cell_count);
    go();
  }
  void quiet() { cells.balance(); }
  void balanced() {
    if (++round_ < rounds) return go();
    cells.report();
  }
  void told(long* sums, int) {
    CkPrintf("history %lx places %lx\n", sums[0], sums[1]);
    CkExit();
  }
};

class Relay : public CBase_Relay {
  unsigned long history_ = 0;

 public:
  Relay() {}
  void pass(int from, int left, unsigned long state) {
    history_ = mixed(history_, state);
    cells[static_cast<int>(history_ % cell_count)].token(from, left, history_);
  }
};

class Cell : public CBase_Cell {
  unsigned long history_;
  int seen_ = 0;
  std::vector<int> next_;  // by sender: the number that it sends next

  void handle(int from, int left, unsigned long state) {
    history_ = mixed(history_, state + from);
    if (++seen_ == crash_at && thisIndex == 0) CkAbort("cell 0 crashes, its history is %lx", history_);
    if (left == 0) return;
    const int to = static_cast<int>((history_ >> 20) % cell_count);
    int rest[20] = {};
    switch (history_ % 6) {
      case 0:
        return cells[to].parcel(thisIndex, left - 1, history_, rest, 20);
      case 1:
        return cells[to].stroll(thisIndex, left - 1, history_);
      case 2:
        return relays[static_cast<int>((history_ >> 20) % CkNumPes())].pass(thisIndex, left - 1, history_);
      case 3: {
        CkEntryOptions options;
        options.setPriority(static_cast<int>(history_ >> 30) % 5 - 2);
        return cells[to].token(thisIndex, left - 1, history_, &options);
      }
      default:
        return cells[to].token(thisIndex, left - 1, history_);
    }
  }

 public:
  Cell() : history_(thisIndex), next_(cell_count) { usesAtSync = true; }
  Cell(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | history_;
    p | seen_;
    p | next_;
  }
  void begin(int round) {
    int rest[20] = {};
    for (int k = 0; k < numbers; ++k)
      for (int f = 1; f <= friends; ++f)
        cells[(thisIndex + 5 * f) % cell_count].numbered(thisIndex, round * numbers + k, rest, k % 2 ? 20 : 1);
    handle(thisIndex, hops, history_);
  }
  void numbered(int from, int number, int*, int) {
    if (next_[from]++ != number) CkAbort("cell %d: number %d from %d is out of its order", thisIndex, number, from);
    history_ = mixed(history_, from);
  }
  void token(int from, int left, unsigned long state) { handle(from, left, state); }
  void parcel(int from, int left, unsigned long state, int*, int) { handle(from, left, state); }
  void stroll(int from, int left, unsigned long state) {
    for (int i = 0; i < 3; ++i) CthYield();
    handle(from, left, state);
  }
  void balance() { AtSync(); }
  void ResumeFromSync() override { contribute(CkCallback(CkReductionTarget(Main, balanced), main_proxy)); }
  void report() {
    const long sums[] = {static_cast<long>(history_ >> 8), (thisIndex + 1L) * (CkMyPe() + 1) * (CkMyPe() + 1)};
    contribute(sizeof sums, sums, CkReduction::sum_long, CkCallback(CkReductionTarget(Main, told), main_proxy));
  }
};
#include "chaos.def.h"
