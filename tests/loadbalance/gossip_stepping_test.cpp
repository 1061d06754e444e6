// Strategies whose PEs decide for themselves, stepped by hand: the PEs in this one thread, each step's PE drawn from a
// seed that is printed with a failure. What moves at an AtSync is what the strategy's solve() says of the same loads.
//
//   gossip_stepping_test PES [+LBDebug 1 ...]
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "charm++.h"
#include "gossip_stepping.decl.h"
#include "runtime/face/stepped.h"
#include "runtime/loadbalance/balancer.h"
#include "runtime/loadbalance/model.h"
#include "runtime/loadbalance/options.h"
#include "runtime/loadbalance/part.h"
#include "runtime/registry/registry.h"
#include "tests/machine/job.h"
#include "tests/runtime/stepping.h"

using namespace periapt::loadbalance;
using periapt::test::chance;
using periapt::test::on;
using periapt::test::pick;
using periapt::test::settle;
using periapt::test::some_pe;

namespace {
int pes = 4;
std::vector<char*> arguments;
constexpr int count = 60;
CProxy_Piece pieces;

struct Model {
  std::vector<int> where = std::vector<int>(count), resumed = std::vector<int>(count);
} model;
int moved = 0;  // steps at which something has

// Counts messages with loads.
class Gathering : public periapt::Observer {
 public:
  int messages = 0;
  void on_enqueued(periapt::Pe&, std::uint16_t entry) override {
    messages += std::strcmp(periapt::entry_info(entry).name, "balancing: loads") == 0;
  }
} gathering;
}  // namespace

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    delete m;
    pieces = CProxy_Piece::ckNew(count);
  }
};

class Piece : public CBase_Piece {
 public:
  Piece() {
    usesAtSync = true;
    model.where[thisIndex] = CkMyPe();
  }
  explicit Piece(CkMigrateMessage*) {}
  void ckJustMigrated() override { model.where[thisIndex] = CkMyPe(); }
  void wait(double load, bool stays) {
    setMigratable(!stays);
    setObjTime(load);
    AtSync();
  }
  void move(int pe) { migrateMe(pe); }
  void ResumeFromSync() override { ++model.resumed[thisIndex]; }
};

#include "gossip_stepping.def.h"
#include "tests/host/amount.h"

namespace {

void start() {
  static const bool once = [] {
    arguments.push_back(nullptr);
    periapt::start_stepped(periapt::test::layout(pes, 1), static_cast<int>(arguments.size()) - 1, arguments.data(),
                           _registergossip_stepping, {part()});
    for (int pe = 0; pe < pes; ++pe) {
      on(pe);
      LBTurnInstrumentOff();  // loads are what this test says, and nothing else
      on(pe).subscribe(&gathering, periapt::Observer::enqueued);
    }
    return true;
  }();
  static_cast<void>(once);
}

// Numbers that sums of are exact, and no two alike, so that the order in which PEs list their elements changes nothing.
std::vector<double> some_loads() {
  std::set<int> numbers;
  while (numbers.size() < count) numbers.insert(1 + pick(pick(2) ? 1000 : 100'000));
  std::vector<double> loads;
  for (const int number : numbers) loads.push_back(number / 1024.0);
  std::shuffle(loads.begin(), loads.end(), chance);
  return loads;
}

class Stepped : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    chance.seed(static_cast<unsigned>(GetParam()));
    start();
    ASSERT_TRUE(settle());
    model.resumed.assign(count, 0);
  }
  std::string seed() const { return "seed " + std::to_string(GetParam()) + ", " + std::to_string(pes) + " PEs"; }

  LoadDatabase database(const std::vector<double>& loads, const std::vector<char>& stays) const {
    LoadDatabase db;
    db.step = static_cast<std::uint32_t>(Balancer::of(on(0)).balancings()) + 1;
    db.pes.resize(static_cast<std::size_t>(pes));
    for (int i = 0; i < count; ++i)
      db.objects.push_back({1, static_cast<std::uint64_t>(i), model.where[i], loads[i], 0, !stays[i]});
    return db;
  }
  void sync(const std::vector<double>& loads, const std::vector<char>& stays, bool some_move = false) {
    for (int i = 0; i < count; ++i) {
      on(pick(pes));
      pieces[i].wait(loads[i], stays[i]);
      for (int steps = pick(6); steps > 0; --steps) on(some_pe()).step();
    }
    for (int i = 0; some_move && i < 400; ++i) {
      on(some_pe()).step();
      if (pick(40) > 0) continue;
      on(pick(pes));
      pieces[pick(count)].move(pick(pes));
    }
    ASSERT_TRUE(settle()) << seed();
    for (int i = 0; i < count; ++i) EXPECT_EQ(model.resumed[i], 1) << "piece " << i << ", " << seed();
    for (int i = 0; i < count; ++i) {
      on(model.where[i]);
      EXPECT_NE(pieces[i].ckLocal(), nullptr) << "piece " << i << ", " << seed();
    }
  }
};

TEST_P(Stepped, MovesWhatTheStrategySaysOfTheSameLoads) {
  std::vector<char> stays(count);
  for (char& one : stays) one = pick(5) == 0;
  const std::vector<double> loads = some_loads();
  const LoadDatabase before = database(loads, stays);
  gathering.messages = 0;
  sync(loads, stays);
  if (options().strategy(before.step)->info->member && options().debug == 0)
    EXPECT_EQ(gathering.messages, 0) << seed();
  else
    EXPECT_GE(gathering.messages, pes) << seed();
  moved += model.where != present(before);
  EXPECT_EQ(model.where, options().strategy(before.step)->solve(before))
      << "step " << before.step << ", " << options().strategy(before.step)->info->name << ", " << seed();
}
TEST_P(Stepped, MovesNothingWhereALoadIsNone) {
  std::vector<double> loads = some_loads();
  loads[pick(count)] = std::nan("");
  const std::vector<int> before = model.where;
  sync(loads, std::vector<char>(count));
  EXPECT_EQ(model.where, before) << seed();
}
TEST_P(Stepped, MovesNothingWhereNoneHasALoad) {
  const std::vector<char> none(count);
  const LoadDatabase before = database(std::vector<double>(count), none);
  sync(std::vector<double>(count), none);
  EXPECT_EQ(model.where, options().strategy(before.step)->solve(before)) << seed();
}
TEST_P(Stepped, GoesOnWhenElementsMoveThemselvesMeanwhile) { sync(some_loads(), std::vector<char>(count), true); }

INSTANTIATE_TEST_SUITE_P(Seeds, Stepped, testing::Range(1, 1 + periapt::tests::amount(30)));

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) pes = std::atoi(argv[1]);
  static char balancer[] = "+balancer", no_background[] = "+LBNoBackground";
  static char names[][40] = {"DistributedLB",
                             "TemperedLB:trials=3,iterations=3",
                             "DistributedLB:iterations=9,fanout=1",
                             "TemperedLB",
                             "DiffusionLB",
                             "RotateLB"};
  arguments = {argv[0], no_background};
  for (int i = 2; i < argc; ++i) arguments.push_back(argv[i]);
  for (int step = 0; step < 4 * 30; ++step) arguments.insert(arguments.end(), {balancer, names[step % 6]});
  const int failed = RUN_ALL_TESTS();
  if (pes > 1 && moved == 0) std::puts("nothing has moved");
  return failed != 0 || (pes > 1 && moved == 0);
}
