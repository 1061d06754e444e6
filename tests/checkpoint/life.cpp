// A program that ends the same however often it was stopped at a checkpoint and started again, on any PEs.
//
//   life FOLDER PHASES SEED STOP [QUIET [FAULT]]
//
// Walkers, with shadows bound to them, send messages, migrate and insert and destroy sparks in each phase; waiters hang
// in a when of an earlier phase; a third of the walkers contribute to a phase's reduction in that phase and the others
// in the next, so that reductions are always half done. At the phases that the seed says, and at STOP, a checkpoint is
// written: where all is quiet (QUIET 1), right after the phase has begun, when messages are on their way (0), or either
// (2). Behind the checkpoint of phase STOP the program ends; started again with +restart it goes on there. What it
// prints last depends on the phases and the seed alone. FAULT: "killed": the process of walker 5 is killed in the
// middle of the checkpoint of phase STOP; "function": its callback is one that no later run could call; "no halls": no
// node group is made; "memory": checkpoints are in memory, the program does not stop, and a process that comes to a
// point of which there is a file in FOLDER (POINT.PHASE.INDEX) removes it and is killed; "memory, then abort".
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <set>
#include <vector>

#include "charm++.h"

struct Plan {
  int walkers, phases, seed, stop, quiet;
  bool killed, function, no_halls, memory, aborts;
  char folder[400];
};
PUPbytes(Plan)

    namespace {
  std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  }
  [[noreturn]] void refuse(const char* what, long long have, long long want) {
    CkPrintf("life: %s: %lld, not %lld\n", what, have, want);
    CkAbort("life: wrong");
  }
  CkReduction::reducerType bag;  // keeps all values apart
  CkReductionMsg* put_into_bag(int count, CkReductionMsg** messages) {
    std::vector<std::int64_t> all;
    for (int i = 0; i < count; ++i) {
      const auto* data = static_cast<const std::int64_t*>(messages[i]->getData());
      all.insert(all.end(), data, data + messages[i]->getSize() / 8);
    }
    return CkReductionMsg::buildNew(static_cast<int>(8 * all.size()), all.data());
  }
}  // namespace
void registerBag() { bag = CkReduction::addReducer(put_into_bag); }

#include "life.decl.h"

extern CProxy_Main mainProxy;
extern CProxy_Walker walkers;
extern CProxy_Shadow shadows;
extern CProxy_Spark sparks;
extern CProxy_Waiter waiters;
extern CProxy_Keeper keepers;
extern CProxy_Hall halls;
extern CProxy_Hermit hermit;
extern Plan plan;
extern std::vector<int> primes;

namespace {
std::uint64_t chance_of(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return mix(mix(mix(a + 1) + b) + c + static_cast<std::uint64_t>(plan.seed) * 977);
}
void point(const char* name, int phase, int index) {
  if (!plan.memory) return;
  char file[500];
  std::snprintf(file, sizeof file, "%s/%s.%d.%d", plan.folder, name, phase, index);
  if (unlink(file) == 0) kill(getpid(), SIGKILL);
}
std::int64_t gift(int walker, int phase) { return static_cast<std::int64_t>(chance_of(walker, phase, 7) % 1000); }
}  // namespace

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* arguments) {
    if (arguments->argc < 5) CkAbort("life FOLDER PHASES SEED STOP [QUIET]");
    folder = arguments->argv[1];
    plan = {24,
            std::atoi(arguments->argv[2]),
            std::atoi(arguments->argv[3]),
            std::atoi(arguments->argv[4]),
            arguments->argc > 5 ? std::atoi(arguments->argv[5]) : 2,
            false,
            false,
            false,
            false,
            false,
            ""};
    const std::string fault = arguments->argc > 6 ? arguments->argv[6] : "";
    plan.killed = fault == "killed";
    plan.function = fault == "function";
    plan.no_halls = fault == "no halls";
    plan.aborts = fault == "memory, then abort";
    plan.memory = fault == "memory" || plan.aborts;
    std::snprintf(plan.folder, sizeof plan.folder, "%s", folder.c_str());
    delete arguments;
    primes = {2, 3, 5, 7};
    mainProxy = thisProxy;
    walkers = CProxy_Walker::ckNew(plan.walkers);
    CkArrayOptions bound(plan.walkers);
    bound.bindTo(walkers);
    shadows = CProxy_Shadow::ckNew(bound);
    sparks = CProxy_Spark::ckNew();
    sparks.doneInserting();
    CkArrayOptions mapped(7);
    mapped.setMap(CProxy_Backwards::ckNew());
    waiters = CProxy_Waiter::ckNew(mapped);
    some = CProxySection_Walker::ckNew(walkers, 0, plan.walkers - 1, 3);
    keepers = CProxy_Keeper::ckNew();
    if (!plan.no_halls) halls = CProxy_Hall::ckNew();
    hermit = CProxy_Hermit::ckNew();
    waiters.live(0);
    begin();
  }
  explicit Main(CkMigrateMessage* message) : CBase_Main(message) {
    // A mainchare gets the command line in this way too.
    const auto* arguments = reinterpret_cast<CkArgMsg*>(message);
    if (arguments->argc < 2) CkAbort("life: no command line after the restart");
    folder = arguments->argv[1];
  }
  void pup(PUP::er& p) {
    p | phase;
    p | sums;
    p | bags;
    p | sparked_rounds;
    p | round;
    p | has_hermit;
    p | some;
    p | kept_rounds;
    p | housed_rounds;
    if ((CkInRestarting() != 0) != p.isUnpacking() || p.isRestarting() != p.isUnpacking())
      CkAbort("life: a mainchare is restored, and nothing says so, or the other way round");
    point(p.isUnpacking() ? "main-unpack" : "main-pack", phase, 0);
    if (!p.isCheckpoint()) CkAbort("life: pup() of a mainchare for something else than a checkpoint");
  }

  void quiet() {
    if (checkpoint_due() && plan.quiet != 0) return checkpoint();
    go_on();
  }
  void written(CkCheckpointStatusMsg* status) {
    if (status->status != CK_CHECKPOINT_SUCCESS) CkPrintf("life: no checkpoint of phase %d\n", phase);
    delete status;
    if (_restarted && !counted) {
      counted = true;
      has_hermit = has_hermit && _chareRestored;  // a chare is there again only on as many PEs as before
      CkPrintf("life: restarted in phase %d, %d PEs then, %s\n", phase, _oldNumPes,
               _chareRestored ? "with chares" : "without chares");
      if (primes != std::vector<int>{2, 3, 5, 7}) refuse("readonlys", static_cast<long long>(primes.size()), 4);
    } else if (phase == plan.stop && !_restarted) {
      CkPrintf("life: stopped in phase %d\n", phase);
      CkExit(0);
    }
    go_on();
  }

  void stored() {
    point("stored", phase, 0);
    if (CkInRestarting()) CkAbort("life: the restart is not over when the program goes on");
    if (plan.aborts) CkAbort("life: asked to abort");
    if (_restarted && !counted) CkPrintf("life: back in phase %d\n", phase);
    counted = true;
    go_on();
  }

  void summed(std::int64_t sum) { sums += check(sum); }
  void collected(CkReductionMsg* all) {
    const auto* data = static_cast<const std::int64_t*>(all->getData());
    std::int64_t sum = 0;
    for (int i = 0; i < all->getSize() / 8; ++i) sum += data[i];
    bags += check(sum);
    delete all;
  }
  // Rounds of sparks overlap with births in as many ways as there are runs: that they go on is what counts.
  void sparked(std::int64_t) { ++sparked_rounds; }
  void sparkEnds(std::int64_t value) { total[2] += value; }
  void kept(int members) {
    ++kept_rounds;
    if (members != CkNumPes()) refuse("members of the group", members, CkNumPes());
  }
  void housed(int members) {
    ++housed_rounds;
    if (members != CkNumNodes()) refuse("members of the node group", members, CkNumNodes());
  }
  void heardOfHermit(int phases) {
    if (phases != plan.phases) refuse("phases of the hermit", phases, plan.phases);
  }
  void reported(int n, std::int64_t* totals) {
    for (int i = 0; i < n; ++i) total[i] += totals[i];
    ++reports;
  }
  void finish() {
    point("finish", phase, 0);
    if (reports != 3) refuse("reports", reports, 3);
    if (round != plan.phases) refuse("reductions of walkers", round, plan.phases);
    if (kept_rounds != plan.phases) refuse("reductions of the group", kept_rounds, plan.phases);
    if (housed_rounds != plan.phases && !plan.no_halls)
      refuse("reductions of the node group", housed_rounds, plan.phases);
    CkPrintf("life: %lld %lld %lld %lld %lld %lld\n", (long long)total[0], (long long)total[1], (long long)total[2],
             (long long)total[3], (long long)sums, (long long)bags);
    CkExit(0);
  }

 private:
  bool checkpoint_due() const { return phase == plan.stop || chance_of(phase, 3, 3) % 3 == 0; }
  void checkpoint() {
    if (plan.memory) return CkStartMemCheckpoint(CkCallback(CkIndex_Main::stored(), thisProxy));
    if (plan.function) CkStartCheckpoint(folder.c_str(), CkCallback([](void* message) { CkFreeMsg(message); }));
    CkStartCheckpoint(folder.c_str(), CkCallback(CkIndex_Main::written(nullptr), thisProxy), true,
                      static_cast<int>(chance_of(phase, 5, 5) % 3));
  }
  // Each of the sums comes in the order of the phases.
  std::int64_t check(std::int64_t sum) {
    std::int64_t right = 0;
    for (int walker = 0; walker < plan.walkers; ++walker) right += gift(walker, round);
    if (sum != right) refuse("a sum", sum, right);
    return sum * (round++ + 1);
  }
  void begin() {
    walkers.work(phase);
    sparks.pulse(phase);
    for (int i = 0; i < 7; ++i) {
      waiters[i].one(phase, gift(i, phase));
      if (phase > 0) waiters[i].other(phase - 1, std::vector<std::int64_t>(1 + i, gift(i + 1, phase)));
    }
    some.hit(gift(phase, phase));
    keepers.note(phase);
    if (!plan.no_halls) halls.note(phase);
    if (has_hermit) hermit.count(phase);
    const bool at_once = plan.quiet == 0 || (plan.quiet == 2 && chance_of(phase, 4, 4) % 2 == 0);
    if (checkpoint_due() && at_once) return checkpoint();
    CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
  }
  void go_on() {
    if (++phase < plan.phases) return begin();
    walkers.report();
    shadows.report();
    sparks.report();
    waiters.report();
    if (has_hermit) hermit.tell();
    CkStartQD(CkCallback(CkIndex_Main::finish(), thisProxy));
  }

  std::string folder;
  CProxySection_Walker some;
  int phase = 0, round = 0, reports = 0;
  int kept_rounds = 0, housed_rounds = 0;
  int sparked_rounds = 0;
  std::int64_t sums = 0, bags = 0;
  std::int64_t total[4] = {};
  bool counted = false, has_hermit = true;
};

class Shadow : public CBase_Shadow {
 public:
  Shadow() = default;
  explicit Shadow(CkMigrateMessage*) {}
  void pup(PUP::er& p) { p | met; }
  void meet(int phase) {
    if (!walkers[thisIndex].ckLocal()) CkAbort("life: a shadow without its walker");
    met += phase + thisIndex;
  }
  void report() {
    std::int64_t totals[4] = {0, met, 0, 0};
    contribute(sizeof totals, totals, CkReduction::sum_long, CkCallback(CkReductionTarget(Main, reported), mainProxy));
  }

 private:
  std::int64_t met = 0;
};

class Walker : public CBase_Walker {
 public:
  Walker() = default;
  explicit Walker(CkMigrateMessage*) {}
  void pup(PUP::er& p) {
    if (plan.killed && !_restarted && p.isCheckpoint() && p.isPacking() && thisIndex == 5 && latest == plan.stop)
      kill(getpid(), SIGKILL);
    point(p.isUnpacking() ? "unpack" : p.isSizing() ? "size" : "pack", latest, thisIndex);
    p | have;
    p | latest;
    p | large;
    p | mine;
  }
  void work(int phase) {
    point("work", phase, thisIndex);
    if (CkInRestarting()) CkAbort("life: the restart is not over when elements work");
    latest = phase;
    for (int i = 0; i < 4; ++i) {
      const std::uint64_t dice = chance_of(thisIndex, phase, 11 + i);
      const int to = static_cast<int>(dice % plan.walkers);
      if (dice & 1024)
        thisProxy[to].hit(gift(to, phase));
      else
        thisProxy[to].parcel(std::vector<std::int64_t>(1 + dice % 500, i));
    }
    shadows[thisIndex].meet(phase);
    if (chance_of(thisIndex, phase, 2) % 4 == 0) sparks(thisIndex, phase, 1 << 30).insert(gift(thisIndex, phase));
    for (const auto& [x, y] : mine)
      if (chance_of(x, y, phase) % 3 == 0) sparks(x, y, 1 << 30).feed(gift(x, phase));
    if (chance_of(thisIndex, phase, 2) % 4 == 0) mine.push_back({thisIndex, phase});
    large.assign(chance_of(thisIndex, phase, 5) % 40000, thisIndex);
    if (thisIndex % 3 == phase % 3) {
      owe(phase - 1);
      give(phase);
    } else {
      owe(phase - 1);
    }
    if (chance_of(thisIndex, phase, 1) % 2)
      migrateMe(static_cast<int>(chance_of(thisIndex, phase, 1) % CkNumPes()));  // the last thing done
  }
  void hit(std::int64_t value) { have += value; }
  void parcel(std::vector<std::int64_t> values) {
    for (std::int64_t value : values) have += value;
  }
  void report() {
    std::int64_t totals[4] = {have + static_cast<std::int64_t>(large.size()), 0, 0, 0};
    owe(plan.phases - 1);
    contribute(sizeof totals, totals, CkReduction::sum_long, CkCallback(CkReductionTarget(Main, reported), mainProxy));
  }

 private:
  // What was not given in its phase.
  void owe(int phase) {
    if (phase >= 0 && thisIndex % 3 != phase % 3) give(phase);
  }
  void give(int phase) {
    std::int64_t value = gift(thisIndex, phase);
    if (phase % 2)
      contribute(sizeof value, &value, bag, CkCallback(CkIndex_Main::collected(nullptr), mainProxy));
    else
      contribute(sizeof value, &value, CkReduction::sum_long, CkCallback(CkReductionTarget(Main, summed), mainProxy));
  }

  std::int64_t have = 0;
  int latest = -1;  // phase
  std::vector<int> large;
  std::vector<std::pair<int, int>> mine;  // sparks
};

class Spark : public CBase_Spark {
 public:
  explicit Spark(std::int64_t value) : value(value) {}
  explicit Spark(CkMigrateMessage*) {}
  void pup(PUP::er& p) { p | value; }
  void feed(std::int64_t more) { value += more; }
  void pulse(int phase) {
    std::int64_t one = thisIndex.x;
    contribute(sizeof one, &one, CkReduction::sum_long, CkCallback(CkReductionTarget(Main, sparked), mainProxy));
    if (chance_of(thisIndex.x, thisIndex.y, phase) % 5 == 1)
      thisProxy(thisIndex.x, thisIndex.y, thisIndex.z).ckEmigrate(phase % CkNumPes());
  }
  void report() { mainProxy.sparkEnds(value); }

 private:
  std::int64_t value = 0;
};

class Waiter : public CBase_Waiter {
 public:
  Waiter_SDAG_CODE Waiter() = default;
  explicit Waiter(CkMigrateMessage*) {}
  void pup(PUP::er& p) {
    p | at;
    p | order;
  }
  void report() {
    std::int64_t totals[4] = {0, 0, 0, order % 1000003};
    contribute(sizeof totals, totals, CkReduction::sum_long, CkCallback(CkReductionTarget(Main, reported), mainProxy));
  }

 private:
  int at = 0;
  std::int64_t order = 1;
};

class Backwards : public CBase_Backwards {
 public:
  Backwards() = default;
  explicit Backwards(CkMigrateMessage* message) : CBase_Backwards(message) {}
  int procNum(int, const CkArrayIndex& index) override {
    return (2 * CkNumPes() - 1 - index.data()[0] % CkNumPes()) % CkNumPes();
  }
};

class Keeper : public CBase_Keeper {
 public:
  Keeper() = default;
  explicit Keeper(CkMigrateMessage* message) : CBase_Keeper(message) {}
  void pup(PUP::er& p) { p | phases; }
  void note(int phase) {
    if (phase != phases) refuse("phases of a group's member", phases, phase);
    ++phases;
    // Arrays that other PEs than 0 make have numbers of these PEs: those of another run must not come again.
    if (phase % 2) CProxy_Shadow::ckNew(2);
    const int one = 1;
    contribute(sizeof one, &one, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, kept), mainProxy));
  }

 private:
  int phases = 0;
};

class Hall : public CBase_Hall {
 public:
  Hall() = default;
  explicit Hall(CkMigrateMessage* message) : CBase_Hall(message) {}
  void pup(PUP::er& p) { p | phases; }
  void note(int phase) {
    point("note", phase, CkMyNode());
    if (phase != phases) refuse("phases of a node group's member", phases, phase);
    ++phases;
    const int one = 1;
    contribute(sizeof one, &one, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, housed), mainProxy));
  }

 private:
  int phases = 0;
};

class Hermit : public CBase_Hermit {
 public:
  Hermit() = default;
  explicit Hermit(CkMigrateMessage* message) : CBase_Hermit(message) {}
  void pup(PUP::er& p) { p | phases; }
  void count(int phase) {
    if (phase != phases) refuse("phases of the hermit", phases, phase);
    ++phases;
  }
  void tell() { mainProxy.heardOfHermit(phases); }

 private:
  int phases = 0;
};

CProxy_Main mainProxy;
CProxy_Walker walkers;
CProxy_Shadow shadows;
CProxy_Spark sparks;
CProxy_Waiter waiters;
CProxy_Keeper keepers;
CProxy_Hall halls;
CProxy_Hermit hermit;
Plan plan;
std::vector<int> primes;

#include "life.def.h"
