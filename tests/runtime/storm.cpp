// A storm: elements migrate at random while messages, broadcasts and reductions are in flight, others are inserted and
// deleted meanwhile, and everything is counted. It passes when each message was delivered exactly once.
//
//   storm [walkers] [steps] [seed] +pN +ppn M
//
// Walkers (dense) step: they send to each other, broadcast, contribute to a reduction, insert sparks, and move. Shadows
// are bound to walkers and must be where those are. Sparks (sparse, at huge indices) live until they have had all
// messages meant for them, some of which are sent before they are born; they contribute at each pulse they hear. What
// is sent and what arrives is summed up in a Tally that travels with its element; an element that ends leaves its tally
// in the ledger of the PE it is on. At quiescence all tallies are added up: sent must be received. The seed is printed
// with a failure.
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "charm++.h"

struct Plan {
  int walkers = 24;
  int steps = 40;
  int seed = 1;
  void pup(PUP::er& p) {
    p | walkers;
    p | steps;
    p | seed;
  }
};

// Sums over what was sent and received; each pair must come out equal. Weights make a swap of two messages show.
enum Item {
  hits_sent,
  hits_seen,
  weight_sent,
  weight_seen,
  noises_sent,
  noises_seen,
  sparks_born,
  sparks_ended,
  feeds_sent,
  feeds_seen,
  pulses_contributed,
  moves,
  items
};
typedef std::vector<std::int64_t> Tally;

#include "storm.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Walker walkers;
/*readonly*/ CProxy_Shadow shadows;
/*readonly*/ CProxy_Spark sparks;
/*readonly*/ CProxy_Ledger ledger;
/*readonly*/ Plan plan;

namespace {
std::uint64_t next(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15u;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
void add(Tally& sum, const Tally& part) {
  for (int i = 0; i < items; ++i) sum[i] += part[i];
}
template <class... A>
void refuse(const char* format, A... a) {
  CkPrintf("storm: seed %d on %d PEs: ", plan.seed, CkNumPes());
  CkPrintf(format, a...);
  CkAbort("storm failed");
}
std::int64_t weight(int from, int to, int number) {
  std::uint64_t state = (std::uint64_t(from) << 40) ^ (std::uint64_t(to) << 20) ^ std::uint64_t(number);
  return static_cast<std::int64_t>(next(state) >> 24);
}
}  // namespace

class Ledger : public CBase_Ledger {
 public:
  Ledger() : sum(items) {}
  void report() {
    contribute(sum, CkReduction::sum_long_long, CkCallback(CkReductionTarget(Main, ledgerDone), mainProxy));
  }
  Tally sum;
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* args) : total(items) {
    if (args->argc > 1) plan.walkers = atoi(args->argv[1]);
    if (args->argc > 2) plan.steps = atoi(args->argv[2]);
    if (args->argc > 3) plan.seed = atoi(args->argv[3]);
    delete args;
    mainProxy = thisProxy;
    ledger = CProxy_Ledger::ckNew();
    walkers = CProxy_Walker::ckNew(plan.walkers);
    CkArrayOptions bound(plan.walkers);
    bound.bindTo(walkers);
    shadows = CProxy_Shadow::ckNew(bound);
    sparks = CProxy_Spark::ckNew();
    sparks.doneInserting();  // reductions go on while more are inserted
    walkers.step();
    for (; shouted < 3; ++shouted) walkers.shout(shouted + 1);
    CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
  }
  void round(int n, std::int64_t* sums) {
    ++rounds;
    if (n != 2 || sums[0] != plan.walkers || sums[1] != std::int64_t(plan.walkers) * rounds)
      refuse("reduction %d has %d contributions worth %d, not %d worth %d\n", rounds, int(sums[0]), int(sums[1]),
             plan.walkers, plan.walkers * rounds);
    walkers.shout(++shouted);
    sparks.pulse(rounds);
  }
  void pulsed(std::int64_t contributions) { pulsed_sum += contributions; }
  void quiet() {
    if (rounds != plan.steps) refuse("quiescence after %d of %d reductions\n", rounds, plan.steps);
    walkers.report();
    ledger.report();
  }
  void walkersDone(int n, std::int64_t* sums) { done(sums, n); }
  void ledgerDone(int n, std::int64_t* sums) { done(sums, n); }
  void done(std::int64_t* sums, int n) {
    add(total, Tally(sums, sums + n));
    if (++reports < 2) return;
    equal("messages", hits_sent, hits_seen);
    equal("contents of messages", weight_sent, weight_seen);
    if (total[noises_sent] * plan.walkers != total[noises_seen])
      refuse("%d broadcasts were heard %d times by %d elements\n", int(total[noises_sent]), int(total[noises_seen]),
             plan.walkers);
    equal("sparks", sparks_born, sparks_ended);
    equal("messages to sparks", feeds_sent, feeds_seen);
    if (pulsed_sum != total[pulses_contributed])
      refuse("%d contributions of sparks arrived as %d\n", int(total[pulses_contributed]), int(pulsed_sum));
    CkPrintf("storm: %d messages, %d broadcasts, %d reductions, %d sparks, %d moves: each exactly once\n",
             int(total[hits_sent] + total[feeds_sent]), int(total[noises_sent]) + shouted, rounds,
             int(total[sparks_born]), int(total[moves]));
    CkExit(0);
  }

 private:
  void equal(const char* what, Item sent, Item seen) {
    if (total[sent] != total[seen])
      refuse("%s: %lld sent, %lld received\n", what, (long long)total[sent], (long long)total[seen]);
  }
  int rounds = 0, shouted = 0, reports = 0;
  std::int64_t pulsed_sum = 0;
  Tally total;
};

class Shadow : public CBase_Shadow {
 public:
  Shadow() {}
  explicit Shadow(CkMigrateMessage*) {}
  void pup(PUP::er& p) { p | met; }
  void meet(int) { ++met; }
  int met = 0;
};

class Walker : public CBase_Walker {
 public:
  Walker() : tally(items), random(std::uint64_t(plan.seed) * 1000003 + thisIndex) {}
  explicit Walker(CkMigrateMessage*) {}
  void pup(PUP::er& p) {
    p | tally;
    p | seen;
    p | random;
    p | steps;
    p | sent;
    p | heard;
    p | together;
  }

  void step() {
    check();
    for (int i = 0; i < 3; ++i) send();
    if (chance(8)) {
      ++tally[noises_sent];
      thisProxy.noise(thisIndex);
    }
    if (chance(6)) spark();
    ++steps;
    std::int64_t values[] = {1, steps};
    contribute(sizeof values, values, CkReduction::sum_long_long,
               CkCallback(CkReductionTarget(Main, round), mainProxy));
    shadows[thisIndex].meet(steps);
    if (steps < plan.steps) thisProxy[thisIndex].step();
    const int other = pick(plan.walkers);
    if (chance(4) && other != thisIndex) thisProxy[other].ckEmigrate(pick(CkNumPes()));
    if (chance(2)) {
      ++tally[moves];
      wander();
    }
  }
  void hit(int from, int number) {
    if (!seen.insert((std::int64_t(from) << 32) | number).second)
      refuse("walker %d got message %d of %d twice\n", thisIndex, number, from);
    ++tally[hits_seen];
    tally[weight_seen] += weight(from, thisIndex, number);
    if (chance(16)) wander();
  }
  void parcel(int from, int number, std::vector<int> contents) {
    for (int value : contents)
      if (value != number) refuse("message %d of %d to %d is damaged: %d\n", number, from, thisIndex, value);
    hit(from, number);
  }
  void noise(int) {
    ++tally[noises_seen];
    if (chance(16)) wander();
  }
  void shout(int number) {
    if (number != heard + 1) refuse("walker %d heard broadcast %d after %d\n", thisIndex, number, heard);
    heard = number;
    if (chance(8)) wander();
  }
  void report() {
    check();
    if (!together) refuse("walker %d never met its shadow\n", thisIndex);
    contribute(tally, CkReduction::sum_long_long, CkCallback(CkReductionTarget(Main, walkersDone), mainProxy));
  }

 private:
  // One that moves, or is sent away by another, before its shadow is made has it behind it for a while. Once together
  // they stay together.
  void check() {
    const bool here = shadows[thisIndex].ckLocal();
    if (together && !here) refuse("walker %d is on PE %d without its shadow\n", thisIndex, CkMyPe());
    together = here;
  }
  void wander() {
    migrateMe(pick(CkNumPes()));  // the last thing done
  }
  bool chance(int one_in) { return pick(one_in) == 0; }
  int pick(int below) { return static_cast<int>(next(random) % static_cast<unsigned>(below)); }
  void send() {
    const int to = pick(plan.walkers);
    const int number = ++sent;
    ++tally[hits_sent];
    tally[weight_sent] += weight(thisIndex, to, number);
    if (chance(3))
      thisProxy[to].parcel(thisIndex, number, std::vector<int>(1 + pick(3000), number));
    else
      thisProxy[to].hit(thisIndex, number);
  }
  // Messages for it set out before it exists, from here and thus mostly from elsewhere than it is made.
  void spark() {
    const int messages = 1 + pick(5);
    CProxyElement_Spark one = sparks(1'000'000'000 + thisIndex, -steps, pick(2) ? 7 : 2'000'000'000);
    const int early = pick(messages + 1);
    for (int i = 0; i < early; ++i) one.feed(i);
    ++tally[sparks_born];
    const int where = pick(CkNumPes() + 1) - 1;
    one.insert(messages, static_cast<std::int64_t>(next(random) >> 1), where);
    for (int i = early; i < messages; ++i) one.feed(i);
    tally[feeds_sent] += messages;
  }

  Tally tally;
  std::set<std::int64_t> seen;
  std::uint64_t random = 0;
  int steps = 0, sent = 0, heard = 0;
  bool together = false;
};

class Spark : public CBase_Spark {
 public:
  Spark(int messages, std::int64_t seed) : left(messages), random(static_cast<std::uint64_t>(seed)) {}
  explicit Spark(CkMigrateMessage*) {}
  void pup(PUP::er& p) {
    p | left;
    p | eaten;
    p | pulses;
    p | contributed;
    p | random;
  }
  void feed(int number) {
    if (!eaten.insert(number).second) refuse("a spark got message %d twice\n", number);
    if (--left > 0) {
      if (next(random) % 3 == 0) migrateMe(static_cast<int>(next(random) % CkNumPes()));
      return;
    }
    Tally& sum = ledger.ckLocalBranch()->sum;
    ++sum[sparks_ended];
    sum[feeds_seen] += static_cast<int>(eaten.size());
    sum[pulses_contributed] += contributed;
    ckDestroy();
  }
  void pulse(int number) {
    if (pulses != 0 && number != pulses + 1) refuse("a spark heard pulse %d after %d\n", number, pulses);
    pulses = number;
    ++contributed;
    std::int64_t one = 1;
    contribute(sizeof one, &one, CkReduction::sum_long_long, CkCallback(CkReductionTarget(Main, pulsed), mainProxy));
    if (next(random) % 4 == 0) migrateMe(static_cast<int>(next(random) % CkNumPes()));
  }

 private:
  int left = 0, pulses = 0;
  std::set<int> eaten;
  std::int64_t contributed = 0;
  std::uint64_t random = 0;
};

#include "storm.def.h"
