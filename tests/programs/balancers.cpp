// Balancers over CentralLB, HybridBaseLB and DistBaseLB. Those over the first two answer as the strategy of ours that
// has the same algorithm, and after each step all elements are where the balancer has put them.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "CentralLB.h"
#include "DistBaseLB.h"
#include "HybridBaseLB.h"
#include "Refiner.h"
#include "balancers.decl.h"
#include "ckgraph.h"
#include "runtime/loadbalance/options.h"

using periapt::loadbalance::Assignment;
using periapt::loadbalance::LoadDatabase;

CkpvExtern(int, _lb_obj_index);

CProxy_Main main_proxy;
CProxy_Piece pieces;
int wrong_place;  // with an argument: elements ask for user data that there is not

namespace {
constexpr int element_count = 40, step_count = 4;
// No two are equal, and all are whole numbers: sums are exact, in whatever order.
double load_of(int element, int step) { return 1 + (element * 37 + step * 11) % 101; }

// What elements tell their balancer.
struct Said {
  int element, step;
  LDObjHandle handle;
};

// Where the last decision puts elements, by their numbers; on PE 0, which decides.
std::vector<int> decided(element_count, -1);
// On PE 0: steps of LargestFirstLB that are over, and whether the last of them was a balancing.
int steps_over = 0, last_balanced = -1;
// The load of each PE as MovableFirstLB has decided.
std::vector<double> expected;

void check(bool right, const std::string& what) {
  if (!right) CkAbort("balancers: %s\n", what.c_str());
}

// The largest first, each to the PE with the least load; where its own has no more than that, it stays.
void place_largest_first(BaseLB::LDStats& stats) {
  ProcArray pes(&stats);
  pes.resetTotalLoad();
  ObjGraph graph(&stats);
  std::vector<CkVertex*> order;
  for (CkVertex& vertex : graph.vertices)
    if (vertex.isMigratable()) order.push_back(&vertex);
  std::stable_sort(order.begin(), order.end(),
                   [](CkVertex* a, CkVertex* b) { return a->getVertexLoad() > b->getVertexLoad(); });
  auto load = [&](int pe) { return pes.procs[pe].getTotalLoad(); };
  const int count = static_cast<int>(pes.procs.size());
  for (CkVertex* vertex : order) {
    int best = 0;
    for (int pe = 1; pe < count; ++pe)
      if (load(pe) < load(best)) best = pe;
    const int own = vertex->getCurrentPe();
    if (own < count && load(own) <= load(best)) best = own;
    pes.procs[best].setTotalLoad(load(best) + vertex->getVertexLoad());
    vertex->setNewPe(best);
  }
  graph.convertDecisions(&stats);
}

// The same algorithm, over our own face.
void check_against_ours(const BaseLB::LDStats& stats) {
  LoadDatabase database;
  for (const BaseLB::ProcStats& pe : stats.procs) {
    database.pes.push_back({});
    database.pes.back().background = pe.bg_walltime;
  }
  for (std::size_t i = 0; i < stats.objData.size(); ++i) {
    if (stats.from_proc[i] >= static_cast<int>(stats.nprocs())) return;  // came to a group from outside: not for ours
    database.objects.push_back({0, i, stats.from_proc[i], stats.objData[i].wallTime});
  }
  check(periapt::loadbalance::Strategy(*periapt::loadbalance::find_strategy("Greedy")).solve(database) == stats.to_proc,
        "Greedy of ours answers otherwise");
}

void check_said(BaseLB::LDStats& stats, int step) {
  for (std::size_t i = 0; i < stats.objData.size(); ++i) {
    const auto* said = static_cast<const Said*>(stats.objData[i].getUserData(CkpvAccess(_lb_obj_index)));
    check(said->step == step, "an element's user data is of another step");
    check(said->handle == stats.objData[i].handle, "an element has another handle here than it says");
    // After the step without a decision, both have counted.
    const double load = load_of(said->element, step) + (step == 2 ? load_of(said->element, 1) : 0);
    check(std::abs(stats.objData[i].wallTime - load) < 0.5, "an element's load is another one's, or not counted on");
    check(stats.getHash(stats.objData[i].objID(), stats.objData[i].omID()) == static_cast<int>(i),
          "an object is not found by its name");
    decided[said->element] = stats.to_proc[i];
  }
}
}  // namespace

class LargestFirstLB : public CBase_LargestFirstLB {
 public:
  explicit LargestFirstLB(const CkLBOptions& options) : CBase_LargestFirstLB(options) { init(); }
  explicit LargestFirstLB(CkMigrateMessage* m) : CBase_LargestFirstLB(m) { init(); }
  void work(LDStats* stats) override {
    check(stats->nprocs() == static_cast<std::size_t>(CkNumPes()), "there are other PEs");
    check(stats->n_migrateobjs == element_count, "there are other objects");
    for (const ProcStats& pe : stats->procs)  // (processes begin at slightly different times)
      check(pe.total_walltime <= CkWallTimer() + 60, "an interval is longer than the program has run");
    place_largest_first(*stats);
    check_against_ours(*stats);
    check_said(*stats, step());
    check_refiner(*stats);
  }

 private:
  void init() {
    lbname = "LargestFirstLB";
    if (CkpvAccess(_lb_obj_index) == -1) CkpvAccess(_lb_obj_index) = LBRegisterObjUserData(sizeof(Said));
  }
  bool QueryBalanceNow(int step) override { return step != 1; }
  void LoadbalanceDone(int balancing) override {
    if (CkMyPe() != 0) return;
    ++steps_over;
    last_balanced = balancing;
  }
  // What is balanced as well as it can be it leaves, or makes better.
  static void check_refiner(LDStats& stats) {
    int* const from = Refiner::AllocProcs(static_cast<int>(stats.nprocs()), &stats);
    int* const to = Refiner::AllocProcs(static_cast<int>(stats.nprocs()), &stats);
    std::copy(stats.from_proc.begin(), stats.from_proc.end(), from);
    Refiner refiner(1.05);
    refiner.Refine(static_cast<int>(stats.nprocs()), &stats, from, to);
    std::vector<double> loads(stats.nprocs());
    for (std::size_t i = 0; i < stats.objData.size(); ++i) loads[to[i]] += stats.objData[i].wallTime;
    check(*std::max_element(loads.begin(), loads.end()) <= refiner.computeMax() + 1e-9, "Refiner has another result");
    Refiner::FreeProcs(from);
    Refiner::FreeProcs(to);
  }
};

// Takes out what cannot move, every third element, and decides on the list that is left.
class MovableFirstLB : public CBase_MovableFirstLB {
 public:
  explicit MovableFirstLB(const CkLBOptions& options) : CBase_MovableFirstLB(options) { lbname = "MovableFirstLB"; }
  explicit MovableFirstLB(CkMigrateMessage* m) : CBase_MovableFirstLB(m) {}
  void work(LDStats* stats) override {
    const int pes = CkNumPes();
    LBInfo before(pes);
    getLoadInfo(stats, pes, before, 0);
    std::copy(stats->from_proc.begin(), stats->from_proc.end(), stats->to_proc.begin());
    for (std::size_t i = 0; i < stats->objData.size(); ++i) decided[said(*stats, i).element] = stats->from_proc[i];
    const std::size_t all = stats->objData.size();
    removeNonMigratable(stats, pes);
    check(all == element_count && stats->objData.size() == static_cast<std::size_t>(stats->n_migrateobjs),
          "what cannot move is still there");
    LBInfo after(pes);
    getLoadInfo(stats, pes, after, 1);
    LBRealType most, most_of_objects, total, total_after;
    before.getSummary(most, most_of_objects, total);
    after.getSummary(most, most_of_objects, total_after);
    check(most >= most_of_objects && std::abs(total - total_after + comm_of(after)) < 1e-6 * total,
          "a load is lost with what cannot move");
    for (std::size_t i = 0; i < stats->objData.size(); ++i) {
      const Said& element = said(*stats, i);
      check(element.element % 3 != 0, "an element that cannot move is still there");
      stats->assign(static_cast<int>(i), (element.element + element.step) % pes);
      decided[element.element] = stats->to_proc[i];
    }
    getLoadInfo(stats, pes, after, 0);
    expected.assign(after.peLoads, after.peLoads + pes);
    check(useMem() > 0 && lbmgr->useMem() > 0, "it says that it takes no memory");
  }

 private:
  static const Said& said(LDStats& stats, std::size_t i) {
    return *static_cast<const Said*>(stats.objData[i].getUserData(CkpvAccess(_lb_obj_index)));
  }
  static double comm_of(const LBInfo& info) { return std::accumulate(info.comLoads, info.comLoads + info.numPes, 0.0); }
};

class ThrowingLB : public CBase_ThrowingLB {
 public:
  explicit ThrowingLB(const CkLBOptions& options) : CBase_ThrowingLB(options) { lbname = "ThrowingLB"; }
  explicit ThrowingLB(CkMigrateMessage* m) : CBase_ThrowingLB(m) {}
  void work(LDStats* stats) override {
    stats->to_proc[0] = -1;
    throw std::runtime_error("no idea");
  }
};

// It balances in no step that is 1, and moves nothing in step 2.
class TwoLevelsLB : public CBase_TwoLevelsLB {
 public:
  explicit TwoLevelsLB(const CkLBOptions& options) : CBase_TwoLevelsLB(options) {
    lbname = "TwoLevelsLB";
    initTree();
  }
  explicit TwoLevelsLB(CkMigrateMessage* m) : CBase_TwoLevelsLB(m) {}

 protected:
  bool QueryBalanceNow(int step) override { return step != 1; }
  bool QueryMigrateStep(int step) override {
    check(step == this->step(), "it is asked for another step");
    return step != 2;
  }
  void work(LDStats* stats) override {
    check(step() != 1, "a step is balanced that QueryBalanceNow() was against");
    check(levelData[currentLevel]->nChildren == static_cast<int>(stats->nprocs()), "a level has other children");
    place_largest_first(*stats);
    check_against_ours(*stats);
  }

 private:
  // A balancer as a part of another, as ChaNGa's of three levels has one: it is not the one that is asked.
  ThrowingLB part_{nullptr};
};

// Pairs of PEs, pairs of pairs, and a root over them that is no first PE.
class PairsTree : public MyHierarchyTree {
 public:
  PairsTree() {
    myname = "PairsTree";
    nLevels = 4;
    span = new int[3]{2, 2, CkNumPes() / 4};
  }
  ~PairsTree() override { delete[] span; }
  int parent(int pe, int level) override {
    if (level == 0) return pe / 2 * 2;
    if (level == 1) return pe / 4 * 4 + 1;
    return level == 2 ? root() : -1;
  }
  bool isroot(int pe, int level) override {
    return (level == 1 && pe % 2 == 0) || (level == 2 && pe % 4 == 1) || (level == 3 && pe == root());
  }
  int numChildren(int, int level) override { return level == 0 ? 0 : span[level - 1]; }
  void getChildren(int pe, int level, int* children, int& count) override {
    count = numChildren(pe, level);
    for (int i = 0; i < count; ++i) children[i] = level == 1 ? pe + i : level == 2 ? pe - 1 + 2 * i : 4 * i + 1;
  }

 private:
  static int root() { return CkNumPes() - 1; }
};

// A tree in place of that of the base.
class OwnTreeLB : public CBase_OwnTreeLB {
 public:
  explicit OwnTreeLB(const CkLBOptions& options) : CBase_OwnTreeLB(options) {
    lbname = "OwnTreeLB";
    check(tree->numLevels() == (CkNumPes() <= 4 ? 2 : 3), "the tree of the base is another one");
    delete tree;
    if (CkNumPes() % 4 == 0)
      tree = new PairsTree;
    else
      tree = new TwoLevelTree;
    initTree();
    statsStrategy = FULL;
    if (CkpvAccess(_lb_obj_index) == -1) CkpvAccess(_lb_obj_index) = LBRegisterObjUserData(sizeof(Said));
  }
  explicit OwnTreeLB(CkMigrateMessage* m) : CBase_OwnTreeLB(m) {}

 protected:
  void work(LDStats* stats) override {
    const LevelData& level = *levelData[currentLevel];
    const int top = tree->numLevels() - 1, pes = CkNumPes();
    const int parts = top == 1 ? pes : currentLevel == top ? pes / 4 : 2;
    check(static_cast<int>(stats->nprocs()) == parts && level.nChildren == parts, "a level has other parts");
    if (currentLevel == top) check(static_cast<int>(stats->objData.size()) == element_count, "the root knows too few");
    for (int i = 0; i < parts; ++i) check(stats->procs[i].pe == level.children[i], "a part has another root");
    place_largest_first(*stats);
    for (std::size_t i = 0; i < stats->objData.size(); ++i) {
      const auto* said = static_cast<const Said*>(stats->objData[i].getUserData(CkpvAccess(_lb_obj_index)));
      if (currentLevel < top)
        check(
            tree->parent(level.children[0], currentLevel - 1) == tree->parent(decided[said->element], currentLevel - 1),
            "an object is not in the part that the level above has put it into");
      decided[said->element] = level.children[stats->to_proc[i]];
    }
  }
};

// Its tree names a PE that is not there.
class WrongTreeLB : public CBase_WrongTreeLB {
  class WrongTree : public TwoLevelTree {
    int parent(int, int level) override { return level == 0 ? CkNumPes() : -1; }
  };

 public:
  explicit WrongTreeLB(const CkLBOptions& options) : CBase_WrongTreeLB(options) {
    lbname = "WrongTreeLB";
    delete tree;
    tree = new WrongTree;
  }
  explicit WrongTreeLB(CkMigrateMessage* m) : CBase_WrongTreeLB(m) {}
};

// Each PE sends all it has to the next one, when that has said how much it has.
class NextPeLB : public CBase_NextPeLB {
 public:
  explicit NextPeLB(const CkLBOptions& options) : CBase_NextPeLB(options) { lbname = "NextPeLB"; }
  explicit NextPeLB(CkMigrateMessage* m) : CBase_NextPeLB(m) {}
  void announce(int) {
    heard_ = true;
    consider();
  }

 protected:
  void Strategy(const LDStats* const stats) override {
    stats_ = stats;
    thisProxy[(CkMyPe() + CkNumPes() - 1) % CkNumPes()].announce(static_cast<int>(stats->objData.size()));
    consider();
  }

 private:
  void consider() {
    if (!heard_ || !stats_) return;
    const int count = static_cast<int>(stats_->objData.size());
    auto* message = new (count, CkNumPes(), CkNumPes(), 0) LBMigrateMsg;
    for (int i = 0; i < count; ++i) {
      message->moves[i].obj = stats_->objData[i].handle;
      message->moves[i].from_pe = CkMyPe();
      message->moves[i].to_pe = (CkMyPe() + 1) % CkNumPes();
    }
    heard_ = false;
    stats_ = nullptr;
    ProcessMigrationDecision(message);
  }
  bool heard_ = false;
  const LDStats* stats_ = nullptr;
};

// As a distributed balancer of Charm++ mostly goes: what all PEs have is summed up by a reduction of the members, each
// tells the others by a broadcast what it has more than the average, and gives that away. It balances in no step that
// is 1, and moves nothing in step 2.
class SharingLB : public CBase_SharingLB {
 public:
  explicit SharingLB(const CkLBOptions& options) : CBase_SharingLB(options) { lbname = "SharingLB"; }
  explicit SharingLB(CkMigrateMessage* m) : CBase_SharingLB(m) {}
  void all(double seconds) {
    average_ = seconds / CkNumPes();
    thisProxy.surplus(CkMyPe(), myStats.obj_walltime + myStats.bg_walltime - average_);
  }
  void surplus(int pe, double seconds) {
    surplus_.resize(static_cast<std::size_t>(CkNumPes()));
    surplus_[pe] = seconds;
    if (++heard_ == CkNumPes()) decide();
  }

 protected:
  bool QueryBalanceNow(int step) override { return step != 1; }
  bool QueryMigrateStep(int step) override { return step != 2; }
  void Strategy(const LDStats* const stats) override {
    check(step() != 1, "a step is balanced that QueryBalanceNow() was against");
    check(stats == &myStats && stats->from_pe == CkMyPe() && stats->available, "a member gets what is another PE's");
    const double seconds = stats->obj_walltime + stats->bg_walltime;
    contribute(sizeof seconds, &seconds, CkReduction::sum_double,
               CkCallback(CkReductionTarget(SharingLB, all), thisProxy));
  }

 private:
  void decide() {
    heard_ = 0;
    std::vector<MigrateInfo> moves;
    for (const LDObjData& object : myStats.objData) {
      const auto to = static_cast<int>(std::min_element(surplus_.begin(), surplus_.end()) - surplus_.begin());
      if (!object.migratable || surplus_[CkMyPe()] <= 0 || to == CkMyPe()) continue;
      moves.emplace_back();
      moves.back().obj = object.handle;
      moves.back().from_pe = CkMyPe();
      moves.back().to_pe = to;
      surplus_[CkMyPe()] -= object.wallTime;
      surplus_[to] += object.wallTime;
    }
    const int count = static_cast<int>(moves.size());
    auto* message = new (count, CkNumPes(), CkNumPes(), 0) LBMigrateMsg;
    message->n_moves = count;
    for (int i = 0; i < count; ++i) message->moves[i] = moves[static_cast<std::size_t>(i)];
    ProcessMigrationDecision(message);
  }
  double average_ = 0;
  int heard_ = 0;
  std::vector<double> surplus_;
};

// Its member on PE 1 makes the mistake that the program's argument names.
static std::string mistake;
class FaultyLB : public CBase_FaultyLB {
 public:
  explicit FaultyLB(const CkLBOptions& options) : CBase_FaultyLB(options) { lbname = "FaultyLB"; }
  explicit FaultyLB(CkMigrateMessage* m) : CBase_FaultyLB(m) {}

 protected:
  void Strategy(const LDStats* const) override {
    const bool wrong = CkMyPe() == 1;
    if (wrong && mistake == "forgets") return;
    if (wrong && mistake == "throws") throw std::runtime_error("no idea");
    ProcessMigrationDecision(new (0, 0, 0, 0) LBMigrateMsg);
    if (wrong && mistake == "twice") ProcessMigrationDecision(new (0, 0, 0, 0) LBMigrateMsg);
  }
};

static void lbinit() {
  LBRegisterBalancer<FaultyLB>("FaultyLB", "makes mistakes");
  LBRegisterBalancer<SharingLB>("SharingLB", "what is more than the average to those that have less");
  LBRegisterBalancer<LargestFirstLB>("LargestFirstLB", "the largest first");
  LBRegisterBalancer<MovableFirstLB>("MovableFirstLB", "moves what can be moved");
  LBRegisterBalancer<TwoLevelsLB>("TwoLevelsLB", "the largest first, of groups and of PEs");
  LBRegisterBalancer<OwnTreeLB>("OwnTreeLB", "the largest first, down a tree of its own");
  LBRegisterBalancer<WrongTreeLB>("WrongTreeLB", "names a PE that is not there");
  LBRegisterBalancer<ThrowingLB>("ThrowingLB", "never answers");
  LBRegisterBalancer<NextPeLB>("NextPeLB", "all to the next PE");
}

class Piece : public CBase_Piece {
 public:
  Piece() { usesAtSync = true; }
  explicit Piece(CkMigrateMessage*) {}
  void pup(PUP::er& p) override { p | step_; }
  void step(int number) {
    step_ = number;
    if (thisIndex % 3 == 0 && std::string(LBManager::Object()->loadbalancer(0)) == "MovableFirstLB")
      setMigratable(false);
    if (wrong_place != 0) getObjUserData(wrong_place);
    setObjTime(getObjTime() > 0.5 ? getObjTime() + load_of(thisIndex, number) : load_of(thisIndex, number));
    if (CkpvAccess(_lb_obj_index) >= 0)
      *static_cast<Said*>(getObjUserData(CkpvAccess(_lb_obj_index))) = {static_cast<int>(thisIndex), number,
                                                                        myRec->getLdHandle()};
    AtSync();
  }
  void ResumeFromSync() override {
    const int where[2] = {static_cast<int>(thisIndex), CkMyPe()};
    contribute(sizeof where, where, CkReduction::concat, CkCallback(CkIndex_Main::placed(nullptr), main_proxy));
  }

 private:
  int step_ = 0;
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    if (m->argc > 1) wrong_place = std::atoi(m->argv[1]);
    if (m->argc > 1) mistake = m->argv[1];
    if (m->argc > 1 && std::string(m->argv[1]) == "no_balancer") LBManager::Object()->loadbalancer(7);
    if (m->argc > 1 && std::string(m->argv[1]) == "no_object") LBManager::Object()->GetObjHandle(3);
    delete m;
    main_proxy = thisProxy;
    balancer_ = periapt::loadbalance::options().strategy(1)->info->name;
    pieces = CProxy_Piece::ckNew(element_count);
    pieces.step(step_);
  }
  void placed(CkReductionMsg* message) {
    const int* pairs = static_cast<const int*>(message->getData());
    std::vector<int> now(element_count, -1);
    for (int i = 0; i < element_count; ++i) now[pairs[2 * i]] = pairs[2 * i + 1];
    delete message;
    check_step(now);
    last_ = now;
    if (++step_ == step_count) {
      CkPrintf("all checks passed\n");
      CkExit();
      return;
    }
    pieces.step(step_);
  }

 private:
  void check_step(const std::vector<int>& now) const {
    check(LBManagerObj()->getLoadBalancers()[0]->lbName() == balancer_, "another balancer is asked");
    if (balancer_ == "LargestFirstLB" || balancer_ == "OwnTreeLB" || balancer_ == "MovableFirstLB")
      check(now == decided, "an element is not where it was put");
    if (balancer_ == "MovableFirstLB") check_manager();
    if (balancer_ == "LargestFirstLB")
      check(steps_over == step_ + 1 && last_balanced == (step_ != 1),
            "LoadbalanceDone() is not called as it should be");
    const bool rests = balancer_ == "SharingLB" || balancer_ == "TwoLevelsLB";
    if (rests && (step_ == 1 || step_ == 2)) check(now == last_, "an element has moved");
    if (rests && step_ == 3 && CkNumPes() > 1) check(now != last_, "no element has moved");
    for (int i = 0; i < element_count && balancer_ == "NextPeLB" && step_ > 0; ++i)
      check(now[i] == (last_[i] + 1) % CkNumPes(), "an element is not on the next PE");
  }
  // On the PE that balances.
  static void check_manager() {
    LBManager& manager = *LBManagerObj();
    for (int pe = 0; pe < CkNumPes(); ++pe) {
      check(manager.availVector()[pe] == 1, "a PE may get nothing");
      check(std::abs(manager.expectedLoad()[pe] - expected[pe]) < 1e-6 * (1 + expected[pe]),
            "a load is not as expected");
    }
    check(manager.myExpectedLoad() == manager.expectedLoad()[0], "the own load is another one");
    std::vector<LDObjData> objects(static_cast<std::size_t>(manager.GetObjDataSz()));
    manager.GetObjData(objects.data());
    for (std::size_t i = 0; i < objects.size(); ++i)
      check(manager.GetObjHandle(static_cast<int>(i)) == objects[i].handle, "an object has another handle");
  }

  std::string balancer_;
  int step_ = 0;
  std::vector<int> last_;  // by element, the PE after the last step
};

#include "balancers.def.h"
