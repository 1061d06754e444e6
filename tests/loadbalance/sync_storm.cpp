// Elements that use AtSync send to each other, insert others that live for a few steps, and move by themselves, also
// while they wait in AtSync; what they do in which step follows from a seed. Everything is counted.
//
//   sync_storm STEPS COUNT SEED [+balancer ...]
//
// Exits 0 when all is right.
#include <cstdint>
#include <cstdlib>

#include "sync_storm.decl.h"

CProxy_Main mainProxy;
CProxy_Bee bees;
CProxy_Drone drones;
CProxy_Tally tally;
int steps;
int count;
int seed;

namespace {
unsigned chance(int bee, int step, unsigned what) {
  std::uint64_t z = static_cast<std::uint64_t>(bee) * 0x9E3779B97F4A7C15u +
                    static_cast<std::uint64_t>(step) * 0xBF58476D1CE4E5B9u + what * 0x94D049BB133111EBu +
                    static_cast<std::uint64_t>(seed) * 77777;
  z = (z ^ (z >> 31)) * 0xD6E8FEB86659FD93u;
  return static_cast<unsigned>((z ^ (z >> 29)) >> 7 & 0xFFFFFF);
}
}  // namespace

class Tally : public CBase_Tally {
 public:
  enum What { births, deaths, resumes, wanted_resumes, tokens, notes, all };
  int of[all] = {};
  void give() {
    contribute(sizeof of, of, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, counted), mainProxy));
  }
  static void add(What what, int n = 1) { tally.ckLocalBranch()->of[what] += n; }
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    steps = std::atoi(m->argv[1]);
    count = std::atoi(m->argv[2]);
    seed = std::atoi(m->argv[3]);
    delete m;
    mainProxy = thisProxy;
    tally = CProxy_Tally::ckNew();
    bees = CProxy_Bee::ckNew();
    for (int i = 0; i < count; ++i) bees[i].insert(0, -1);
    bees.doneInserting();
    CkArrayOptions bound;
    bound.bindTo(bees);
    drones = CProxy_Drone::ckNew(bound);
    for (int i = 0; i < count; ++i) drones[i].insert();
    drones.doneInserting();
    for (int i = 0; i < count; ++i) bees[i].go();
    CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
  }
  // A step is under way until all are resumed.
  void quiet() { tally.give(); }
  void counted(int, const int* x) {
    const int wanted = x[Tally::wanted_resumes] + count * steps;
    CkPrintf("%d resumes of %d, %d births, %d deaths, %d tokens, %d notes of them\n", x[Tally::resumes], wanted,
             x[Tally::births], x[Tally::deaths], x[Tally::tokens], x[Tally::notes]);
    const bool right =
        x[Tally::resumes] == wanted && x[Tally::births] == x[Tally::deaths] && x[Tally::tokens] == x[Tally::notes];
    CkExit(right ? 0 : 1);
  }
};

class Bee : public CBase_Bee {
  int step_ = 0, life_ = -1;  // steps that are left; -1: it stays to the end

 public:
  Bee(int step, int life) : step_(step), life_(life) {
    usesAtSync = true;
    if (life < 0) return;
    Tally::add(Tally::births);
    Tally::add(Tally::wanted_resumes, life);
    thisProxy[thisIndex].go();
  }
  explicit Bee(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | step_;
    p | life_;
  }
  void go() {
    const unsigned dice = chance(thisIndex, step_, 1);
    const bool stays = life_ < 0;
    if (stays && dice % 3 == 0)
      bees[static_cast<int>(chance(thisIndex, step_, 2)) % count].token(static_cast<int>(dice % 5));
    if (stays && dice % 5 == 0) {
      const int life = 1 + static_cast<int>(chance(thisIndex, step_, 3)) % (steps - step_ < 4 ? steps - step_ : 4);
      bees[1000 + thisIndex * 1000 + step_].insert(step_, life, static_cast<int>(dice / 7) % CkNumPes());
    }
    if (dice % 7 < 2) thisProxy[thisIndex].wander(static_cast<int>(dice / 11) % CkNumPes());
    if (stays && dice % 11 == 0) thisProxy[thisIndex].wait();
    AtSync();
  }
  void wander(int to) { migrateMe(to); }
  void wait() {
    CthYield();
    CthYield();
  }
  void token(int hops) {
    Tally::add(Tally::tokens);
    drones[thisIndex].note();
    if (hops > 0) bees[static_cast<int>(chance(thisIndex, hops, 4)) % count].token(hops - 1);
  }
  void ResumeFromSync() override {
    Tally::add(Tally::resumes);
    ++step_;
    if (life_ > 0 && --life_ == 0) {
      Tally::add(Tally::deaths);
      ckDestroy();
    } else if (life_ > 0 || step_ < steps) {
      thisProxy[thisIndex].go();
    }
  }
};

class Drone : public CBase_Drone {
 public:
  Drone() {}
  explicit Drone(CkMigrateMessage*) {}
  void note() {
    Tally::add(Tally::notes);
    if (!bees[thisIndex].ckLocal()) CkAbort("drone %d is not with its bee\n", thisIndex);
  }
};

#include "sync_storm.def.h"
