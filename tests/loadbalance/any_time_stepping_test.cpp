// Balancing at any time, stepped by hand: five PEs in this one thread, each step's PE drawn from a seed that is printed
// with a failure. Steps are begun by any PE at any moment, and by timers, and put everything anywhere, while elements
// send, hear broadcasts, contribute, move, are born and die. A model beside it knows what must come.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "any_time_stepping.decl.h"
#include "charm++.h"
#include "runtime/face/stepped.h"
#include "runtime/loadbalance/balancer.h"
#include "runtime/loadbalance/part.h"
#include "runtime/loadbalance/strategies/problem.h"
#include "runtime/objects/pe_objects.h"
#include "tests/machine/job.h"
#include "tests/runtime/stepping.h"

using periapt::test::chance;
using periapt::test::on;
using periapt::test::pick;
using periapt::test::settle;
using periapt::test::some_pe;

namespace {
constexpr int pes = 5;
CProxy_Main mainProxy;
CProxy_Piece pieces;
CProxy_Friend friends;

struct Model {
  std::map<int, int> alive;  // piece -> PE it is on; -1: on its way
  std::int64_t sent = 0, received = 0, given = 0, reduced = 0;
  int shouts = 0, quiet = 0, running = -1;
  std::string mistake;
} model;
int ordered = 0;  // moves that the strategy has wanted
int someone() { return std::next(model.alive.begin(), pick(static_cast<int>(model.alive.size())))->first; }

// Everything anywhere; at times nothing.
periapt::loadbalance::Assignment shuffle(const periapt::loadbalance::LoadDatabase& database,
                                         const periapt::loadbalance::StrategyOptions&) {
  periapt::loadbalance::Problem problem(database);
  std::set<std::pair<int, std::uint64_t>> names;
  for (const periapt::loadbalance::ObjectLoad& object : database.objects)
    if (!names.emplace(object.array, object.element).second) model.mistake = "an object stands twice in a database";
  if (pick(4) == 0) return periapt::loadbalance::present(database);
  for (std::size_t i : problem.movable) {
    problem.assignment[i] = pick(pes);
    ordered += problem.assignment[i] != database.objects[i].pe;
  }
  return problem.assignment;
}
}  // namespace

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg*) {
    mainProxy = thisProxy;
    pieces = CProxy_Piece::ckNew();
    CkArrayOptions bound;
    bound.bindTo(pieces);
    friends = CProxy_Friend::ckNew(bound);
    pieces.doneInserting();
    friends.doneInserting();
  }
  void reduced(int, const std::int64_t* x) { model.reduced += x[0]; }
  void quiet() {
    ++model.quiet;
    if (model.sent != model.received) model.mistake = "quiescence with messages on their way";
    for (const auto& [index, pe] : model.alive)
      if (pe < 0) model.mistake = "quiescence with piece " + std::to_string(index) + " on its way";
  }
};

class Piece : public CBase_Piece {
 public:
  Piece() { model.alive[thisIndex] = CkMyPe(); }
  explicit Piece(CkMigrateMessage*) {}
  void pup(PUP::er& p) override { p | last_; }
  void ckAboutToMigrate() override {
    if (model.running == thisIndex) model.mistake = "an element moves while an entry of it runs";
    model.alive[thisIndex] = -1;
  }
  void ckJustMigrated() override { model.alive[thisIndex] = CkMyPe(); }
  void note(int hops) {
    ++model.received;
    if (hops == 0) return;
    ++model.sent;
    if (pick(3) == 0)
      friends[someone()].note(hops - 1);
    else
      pieces[someone()].note(hops - 1);
  }
  void shout(int number) {
    if (last_ != 0 && number != last_ + 1)
      model.mistake = "broadcast " + std::to_string(number) + " came after " + std::to_string(last_);
    last_ = number;
  }
  void give() {
    ++model.given;
    const std::int64_t one = 1;
    contribute(sizeof one, &one, CkReduction::sum_long_long, CkCallback(CkReductionTarget(Main, reduced), mainProxy));
  }
  // Looks after other messages of its PE in the middle, where it may be told to move.
  void busy(int looks) {
    ++model.received;
    if (model.running >= 0) return;
    model.running = thisIndex;
    const int me = CkMyPe();
    for (int i = 0; i < looks; ++i) {
      for (int steps = pick(10); steps > 0; --steps) {
        const int other = pick(pes);
        if (other != me) on(other).step();
      }
      on(me);
      CsdSchedulePoll();
    }
    model.running = -1;
  }
  void pause(int times) {
    ++model.received;
    const int here = CkMyPe();
    for (int i = 0; i < times; ++i) {
      CthYield();
      if (CkMyPe() != here) model.mistake = "an element moves under its thread";
    }
  }
  int last_ = 0;
};

class Friend : public CBase_Friend {
 public:
  Friend() {}
  explicit Friend(CkMigrateMessage*) {}
  void note(int hops) {
    ++model.received;
    if (!pieces[thisIndex].ckLocal()) model.mistake = "a friend is elsewhere than its piece";
    if (hops == 0) return;
    ++model.sent;
    pieces[someone()].note(hops - 1);
  }
};

#include "any_time_stepping.def.h"
#include "tests/host/amount.h"

namespace {

void start() {
  static char name[] = "any_time_stepping_test", option[] = "+balancer", shuffler[] = "Shuffle";
  static char* arguments[] = {name, option, shuffler, nullptr};
  static const bool once = [] {
    periapt::loadbalance::add_strategy(
        {.name = "Shuffle", .classic = "Shuffle", .summary = "for this test", .solve = shuffle});
    periapt::start_stepped(periapt::test::layout(pes, 1), 3, arguments, _registerany_time_stepping,
                           {periapt::loadbalance::part()});
    return true;
  }();
  static_cast<void>(once);
}

class AnyTime : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    chance.seed(static_cast<unsigned>(GetParam()));
    start();
    ASSERT_TRUE(settle());
    model = Model();
  }
  void TearDown() override {
    EXPECT_EQ(model.mistake, "") << "seed " << GetParam();
    while (!model.alive.empty()) {
      const int one = someone();
      ASSERT_TRUE(with(one, [](Piece& piece) { piece.ckDestroy(); })) << one << " is lost; seed " << GetParam();
      with_friend(one);
      model.alive.erase(one);
    }
    ASSERT_TRUE(settle());
    EXPECT_EQ(model.given, model.reduced) << "contributions; seed " << GetParam();
  }
  static void born(int index) {
    on(pick(pes));
    pieces[index].insert(pick(pes));
    friends[index].insert();
    ASSERT_TRUE(settle());
  }
  template <class Action>
  static bool with(int index, Action action) {
    const auto found = model.alive.find(index);
    if (found == model.alive.end() || found->second < 0) return false;
    on(found->second);
    Piece* piece = pieces[index].ckLocal();
    EXPECT_NE(piece, nullptr) << "piece " << index << " is not where it arrived; seed " << GetParam();
    if (piece) action(*piece);
    return piece != nullptr;
  }
  static void with_friend(int index) {
    Friend* other = friends[index].ckLocal();
    ASSERT_NE(other, nullptr) << "seed " << GetParam();
    other->ckDestroy();
  }
  static int steps() { return periapt::loadbalance::Balancer::of(on(0)).balancings(); }
};

TEST_P(AnyTime, NothingIsLostOrDoubledWhileEverythingMovesAndTheProgramGoesOn) {
  int next = 1000 * GetParam();
  for (int i = 0; i < 6; ++i) born(next++);
  const int steps_before = steps(), ordered_before = ordered;
  for (int act = 0; act < 500; ++act) {
    for (int steps = pick(8); steps > 0; --steps) on(some_pe(100)).step();
    const int one = someone();
    switch (pick(11)) {
      case 0:
        if (model.alive.size() < 12) {
          on(pick(pes));
          pieces[next].insert(pick(pes));
          friends[next++].insert();
        }
        break;
      case 1:
        if (model.alive.size() > 4 && model.running != one && with(one, [](Piece&) {})) {
          // Nothing is on its way to the one that dies.
          ASSERT_TRUE(settle());
          if (!with(one, [](Piece& piece) { piece.ckDestroy(); })) break;
          with_friend(one);
          model.alive.erase(one);
        }
        break;
      case 2:
        with(one, [](Piece& piece) { piece.migrateMe(pick(pes)); });
        break;
      case 3:
        with(one, [](Piece& piece) { piece.give(); });
        break;
      case 4:
        on(0);
        pieces.shout(++model.shouts);
        break;
      case 5:
        on(pick(pes));
        ++model.sent;
        pieces[one].busy(pick(6));
        break;
      case 6:
        on(pick(pes));
        ++model.sent;
        pieces[one].pause(pick(6));
        break;
      case 7:
        on(pick(pes));
        LBSetPeriod(pick(2) ? -1 : 1e-9 * pick(100'000) + 1e-9);
        break;
      case 8:
        on(pick(pes));
        CkStartLB();
        break;
      default:
        on(pick(pes));
        ++model.sent;
        pieces[one].note(pick(8));
    }
    ASSERT_EQ(model.mistake, "") << "seed " << GetParam() << ", act " << act;
  }
  on(pick(pes));
  CkStartQD(CkCallback(CkIndex_Main::quiet(), mainProxy));
  for (int i = 0; i < 20'000 && model.quiet < 1; ++i) ASSERT_TRUE(settle()) << "seed " << GetParam();
  EXPECT_EQ(model.quiet, 1) << "seed " << GetParam();
  EXPECT_EQ(model.sent, model.received) << "seed " << GetParam();
  for (const auto& [index, pe] : model.alive) EXPECT_GE(pe, 0) << "piece " << index << " is lost; seed " << GetParam();
  EXPECT_GT(steps(), steps_before) << "seed " << GetParam();
  EXPECT_GT(ordered, ordered_before) << "seed " << GetParam();
}

// Balancing goes to sleep when nothing runs any more, and a step begins again when something does.
TEST_P(AnyTime, WhatStandsStillIsLeftAlone) {
  for (int i = 0; i < 6; ++i) born(5'000'000 + 10 * GetParam() + i);
  on(pick(pes));
  LBSetPeriod(1e-9);
  ASSERT_TRUE(settle()) << "steps go on for ever; seed " << GetParam();
  const int before = steps();
  ASSERT_TRUE(settle());
  EXPECT_EQ(steps(), before) << "seed " << GetParam();
  on(pick(pes));
  ++model.sent;
  pieces[someone()].note(20);
  ASSERT_TRUE(settle());
  EXPECT_GT(steps(), before) << "seed " << GetParam();
  for (const auto& [index, pe] : model.alive)
    with(index, [](Piece& piece) { EXPECT_EQ(piece.getObjTime(), 0) << "it sleeps; seed " << GetParam(); });
  EXPECT_EQ(model.sent, model.received) << "seed " << GetParam();
  on(pick(pes));
  LBSetPeriod(-1);
  ASSERT_TRUE(settle());
}

INSTANTIATE_TEST_SUITE_P(Seeds, AnyTime, testing::Range(1, 1 + periapt::tests::amount(60)));

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
