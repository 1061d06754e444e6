// The runtime stepped by hand: five PEs in this one thread, each step's PE drawn from a seed that is printed with a
// failure. A model beside it knows what was sent, who lives, and what each reduction must bring.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "charm++.h"
#include "runtime/chare/stepped.h"
#include "tests/machine/job.h"

#include "stepping.decl.h"

using periapt::Pe;

namespace {
constexpr int pes = 5;
CProxy_Main mainProxy;
CProxy_Line queue;
CProxy_Mover movers;

// What should be, and what came.
struct Model {
  std::vector<int> order;                  // of items
  std::map<int, int> alive;                // mover -> PE it is on; -1: on its way
  int shouts = 0;
  std::int64_t sent = 0, received = 0;     // point to point
  std::int64_t given = 0, reduced = 0;     // contributions, and those that came out of a reduction
  int quiet = 0;
  std::string mistake;
} model;
std::mt19937 chance;

int pick(int below) { return static_cast<int>(chance() % static_cast<unsigned>(below)); }
Pe& on(int pe) {
  Pe& chosen = periapt::Process::current()->pe(pe);
  Pe::set_current(&chosen);
  return chosen;
}
// Steps at random until nothing moves on any PE for long.
bool settle() {
  for (int idle = 0, steps = 0; idle < 100 * pes; ++steps) {
    idle = on(pick(pes)).step() ? 0 : idle + 1;
    if (steps > 10'000'000) return false;
  }
  return true;
}
}  // namespace

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg*) {
    mainProxy = thisProxy;
    queue = CProxy_Line::ckNew();
    movers = CProxy_Mover::ckNew();
    movers.doneInserting();
  }
  void round(int n, std::int64_t* values) {
    if (n != 1) model.mistake = "a reduction of one number brings " + std::to_string(n);
    model.reduced += values[0];
  }
  void quiet() {
    ++model.quiet;
    if (model.sent != model.received) model.mistake = "quiescence with messages on their way";
  }
};

class Line : public CBase_Line {
 public:
  Line() {}
  void item(int number) { model.order.push_back(number); }
  void urgent(int number) { model.order.push_back(number); }
};

class Mover : public CBase_Mover {
 public:
  Mover() { arrived(); }
  explicit Mover(CkMigrateMessage*) {}
  ~Mover() override {}
  void pup(PUP::er& p) { p | last; }
  void ckJustMigrated() override { arrived(); }
  void ckAboutToMigrate() override { model.alive[thisIndex] = -1; }
  void note(int hops) {
    ++model.received;
    if (hops == 0 || model.alive.empty()) return;
    auto to = std::next(model.alive.begin(), pick(static_cast<int>(model.alive.size())));
    ++model.sent;
    thisProxy[to->first].note(hops - 1);
  }
  void shout(int number) {
    if (last != 0 && number != last + 1)
      model.mistake = "broadcast " + std::to_string(number) + " came after " + std::to_string(last);
    last = number;
  }
  void give() {
    ++model.given;
    std::int64_t one = 1;
    contribute(sizeof one, &one, CkReduction::sum_long_long, CkCallback(CkReductionTarget(Main, round), mainProxy));
  }
  void arrived() { model.alive[thisIndex] = CkMyPe(); }
  int last = 0;
};

#include "stepping.def.h"

namespace {

void start() {
  static char name[] = "stepping_test";
  static char* arguments[] = {name, nullptr};
  static periapt::Process* run =
      &periapt::start_stepped(periapt::test::layout(pes, 1), 1, arguments, _registerstepping);
  static_cast<void>(run);
}

class Stepping : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    chance.seed(static_cast<unsigned>(GetParam()));
    start();
    ASSERT_TRUE(settle());
    model = Model();
  }
  void TearDown() override { EXPECT_EQ(model.mistake, "") << "seed " << GetParam(); }

  void born(int index) {
    on(pick(pes));
    model.alive[index] = -1;
    movers[index].insert(pick(pes));
  }
  // Runs an action on a mover where it is; false when it is on its way.
  template <class Action>
  bool with(int index, Action action) {
    auto found = model.alive.find(index);
    if (found == model.alive.end() || found->second < 0) return false;
    on(found->second);
    Mover* mover = movers[index].ckLocal();
    EXPECT_NE(mover, nullptr) << "mover " << index << " is not where it arrived; seed " << GetParam();
    if (mover) action(*mover);
    return mover != nullptr;
  }
  int someone() {
    if (model.alive.empty()) return 0;
    return std::next(model.alive.begin(), pick(static_cast<int>(model.alive.size())))->first;
  }
};

TEST_P(Stepping, MessagesRunInOrderOfUrgencyThenOfArrival) {
  on(2);
  CProxyElement_Line me = queue[2];
  CkEntryOptions late, soon, lifo;
  late.setPriority(7);
  soon.setPriority(-7);
  lifo.setQueueing(CK_QUEUEING_LIFO);
  me.item(3);
  me.item(5, &late);
  me.item(4);
  me.item(1, &soon);
  me.urgent(0);
  me.item(2, &lifo);
  me.item(6, &late);
  ASSERT_TRUE(settle());
  EXPECT_EQ(model.order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
}

TEST_P(Stepping, NothingIsLostOrDoubledWhileElementsAreBornMoveAndDie) {
  int next = 1000 * GetParam();
  for (int i = 0; i < 6; ++i) born(next++);
  on(0);
  CkStartQD(CkCallback(CkIndex_Main::quiet(), mainProxy));
  for (int act = 0; act < 600; ++act) {
    for (int steps = pick(8); steps > 0; --steps) on(pick(pes)).step();
    const int one = someone();
    switch (pick(6)) {
      case 0:
        if (model.alive.size() < 12) born(next++);
        break;
      case 1:
        with(one, [](Mover& m) { m.migrateMe(pick(pes)); });
        break;
      case 2:
        with(one, [](Mover& m) { m.give(); });
        break;
      case 3:
        on(0);
        movers.shout(++model.shouts);
        break;
      case 4:
        on(pick(pes));
        ++model.sent;
        movers[one].note(pick(6));
        break;
      default:
        with(one, [](Mover& m) { m.give(); m.migrateMe(pick(pes)); });
    }
    ASSERT_EQ(model.mistake, "") << "seed " << GetParam() << ", act " << act;
  }
  // Quiescence detection pauses between its waves, in real time.
  for (int i = 0; i < 100'000 && model.quiet == 0; ++i) ASSERT_TRUE(settle()) << "seed " << GetParam();
  EXPECT_EQ(model.sent, model.received) << "seed " << GetParam();
  EXPECT_EQ(model.quiet, 1) << "quiescence is due once; seed " << GetParam();
  for (const auto& [index, pe] : model.alive) EXPECT_GE(pe, 0) << "mover " << index << " is lost; seed " << GetParam();
  // Rounds that some have given to end when those that owe one have died.
  while (!model.alive.empty()) {
    const int one = someone();
    ASSERT_TRUE(with(one, [](Mover& m) { m.ckDestroy(); }));
    model.alive.erase(one);
    for (int steps = pick(8); steps > 0; --steps) on(pick(pes)).step();
  }
  ASSERT_TRUE(settle()) << "seed " << GetParam();
  EXPECT_EQ(model.given, model.reduced) << "contributions; seed " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Seeds, Stepping, testing::Range(1, 21));

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
