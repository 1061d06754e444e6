// Items of 8 B from every PE to all others in an order by chance, until quiescence: to a group and to an array of four
// elements a PE, each as plain calls and as [aggregate] ones (TRAM). Prints items a second, all PEs together, the best
// and the middle round. An ordinary Charm++ program: a rival's charmc compiles it too, with -module NDMeshStreamer.
//
//   all_to_all [ITEMS a PE] [ROUNDS]
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "NDMeshStreamer.h"
#include "all_to_all.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Element elements;
/*readonly*/ int itemsPerPe;

namespace {
enum Row { group_plain, group_together, array_plain, array_together, row_count };
const char* const row_names[] = {"group, plain", "group, [aggregate]", "array, plain", "array, [aggregate]"};
constexpr int elements_per_pe = 4;
}  // namespace

class Main : public CBase_Main {
  Main_SDAG_CODE int row, round, rounds = 5;
  double begin_ = 0;
  std::vector<double> rates_;
  CProxy_Peer peers_;

 public:
  explicit Main(CkArgMsg* m);
  explicit Main(CkMigrateMessage*) {}
  int rows() const { return row_count; }
  void start();
  void note();
  void check(CmiInt8 items);
};

class Element : public CBase_Element {
  CmiInt8 items_ = 0;

 public:
  Element() {}
  explicit Element(CkMigrateMessage*) {}
  void plain(const CmiUInt8&) { items_++; }
  void together(const CmiUInt8&) { items_++; }
  void count() {
    contribute(sizeof items_, &items_, CkReduction::sum_long, CkCallback(CkReductionTarget(Main, counted), mainProxy));
    items_ = 0;
  }
};

class Peer : public CBase_Peer {
  CmiInt8 items_ = 0;

 public:
  Peer() {}
  explicit Peer(CkMigrateMessage*) {}
  void plain(const CmiUInt8&) { items_++; }
  void together(const CmiUInt8&) { items_++; }
  void scatter(int row) {
    CmiUInt8 key = 88172645463325252ULL + 7919ULL * CkMyPe();
    const int pes = CkNumPes();
    for (int i = 0; i < itemsPerPe; i++) {
      key ^= key << 13, key ^= key >> 7, key ^= key << 17;
      const auto chance = static_cast<unsigned>(key >> 32);
      switch (row) {
        case group_plain:
          thisProxy[chance % pes].plain(key);
          break;
        case group_together:
          thisProxy[chance % pes].together(key);
          break;
        case array_plain:
          elements[chance % (pes * elements_per_pe)].plain(key);
          break;
        case array_together:
          elements[chance % (pes * elements_per_pe)].together(key);
          break;
      }
    }
  }
  void count() {
    contribute(sizeof items_, &items_, CkReduction::sum_long, CkCallback(CkReductionTarget(Main, counted), mainProxy));
    items_ = 0;
  }
};

Main::Main(CkArgMsg* m) {
  itemsPerPe = m->argc > 1 ? std::atoi(m->argv[1]) : 100000;
  if (m->argc > 2) rounds = std::atoi(m->argv[2]);
  delete m;
  mainProxy = thisProxy;
  peers_ = CProxy_Peer::ckNew();
  elements = CProxy_Element::ckNew(CkNumPes() * elements_per_pe);
  CkPrintf("%d PEs, %d items of 8 B from each, %d rounds: million items a second, best and middle\n", CkNumPes(),
           itemsPerPe, rounds);
  thisProxy.run();
}

void Main::start() {
  begin_ = CkWallTimer();
  peers_.scatter(row);
  CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
}

// The first round fills caches and pools, and is not counted.
void Main::note() {
  if (round > 0) rates_.push_back(1e-6 * itemsPerPe * CkNumPes() / (CkWallTimer() - begin_));
  if (row == group_plain || row == group_together)
    peers_.count();
  else
    elements.count();
}

void Main::check(CmiInt8 items) {
  if (items != static_cast<CmiInt8>(itemsPerPe) * CkNumPes()) CkAbort("items are missing");
  if (round < rounds) return;
  std::sort(rates_.begin(), rates_.end());
  CkPrintf("  %-20s %8.1f %8.1f\n", row_names[row], rates_.back(), rates_[rates_.size() / 2]);
  rates_.clear();
}

#include "all_to_all.def.h"
