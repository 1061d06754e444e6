// A step of load balancing in which everything moves: all elements of an array call AtSync, the balancer sends each to
// the next PE, and all go on. bench/figures prints its row.
//
//   migrate_all +pN +balancer RotateLB [--elements N] [--rounds N] [--json FILE]
//
// A round is from the broadcast that makes the elements call AtSync to the end of a reduction over all of them that
// have gone on. With +balancer DummyLB nothing moves: what the rest of a step costs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"
#include "migrate_all.decl.h"

/*readonly*/ CProxy_Main mainProxy;

class Item : public CBase_Item {
  char state_[64] = {};

 public:
  Item() { usesAtSync = true; }
  explicit Item(CkMigrateMessage*) {}
  void step() { AtSync(); }
  void ResumeFromSync() override { contribute(CkCallback(CkReductionTarget(Main, done), mainProxy)); }
  void pup(PUP::er& p) override { PUParray(p, state_, 64); }
};

class Main : public CBase_Main {
  CProxy_Item items_;
  int elements_ = 100000, rounds_ = 11;
  std::string json_;
  std::vector<double> times_;  // ns
  std::uint64_t begin_ = 0;

 public:
  explicit Main(CkArgMsg* m) {
    for (int i = 1; i + 1 < m->argc; i += 2) {
      const std::string option = m->argv[i];
      if (option == "--elements") elements_ = std::atoi(m->argv[i + 1]);
      if (option == "--rounds") rounds_ = std::max(1, std::atoi(m->argv[i + 1]));
      if (option == "--json") json_ = m->argv[i + 1];
    }
    delete m;
    mainProxy = thisProxy;
    items_ = CProxy_Item::ckNew(elements_);
    start();
  }
  void done() {
    times_.push_back(static_cast<double>(periapt::clock::now_ns() - begin_));
    if (static_cast<int>(times_.size()) <= rounds_) return start();
    times_.erase(times_.begin());  // warms
    std::sort(times_.begin(), times_.end());
    report();
    CkExit();
  }

 private:
  void start() {
    begin_ = periapt::clock::now_ns();
    items_.step();
  }
  void report() {
    const double best = 1e-6 * times_.front(), p10 = 1e-6 * times_[times_.size() / 10],
                 median = 1e-6 * times_[times_.size() / 2], target = CkNumPes() > 2 ? 10 : 60;
    CkPrintf("%d elements of 64 B on %d PEs: best %.1f, median %.1f ms\n", elements_, CkNumPes(), best, median);
    if (json_.empty()) return;
    std::FILE* file = std::fopen(json_.c_str(), "w");
    if (!file) CkAbort("cannot write %s", json_.c_str());
    std::fprintf(file,
                 "{\"rows\": [{\"name\": \"migrate-all\", \"text\": \"a step in which %d elements of 64 B move, ms\", "
                 "\"best\": %.3f, \"p10\": %.3f, \"median\": %.3f, \"limit\": 0, \"target\": %.0f}]}\n",
                 elements_, best, p10, median, target);
    std::fclose(file);
  }
};

#include "migrate_all.def.h"
