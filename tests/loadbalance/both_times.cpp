// Elements that sleep longer than they work, and move before they call AtSync: a balancer over CentralLB gets the wall
// time of each and, with +LBUseCpuTime, the processor time, which is what our own code balances. One says its load.
//
//   both_times +p2 +balancer TimesLB [+LBUseCpuTime]
#include <unistd.h>

#include "CentralLB.h"
#include "both_times.decl.h"
#include "ckgraph.h"

CProxy_Main main_proxy;

namespace {
constexpr int count = 4, says_its_load = 3;
constexpr double asleep = 0.1, spell = 20e-3, said = 7;

void check(bool right, const char* what, double wall, double processor) {
  if (!right) CkAbort("both_times: %s: wall time %g s, processor time %g s\n", what, wall, processor);
}
}  // namespace

class TimesLB : public CBase_TimesLB {
 public:
  explicit TimesLB(const CkLBOptions& options) : CBase_TimesLB(options) { lbname = "TimesLB"; }
  explicit TimesLB(CkMigrateMessage* m) : CBase_TimesLB(m) {}
  void work(LDStats* stats) override {
    const bool both = _lb_args.useCpuTime();
    double sum = 0;
    int saying = 0;
    const ObjGraph graph(stats);
    for (std::size_t i = 0; i < stats->objData.size(); ++i) {
      const double wall = stats->objData[i].wallTime, processor = stats->objData[i].cpuTime;
      sum += processor;
      check(graph.vertices[i].getVertexLoad() == (both ? processor : wall), "a load is another one", wall, processor);
      if (wall >= said && processor >= said) {  // and the end of its entry
        ++saying;
        continue;
      }
      check(wall >= asleep + 0.99 * spell, "an element has slept and worked", wall, processor);
      if (both)
        check(processor >= 0.99 * spell && processor < asleep, "an element has worked", wall, processor);
      else
        check(processor == wall, "one of them is measured", wall, processor);
    }
    check(saying == 1, "one element says its load", 0, 0);
    double background = 0, wall_background = 0, total = 0;
    for (const ProcStats& pe : stats->procs) {
      background += pe.bg_cputime;
      wall_background += pe.bg_walltime;
      total += pe.total_cputime;
    }
    check(both ? background < wall_background : background == wall_background, "the background", wall_background,
          background);
    if (both) check(std::abs(total - background - sum) < 1e-9, "a PE's time", total, background + sum);
  }
};

static void lbinit() { LBRegisterBalancer<TimesLB>("TimesLB", "checks what was measured"); }

class Sleeper : public CBase_Sleeper {
 public:
  Sleeper() { usesAtSync = true; }
  explicit Sleeper(CkMigrateMessage*) {}
  void rest() {
    usleep(static_cast<useconds_t>(1e6 * asleep));
    const double processor = CmiCpuTimer();
    while (CmiCpuTimer() < processor + spell) {
    }
    if (thisIndex == 0) main_proxy.done();  // (its background is measured, too)
    thisProxy[thisIndex].wait();
    migrateMe((CkMyPe() + 1) % CkNumPes());
  }
  void wait() {
    if (thisIndex == says_its_load) setObjTime(said);
    AtSync();
  }
  void ResumeFromSync() override { contribute(CkCallback(CkReductionTarget(Main, done), main_proxy)); }
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    delete m;
    main_proxy = thisProxy;
    CProxy_Sleeper sleepers = CProxy_Sleeper::ckNew(count);
    sleepers.rest();
  }
  // Once while elements sleep, which is background that sleeps, and once when all have been resumed.
  void done() {
    if (++calls_ == 1) {
      usleep(50'000);
      return;
    }
    CkPrintf("all checks passed\n");
    CkExit();
  }

 private:
  int calls_ = 0;
};

#include "both_times.def.h"
