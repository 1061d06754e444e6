// Every object calls every other one through [aggregate] entries: many short calls, long ones, some that beget others,
// to elements that move. Rounds of few calls, which fill no buffer, and of many; quiescence says when all have come.
#include <algorithm>
#include <numeric>
#include <vector>

#include "NDMeshStreamer.h"
#include "streams.decl.h"

CProxy_Main mainProxy;
CProxy_Table tables;
CProxy_Cell cells;

namespace {
constexpr int rounds = 4;
constexpr int cells_per_pe = 2;
constexpr int hops = 25;

// Calls from each to each in a round: one, more than buffers hold, none, some.
int calls(int round) {
  const int elements = cells_per_pe * CkNumPes();
  const int many = std::max(1, 15000 / (elements * elements));
  const int counts[rounds] = {1, many, 0, many / 2};
  return counts[round];
}

// What arrives in a round, in all: from each member to each, and on from there.
CmiInt8 table_calls(int round) {
  const CmiInt8 pairs = static_cast<CmiInt8>(CkNumPes()) * CkNumPes();
  return pairs * (calls(round) + 1) + CkNumPes() * (hops + 1);
}
CmiInt8 cell_calls(int round) {
  const CmiInt8 elements = static_cast<CmiInt8>(CkNumPes()) * cells_per_pe;
  return elements * elements * calls(round) + elements * (hops + 1);
}
}  // namespace

class Main : public CBase_Main {
 public:
  Main(CkArgMsg* message) {
    delete message;
    mainProxy = thisProxy;
    tables = CProxy_Table::ckNew();
    cells = CProxy_Cell::ckNew(cells_per_pe * CkNumPes());
    begin();
  }
  void quiet() {
    tables.tell();
    cells.tell();
  }
  void counted(int n, CmiInt8* sums) {
    if (n != 2) CkAbort("%d sums", n);
    const CmiInt8 wanted = sums[0] == 0 ? table_calls(round_) : cell_calls(round_);
    if (sums[1] != wanted)
      CkAbort("round %d: %" PRId64 " calls came to the %s, not %" PRId64, round_, sums[1],
              sums[0] == 0 ? "group" : "array", wanted);
    if (++told_ < 2) return;
    told_ = 0;
    if (++round_ < rounds) return begin();
    CkPrintf("all checks passed\n");
    CkExit();
  }

 private:
  void begin() {
    CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
    tables.begin();
    cells.begin();
  }
  int round_ = 0, told_ = 0;
};

class Table : public CBase_Table {
 public:
  Table() {}
  void begin() {
    const int round = round_++;
    for (int i = 0; i < calls(round); ++i)
      for (int pe = 0; pe < CkNumPes(); ++pe) thisProxy[pe].add(pe);
    const std::vector<CmiInt8> ones(static_cast<std::size_t>(1 + round * 3), 1);  // short enough for a line, or not
    for (int pe = 0; pe < CkNumPes(); ++pe) thisProxy[pe].addMany(static_cast<int>(ones.size()), ones.data());
    thisProxy[(CkMyPe() + 1) % CkNumPes()].passOn(hops, ones);
  }
  void add(CmiInt8 to) {
    if (to != CkMyPe()) CkAbort("PE %d got a call for PE %d", CkMyPe(), static_cast<int>(to));
    ++came_;
  }
  void addMany(int n, CmiInt8* values) { came_ += std::accumulate(values, values + n, CmiInt8{0}) == n; }
  void passOn(int left, const std::vector<CmiInt8>& values) {
    came_ += values.front();
    if (left > 0) thisProxy[(CkMyPe() + left) % CkNumPes()].passOn(left - 1, values);
  }
  void tell() {
    const CmiInt8 sums[] = {0, came_};
    came_ = 0;
    contribute(sizeof sums, sums, CkReduction::sum_long_long, CkCallback(CkReductionTarget(Main, counted), mainProxy));
  }

 private:
  CmiInt8 came_ = 0;
  int round_ = 0;
};

class Cell : public CBase_Cell {
 public:
  Cell() {}
  explicit Cell(CkMigrateMessage*) {}
  void begin() {
    const int elements = cells_per_pe * CkNumPes(), round = round_++;
    for (int i = 0; i < calls(round); ++i)
      for (int to = 0; to < elements; ++to) thisProxy[to].take(thisIndex, 1);
    thisProxy[(thisIndex + 1) % elements].relay(hops);
    if (round % 2) migrateMe((CkMyPe() + 1 + thisIndex) % CkNumPes());  // while others send
  }
  void take(int from, CmiInt8 value) {
    if (from < 0 || from >= cells_per_pe * CkNumPes()) CkAbort("a call from element %d", from);
    came_ += value;
  }
  void relay(int left) {
    ++came_;
    if (left > 0) thisProxy[(thisIndex + left) % (cells_per_pe * CkNumPes())].relay(left - 1);
  }
  void tell() {
    const CmiInt8 sums[] = {thisIndex == 0, came_};
    came_ = 0;
    contribute(sizeof sums, sums, CkReduction::sum_long_long, CkCallback(CkReductionTarget(Main, counted), mainProxy));
  }
  void pup(PUP::er& p) {
    p | came_;
    p | round_;
  }

 private:
  CmiInt8 came_ = 0;
  int round_ = 0;
};

#include "streams.def.h"
