// The runtime stepped by hand: five PEs in this one thread, each step's PE drawn from a seed that is printed with a
// failure. A model beside it knows what was sent, what lives, and what each reduction must bring.
#include "tests/runtime/stepping.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "charm++.h"
#include "ckmulticast.h"
#include "runtime/array/array_manager.h"
#include "runtime/array/array_migration.h"
#include "runtime/array/location.h"
#include "runtime/face/stepped.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/sections/sections.h"
#include "stepping.decl.h"
#include "tests/machine/job.h"

using periapt::Pe;
using periapt::test::chance;
using periapt::test::on;
using periapt::test::pick;
using periapt::test::settle;
using periapt::test::some_pe;

namespace {
constexpr int pes = 5;
CProxy_Main mainProxy;
CProxy_Line queue;
CProxy_Mover movers;

// What should be, and what came.
struct Model {
  std::vector<int> order;  // of items
  std::function<void(int)> during_item;
  std::map<int, int> alive;  // mover -> PE it is on; -1: on its way
  int shouts = 0;
  bool farewells = false;               // movers send a note when they are about to migrate
  bool restless = false;                // movers migrate when they hear a broadcast
  std::int64_t sent = 0, received = 0;  // point to point
  std::int64_t given = 0, reduced = 0;  // contributions, and those that came out of a reduction
  int quiet = 0;                        // times that quiescence was reported
  int journeys = 0;                     // of pals: begun, and not ended
  int inside = 0;                       // exclusive entries that run
  int sleeping_on = -1;
  std::map<int, int> sung;  // contributions that have come, by section
  std::string mistake;
} model;
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
  void sung(CkReductionMsg* sum) {
    model.sung[sum->getUserFlag()] += *static_cast<int*>(sum->getData());
    delete sum;
  }
  void quiet() {
    ++model.quiet;
    if (model.sent != model.received) model.mistake = "quiescence with messages on their way";
    for (const auto& [index, pe] : model.alive)
      if (pe < 0) model.mistake = "quiescence with mover " + std::to_string(index) + " on its way";
  }
};

class Line : public CBase_Line {
 public:
  Line() {}
  void item(int number) {
    model.order.push_back(number);
    if (model.during_item) model.during_item(number);
  }
  void urgent(int number) { model.order.push_back(number); }
};

// Each multicast to some of it is answered by a reduction.
class Song : public CkMcastBaseMsg, public CMessage_Song {
 public:
  explicit Song(int verse) : verse(verse) {}
  int verse;
};
class Choir : public CBase_Choir {
 public:
  Choir() {}
  void sing(Song* song) {
    CkSectionInfo cookie;
    CkGetSectionInfo(cookie, song);
    int one = 1;
    CProxySection_Choir::contribute(sizeof one, &one, CkReduction::sum_int, cookie,
                                    CkCallback(CkIndex_Main::sung(nullptr), mainProxy), song->verse);
    delete song;
  }
};

// For messages that wait until it is there.
class Late : public CBase_Late {
 public:
  Late() { model.order.push_back(-CkMyPe()); }
};

class Single : public CBase_Single {
 public:
  Single() {}
  void bye() { delete this; }
};

class Keeper : public CBase_Keeper {
 public:
  Keeper() {}
  // While it runs other PEs of the process run, and this one does in a scheduler of its own.
  void enter(int inner) {
    begin();
    const int me = CkMyPe();
    if (inner > 0) {
      thisProxy[0].enter(0);
      on(me), thisProxy[0].enter(inner - 1);
      for (int i = 0; i < 20; ++i) on(pick(pes)).step();
      on(me), CsdSchedulePoll();
    }
    end();
  }
  void sleep() {
    begin();
    sleeper = CthSelf();
    model.sleeping_on = CkMyPe();
    CthSuspend();
    end();
  }
  void open() {
    model.mistake += sleeper ? "" : "nobody sleeps";
    CthAwaken(sleeper);
  }

 private:
  void begin() {
    if (model.inside++ != 0) model.mistake = "two exclusive entries at a time";
  }
  void end() {
    --model.inside;
    ++model.received;
  }
  CthThread sleeper = nullptr;
};

class Mover : public CBase_Mover {
 public:
  Mover() { arrived(); }
  explicit Mover(CkMigrateMessage*) {}
  ~Mover() override {}
  void pup(PUP::er& p) override { p | last, p | under_way; }
  void ckJustMigrated() override {
    under_way = false;
    arrived();
  }
  void ckAboutToMigrate() override {
    under_way = true;
    model.alive[thisIndex] = -1;
    if (!model.farewells) return;
    ++model.sent;
    thisProxy[std::next(model.alive.begin(), pick(static_cast<int>(model.alive.size())))->first].note(0);
  }
  // What each entry method begins with.
  void look() {
    if (under_way) model.mistake = "an entry method runs before ckJustMigrated()";
  }
  void fork(int depth) {
    look();
    ++model.received;
    for (int i = 0; i < 2 && depth > 0; ++i) {
      ++model.sent;
      thisProxy[std::next(model.alive.begin(), pick(static_cast<int>(model.alive.size())))->first].fork(depth - 1);
    }
  }
  void note(int hops) {
    look();
    ++model.received;
    if (hops == 0 || model.alive.empty()) return;
    auto to = std::next(model.alive.begin(), pick(static_cast<int>(model.alive.size())));
    ++model.sent;
    thisProxy[to->first].note(hops - 1);
  }
  void shout(int number) {
    look();
    if (last != 0 && number != last + 1)
      model.mistake = "broadcast " + std::to_string(number) + " came after " + std::to_string(last);
    last = number;
    // In the middle of what it catches up with, or of what its neighbours here are being given.
    if (!model.restless) return;
    if (pick(8) == 0 && !model.alive.empty())
      thisProxy[std::next(model.alive.begin(), pick(static_cast<int>(model.alive.size())))->first].ckEmigrate(
          pick(pes));
    else if (pick(4) == 0)
      migrateMe(pick(pes));
  }
  void give() {
    look();
    ++model.given;
    std::int64_t one = 1;
    contribute(sizeof one, &one, CkReduction::sum_long_long, CkCallback(CkReductionTarget(Main, round), mainProxy));
  }
  void arrived() { model.alive[thisIndex] = CkMyPe(); }
  int last = 0;
  bool under_way = false;  // from ckAboutToMigrate() until ckJustMigrated()
};

// Of two arrays bound to each other.
class Pal : public CBase_Pal {
 public:
  Pal() {}
  explicit Pal(CkMigrateMessage*) {}
  void note() {
    ++model.received;
    if (pick(6) == 0) migrateMe(pick(pes));
  }
  void ckAboutToMigrate() override { ++model.journeys; }
  void ckJustMigrated() override { --model.journeys; }
};

// Its indices are too large to be ids of their own.
class Far : public CBase_Far {
 public:
  Far() {}
  explicit Far(CkMigrateMessage*) {}
  void note(int number) {
    ++model.received;
    model.order.push_back(number);
    if (CkMyPe() != where) model.mistake = "an element at a huge index is elsewhere than it was sent to";
  }
  void run(int number) {
    model.order.push_back(number);
    migrateMe((CkMyPe() + 1) % pes);
  }
  static inline int where = 0;
};

// Each PE names another one as the home.
class Crooked : public CBase_Crooked {
 public:
  Crooked() {}
  int homePe(int, const CkArrayIndex&) override { return (CkMyPe() + 1) % pes; }
};

#include "stepping.def.h"
#include "tests/host/amount.h"

namespace {

void start() {
  static char name[] = "stepping_test";
  static char* arguments[] = {name, nullptr};
  static periapt::Process* run =
      &periapt::start_stepped(periapt::test::layout(pes, 1), 1, arguments, _registerstepping);
  static_cast<void>(run);
}

// What waits for receivers, in words.
std::string waiting() {
  std::string text;
  for (int pe = 0; pe < pes; ++pe)
    on(pe).objects->for_each_waiting([&](const std::string& receiver, const std::vector<periapt::Message>& messages) {
      text += std::to_string(messages.size()) + " for " + receiver + " on PE " + std::to_string(pe) + "; ";
    });
  return text;
}

class Stepping : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    chance.seed(static_cast<unsigned>(GetParam()));
    start();
    ASSERT_TRUE(settle());
    model = Model();
    periapt::Location::hints_kept = GetParam() % 2 ? 1 << 14 : static_cast<std::size_t>(pick(4));
  }
  void TearDown() override { EXPECT_EQ(model.mistake, "") << "seed " << GetParam(); }

  void born(int index) {
    on(pick(pes));
    model.alive[index] = -1;
    movers[index].insert(pick(pes));
  }
  static void ask_for_quiescence() {
    on(pick(pes));
    CkStartQD(CkCallback(CkIndex_Main::quiet(), mainProxy));
  }
  // Its detection pauses between its waves, in real time.
  static void until_quiet(int times) {
    for (int i = 0; i < 20'000 && model.quiet < times; ++i) ASSERT_TRUE(settle()) << "seed " << GetParam();
    EXPECT_EQ(model.quiet, times) << "quiescence is due as often as it was asked for; seed " << GetParam();
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
  // Some elements of an array on a PE go to another one together.
  static void migrate_together(CkArrayID id) {
    Pe& pe = on(pick(pes));
    periapt::ArrayManager* array = find_array(*pe.objects, id);
    if (!array) return;
    periapt::MigrationBatch batch(pe, pick(pes));
    const std::vector<ArrayElement*> elements = array->elements();
    for (ArrayElement* element : elements)
      if (pick(3) != 0) batch.add(*array, element);
  }
  // The next test counts on an array without elements.
  void destroy_movers() {
    for (const auto& [index, pe] : model.alive) EXPECT_TRUE(with(index, [](Mover& m) { m.ckDestroy(); }));
    ASSERT_TRUE(settle());
  }
  int someone() {
    if (model.alive.empty()) return 0;
    return std::next(model.alive.begin(), pick(static_cast<int>(model.alive.size())))->first;
  }
};

TEST_P(Stepping, MessagesRunInOrderOfUrgencyThenOfArrival) {
  on(2);
  CProxyElement_Line me = queue[2];
  CkEntryOptions late, soon, lifo, fifo_all_the_same, lifo_all_the_same;
  late.setPriority(7);
  soon.setPriority(-7);
  lifo.setQueueing(CK_QUEUEING_LIFO);
  // How a message is queued is said last: its priority means nothing then.
  fifo_all_the_same.setPriority(-9);
  fifo_all_the_same.setQueueing(CK_QUEUEING_FIFO);
  lifo_all_the_same.setPriority(9);
  lifo_all_the_same.setQueueing(CK_QUEUEING_LIFO);
  me.item(4);
  me.item(7, &late);
  me.item(5, &fifo_all_the_same);
  me.item(6);
  me.item(1, &soon);
  me.urgent(0);
  me.item(3, &lifo);
  me.item(2, &lifo_all_the_same);
  me.item(8, &late);
  ASSERT_TRUE(settle());
  EXPECT_EQ(model.order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST_P(Stepping, WhatComesWhilePrioritizedMessagesWaitOvertakesThemIfItIsMoreUrgent) {
  CkEntryOptions late, soon;
  late.setPriority(7);
  soon.setPriority(-7);
  model.during_item = [&](int number) {
    if (number != 0) return;
    on(0), queue[2].item(100, &soon);
    on(2);
  };
  on(2);
  for (int i = 0; i < 5; ++i) queue[2].item(i, &late);
  ASSERT_TRUE(settle());
  EXPECT_EQ(model.order, (std::vector<int>{0, 100, 1, 2, 3, 4}));
}

// The PEs below the root may be so slow that it forgets a section before their part of the reduction has come.
TEST_P(Stepping, AReductionEndsOfASectionThatHasBeenForgottenMeanwhile) {
  constexpr int old = 6, forgotten_after = 200;
  on(0);
  CProxy_Choir choir = CProxy_Choir::ckNew();
  ASSERT_TRUE(settle());
  const auto settle_root = [] {
    for (int idle = 0; idle < 10;) idle = on(0).step() ? 0 : idle + 1;
  };
  std::map<int, int> members;
  std::vector<CProxySection_Choir> sections;
  const auto sing = [&](std::vector<int> of) {
    on(0);
    const int verse = static_cast<int>(members.size());
    members[verse] = static_cast<int>(of.size());
    sections.push_back(CProxySection_Choir::ckNew(choir.ckGetGroupID(), of, 1 + pick(3)));
    sections.back().sing(new Song(verse));
    settle_root();
  };
  for (int i = 0; i < old; ++i) {
    std::vector<int> of;
    for (int pe = 1; pe < pes; ++pe)
      if (pe == 1 + i % (pes - 1) || pick(2) == 0) of.push_back(pe);
    sing(of);
  }
  for (int i = 0; i < forgotten_after; ++i) sing({0});
  EXPECT_LT(on(0).objects->sections->known(), std::size_t{forgotten_after / 2}) << "those of long ago are kept";
  ask_for_quiescence();
  until_quiet(1);
  EXPECT_EQ(model.sung, members) << "seed " << GetParam();
}

TEST_P(Stepping, NothingIsLostOrDoubledWhileElementsAreBornMoveAndDie) {
  int next = 1000 * GetParam();
  std::set<int> dead;
  model.restless = model.farewells = true;
  for (int i = 0; i < 6; ++i) born(next++);
  for (int act = 0; act < 600; ++act) {
    for (int steps = pick(8); steps > 0; --steps) on(some_pe()).step();
    const int one = someone();
    switch (pick(8)) {
      case 0:
        if (model.alive.size() >= 12) break;
        if (!dead.empty() && pick(3) != 0) {
          born(*dead.begin());
          dead.erase(dead.begin());
        } else {
          born(next++);
        }
        break;
      case 6:  // the index is used again while messages for it and news of it are on their way
        if (model.alive.size() > 3 && pick(2) == 0 && with(one, [](Mover& m) { m.ckDestroy(); })) {
          model.alive.erase(one);
          dead.insert(one);
        }
        break;
      case 1:
        with(one, [](Mover& m) { m.migrateMe(pick(pes)); });
        break;
      case 7:
        migrate_together(movers.ckGetArrayID());
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
        with(one, [](Mover& m) {
          m.give();
          m.migrateMe(pick(pes));
        });
    }
    ASSERT_EQ(model.mistake, "") << "seed " << GetParam() << ", act " << act;
  }
  for (int index : dead) born(index);  // some have messages waiting
  ask_for_quiescence();
  until_quiet(1);
  EXPECT_EQ(model.sent, model.received) << waiting() << "seed " << GetParam();
  for (const auto& [index, pe] : model.alive) EXPECT_GE(pe, 0) << "mover " << index << " is lost; seed " << GetParam();
  for (const auto& [index, pe] : model.alive)
    with(index, [](Mover& m) { EXPECT_TRUE(m.last == 0 || m.last == model.shouts) << "seed " << GetParam(); });
  // Rounds that some have given to end when those that owe one have died.
  while (!model.alive.empty()) {
    const int one = someone();
    ASSERT_TRUE(with(one, [](Mover& m) { m.ckDestroy(); }));
    model.alive.erase(one);
    for (int steps = pick(8); steps > 0; --steps) on(some_pe()).step();
  }
  ASSERT_TRUE(settle()) << "seed " << GetParam();
  EXPECT_EQ(model.given, model.reduced) << "contributions; seed " << GetParam();
}

// Quiescence is asked for all the time while each message makes two more; it is reported when all of them have come.
TEST_P(Stepping, QuiescenceIsNotReportedWhileMessagesMakeMore) {
  for (int i = 0; i < pes; ++i) born(3'000'000 + pes * GetParam() + i);
  ASSERT_TRUE(settle());
  for (int i = 0; i < 4; ++i) {
    on(pick(pes));
    ++model.sent;
    movers[someone()].fork(5);
  }
  int asked = 0;
  for (; asked < 40; ++asked) {
    ask_for_quiescence();
    for (int steps = pick(16); steps > 0; --steps) on(some_pe()).step();
    ASSERT_EQ(model.mistake, "") << "seed " << GetParam() << ", asked " << asked;
  }
  until_quiet(asked);
  EXPECT_EQ(model.received, 4 * 63) << "seed " << GetParam();
  destroy_movers();
}

// Nothing moves but elements.
TEST_P(Stepping, QuiescenceIsNotReportedWhileAnElementIsOnItsWay) {
  for (int i = 0; i < pes; ++i) born(9'000'000 + pes * GetParam() + i);
  ASSERT_TRUE(settle());
  for (int asked = 1; asked <= 5; ++asked) {
    for (int i = 0; i < 3; ++i) with(someone(), [](Mover& m) { m.migrateMe(pick(pes)); });
    ask_for_quiescence();
    for (int steps = 0; steps < 400; ++steps) on(some_pe()).step();
    until_quiet(asked);
    ASSERT_EQ(model.mistake, "") << "seed " << GetParam() << ", asked " << asked;
  }
  destroy_movers();
}

// A program may make the element when it has been told of quiescence; and then the message is under way again.
TEST_P(Stepping, QuiescenceDoesNotWaitForMessagesToAnElementThatNobodyMakes) {
  const int index = 6'000'000 + GetParam();
  on(pick(pes)), movers[index].note(0);
  ask_for_quiescence();
  until_quiet(1);
  EXPECT_EQ(model.received, 0) << "seed " << GetParam();
  for (int i = pick(40); i > 0; --i) on(some_pe()).step();
  ++model.sent;
  born(index);
  ask_for_quiescence();
  until_quiet(2);
  EXPECT_EQ(model.received, 1) << "seed " << GetParam();
  destroy_movers();
}

// An element is told to go as soon as it is there: its home may not have heard of it.
TEST_P(Stepping, AnElementMigratesRightAfterItWasInserted) {
  const int index = 4'000'000 + GetParam(), to = pick(pes);
  on(pick(pes)), movers[index].insert(pick(pes));
  for (int steps = 0; steps < 10'000 && !with(index, [to](Mover& m) { m.migrateMe(to); }); ++steps)
    on(some_pe()).step();
  ASSERT_TRUE(settle());
  EXPECT_EQ(model.alive[index], to) << "it is not where it was sent to; seed " << GetParam();
  ask_for_quiescence();
  until_quiet(1);
  destroy_movers();
}

TEST_P(Stepping, ABoundElementMigratesRightAfterItWasInserted) {
  on(0);
  CProxy_Pal leaders = CProxy_Pal::ckNew();
  leaders.doneInserting();
  CkArrayOptions options;
  options.bindTo(leaders);
  CProxy_Pal mates = CProxy_Pal::ckNew(options);
  mates.doneInserting();
  ASSERT_TRUE(settle());
  const int leader_at = pick(pes), to = (leader_at + 1 + pick(pes - 1)) % pes;
  on(pick(pes)), leaders[1].insert(leader_at);
  ASSERT_TRUE(settle());
  on(pick(pes)), mates[1].insert(pick(pes));
  // Wherever it is made, it is told as soon as it is there.
  bool told = false;
  for (int steps = 0; steps < 10'000 && !told; ++steps) {
    on(some_pe()).step();
    for (int pe = 0; pe < pes && !told; ++pe)
      if (on(pe), mates[1].ckLocal()) told = true, mates[1].ckLocal()->migrateMe(to);
  }
  ASSERT_TRUE(settle());
  on(to);
  EXPECT_TRUE(mates[1].ckLocal() && leaders[1].ckLocal()) << "seed " << GetParam();
}

// A PE that had known where an element was that has died learns where the one is that has its index now.
TEST_P(Stepping, TheHomeKnowsWhereAnElementHasCome) {
  const int index = 9'500'000 + GetParam();
  on(pick(pes)), movers[index].insert(pick(pes));
  ASSERT_TRUE(settle());
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(with(index, [](Mover& m) { m.migrateMe((CkMyPe() + 1 + pick(pes - 1)) % pes); }));
    ASSERT_TRUE(settle());
    periapt::ArrayManager& here = *find_array(periapt::PeObjects::current(), movers.ckGetArrayID());
    on(here.location().home(CkArrayIndex1D(index)));
    periapt::ArrayManager& home = *find_array(periapt::PeObjects::current(), movers.ckGetArrayID());
    EXPECT_EQ(home.locate(0, CkArrayIndex1D(index)), model.alive[index]) << "seed " << GetParam();
  }
  destroy_movers();
}

TEST_P(Stepping, AnIndexThatIsBornAgainIsFoundWithoutADetour) {
  const int index = 5'000'000 + GetParam(), sender = pick(pes);
  periapt::Location::hints_kept = 1 << 14;  // the sender is to remember it
  CkEntryOptions as_message;                // a call that fits a line does not say which PE has sent it
  as_message.setPriority(1);
  on(pick(pes)), movers[index].insert(pick(pes));
  ASSERT_TRUE(settle());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(with(index, [](Mover& m) { m.migrateMe((CkMyPe() + 1 + pick(pes - 1)) % pes); }));
    ASSERT_TRUE(settle());
    on(sender), movers[index].note(0, &as_message);
    ASSERT_TRUE(settle());
  }
  const int last = model.alive[index];
  ASSERT_TRUE(with(index, [](Mover& m) { m.ckDestroy(); }));
  ASSERT_TRUE(settle());
  on(sender);
  periapt::ArrayManager& known = *find_array(periapt::PeObjects::current(), movers.ckGetArrayID());
  const int home = known.location().home(CkArrayIndex1D(index));
  int now = last;
  while (now == last || now == home) now = pick(pes);
  on(pick(pes)), movers[index].insert(now);
  ASSERT_TRUE(settle());
  on(sender), movers[index].note(0, &as_message);  // goes by way of the home, which tells the sender
  ASSERT_TRUE(settle());
  EXPECT_EQ(known.locate(0, CkArrayIndex1D(index)), now) << "seed " << GetParam();
  destroy_movers();
}

// Of an element that has died the last two places may believe it at each other: it went from one to the other, and
// there comes late news of the first.
class Circle : public Stepping {
 protected:
  Circle() { as_message_.setPriority(1); }
  void SetUp() override {
    Stepping::SetUp();
    std::shuffle(all_.begin(), all_.end(), chance);
  }
  int first() const { return all_[0]; }
  int second() const { return all_[1]; }
  int last() const { return all_[2]; }

  void send_from(int pe, int index) {
    on(pe);
    ++model.sent;
    movers[index].note(0, &as_message_);
  }
  void make(int index) {
    on(all_[3]), movers[index].insert(first());
    ASSERT_TRUE(settle());
    send_from(last(), index);
    ASSERT_TRUE(settle());
    ASSERT_TRUE(with(index, [&](Mover& m) { m.migrateMe(second()); }));
    ASSERT_TRUE(settle());
    send_from(last(), index);  // to first(), which does not come to look at it
    ASSERT_TRUE(with(index, [&](Mover& m) { m.migrateMe(last()); }));
    for (int steps = 0; steps < 10'000 && model.alive[index] != last(); ++steps) on(last()).step();
    ASSERT_TRUE(with(index, [&](Mover& m) { m.ckDestroy(); }));
    model.alive.clear();
    // Now first() forwards it to second(), and tells last() that the element is there.
    ASSERT_TRUE(settle());
  }
  void make_element_again(int index) {
    on(all_[4]), movers[index].insert(all_[4]);
    ASSERT_TRUE(settle());
  }

  std::vector<int> all_{0, 1, 2, 3, 4};

 private:
  CkEntryOptions as_message_;
};

TEST_P(Circle, OfOldHintsIsLeftByAMessage) {
  const int index = 7'000'000 + GetParam();
  make(index);
  make_element_again(index);
  send_from(second(), index);
  send_from(last(), index);
  ASSERT_TRUE(settle()) << "seed " << GetParam();
  EXPECT_EQ(model.sent, model.received) << waiting() << "seed " << GetParam();
  destroy_movers();
}

TEST_P(Circle, OfOldHintsIsLeftByAnOrder) {
  const int index = 7'500'000 + GetParam();
  make(index);
  on(last()), movers[index].ckEmigrate(all_[3]);
  ASSERT_TRUE(settle()) << "an order to migrate goes in a circle; seed " << GetParam();
  make_element_again(index);
  EXPECT_EQ(model.sent, model.received) << waiting() << "seed " << GetParam();
  destroy_movers();
}
INSTANTIATE_TEST_SUITE_P(Seeds, Circle, testing::Range(1, 1 + periapt::tests::amount(60)));

// Kept broadcasts are dropped once all elements have them: also elements that are on their way, and leave again in the
// middle of what they catch up with.
TEST_P(Stepping, BroadcastsAreKeptForThoseOnTheirWay) {
  int next = 1'000'000 + 1000 * GetParam();
  for (int i = 0; i < 3; ++i) born(next++);
  ASSERT_TRUE(settle());
  model.restless = true;
  for (int act = 0; act < 60; ++act) {
    on(0);
    for (int i = pick(8); i > 0; --i) movers.shout(++model.shouts);
    // One PE at a time stands still.
    const int still = pick(pes);
    for (int steps = pick(60); steps > 0; --steps)
      if (const int pe = pick(pes); pe != still) on(pe).step();
    if (pick(2))
      with(someone(), [](Mover& m) { m.migrateMe(pick(pes)); });
    else
      migrate_together(movers.ckGetArrayID());
    ASSERT_EQ(model.mistake, "") << "seed " << GetParam() << ", act " << act;
  }
  ASSERT_TRUE(settle()) << "seed " << GetParam();
  EXPECT_EQ(model.alive.size(), 3u);
  while (!model.alive.empty()) {
    const int one = someone();
    EXPECT_TRUE(with(one, [](Mover& m) {
      EXPECT_EQ(m.last, model.shouts) << "seed " << GetParam();
      m.ckDestroy();
    }));
    model.alive.erase(one);
  }
  ASSERT_TRUE(settle());
}

// An array is bound to another one whose elements move all the time; elements of both are destroyed and made again, on
// different PEs.
TEST_P(Stepping, BoundElementsComeTogether) {
  constexpr int count = 8;
  const auto anyone = [] { return on(some_pe()), pick(count); };
  const auto steps = [](int most) {
    for (int i = pick(most); i > 0; --i) on(some_pe()).step();
  };
  on(0);
  CProxy_Pal leaders = CProxy_Pal::ckNew(count);
  steps(40);
  for (int i = 0; i < 20; ++i) leaders[anyone()].ckEmigrate(pick(pes)), steps(6);
  on(0);
  CkArrayOptions options(count);
  options.bindTo(leaders);
  CProxy_Pal mates = CProxy_Pal::ckNew(options);
  const auto together = [&](int i) {
    int leaders_seen = 0, mates_seen = 0, both = 0;
    for (int pe = 0; pe < pes; ++pe) {
      on(pe);
      const bool leader = leaders[i].ckLocal(), mate = mates[i].ckLocal();
      leaders_seen += leader;
      mates_seen += mate;
      both += leader && mate;
    }
    EXPECT_TRUE(leaders_seen == 1 && mates_seen == 1 && both == 1)
        << "pair " << i << ": " << leaders_seen << ", " << mates_seen << ", " << both << "; seed " << GetParam();
  };
  for (int life = 0; life < 3; ++life) {
    for (int act = 0; act < 40; ++act) {
      const int i = anyone();
      CProxyElement_Pal one = pick(2) ? leaders[i] : mates[i];
      if (pick(8) == 0) {
        migrate_together(pick(2) ? leaders.ckGetArrayID() : mates.ckGetArrayID());
      } else if (pick(3) == 0) {
        one.ckEmigrate(pick(pes));
      } else {
        ++model.sent;
        one.note();
      }
      steps(8);
    }
    ASSERT_TRUE(settle()) << "seed " << GetParam();
    EXPECT_EQ(model.sent, model.received) << waiting() << "seed " << GetParam();
    EXPECT_EQ(model.journeys, 0) << "elements that were told of one end of a journey alone; seed " << GetParam();
    for (int i = 0; i < count; ++i) together(i);
    if (HasFailure()) return;
    for (int i = 0; i < count; i += 2) {
      int pe = 0;
      while (on(pe), !leaders[i].ckLocal()) ++pe;
      leaders[i].ckLocal()->ckDestroy();
      mates[i].ckLocal()->ckDestroy();
      steps(4);  // the home hears of it, or not yet
      on(some_pe()), mates[i].insert(pick(pes));
      steps(4);
      on(some_pe()), leaders[i].insert(pick(pes));
      steps(4);
    }
  }
  ASSERT_TRUE(settle());
  for (int i = 0; i < count; ++i) together(i);
}

// PE 0 cannot tell one PE of the second array, because the ring that leads there is full, when elements come to it.
TEST_P(Stepping, ABoundArrayMayBeMadeLateOnOnePe) {
  constexpr int count = 4 * pes;
  on(0);
  CProxy_Pal leaders = CProxy_Pal::ckNew(count);
  ASSERT_TRUE(settle());
  const int late = 1 + pick(pes - 1);
  const auto others = [&](int most) {
    for (int i = pick(most); i > 0; --i)
      if (const int pe = 1 + pick(pes - 1); pe != late) on(pe).step();
  };
  on(0);
  for (int i = 0; i < 1000; ++i) queue[late].item(i);
  CkArrayOptions options(count);
  options.bindTo(leaders);
  CProxy_Pal mates = CProxy_Pal::ckNew(options);
  others(100);
  for (int act = 0; act < 60; ++act) {
    const int from = 1 + pick(pes - 1), i = pick(count);
    if (from == late) continue;
    on(from);
    if (leaders[i].ckLocal() && mates[i].ckLocal()) leaders[i].ckLocal()->migrateMe(late);
    ++model.sent;
    on(from), (pick(2) ? leaders : mates)[i].note();
    others(10);
    for (int steps = pick(4); steps > 0; --steps) on(late).step();
  }
  // Long enough for a message that goes in a circle to be refused.
  for (int i = 0; i < 3000; ++i) on(1 + pick(pes - 1)).step();
  ASSERT_TRUE(settle()) << "seed " << GetParam();
  EXPECT_EQ(model.sent, model.received) << waiting() << "seed " << GetParam();
  EXPECT_EQ(model.order.size(), 1000u);
}

TEST_P(Stepping, ASecondElementOfAnIndexIsRefusedWhereverItIs) {
  const int index = 2'000'000 + GetParam();
  const int first = pick(pes), second = (first + 1 + pick(pes - 1)) % pes;
  EXPECT_EXIT(
      {
        on(pick(pes));
        movers[index].insert(first);
        if (pick(2)) settle();
        on(pick(pes));
        movers[index].insert(second);
        settle();
      },
      testing::ExitedWithCode(1), "Mover.[0-9]+. is inserted twice: on PE [0-4] and on PE [0-4]");
}

TEST_P(Stepping, AProxyMayComeToAPeBeforeItsArray) {
  on(0);
  CProxy_Mover late = CProxy_Mover::ckNew(2 * pes);
  CProxy_Far far = CProxy_Far::ckNew();
  const int to = pick(pes);
  Far::where = (to + 1) % pes;
  on(1 + pick(pes - 1));  // has heard of neither
  late.shout(1);
  for (int i = 0; i < 2 * pes; ++i) late[i].note(0);
  late[2 * pes].note(0);
  late[2 * pes].insert(to);
  late[0].ckEmigrate(to);
  late[1].ckDestroy();
  CProxyElement_Far one = far(1'000'000'000, 2'000'000'000, GetParam());
  one.insert(to);
  far.doneInserting();
  ASSERT_TRUE(settle());
  on(pick(pes));  // most have not met the index
  one.ckEmigrate(Far::where);
  ASSERT_TRUE(settle());
  one.note(7);
  ASSERT_TRUE(settle());
  EXPECT_EQ(model.received, 2 * pes + 2) << "seed " << GetParam();
  EXPECT_EQ(model.order, std::vector<int>{7});
  EXPECT_EQ(model.alive[0], to);
  on(to);
  EXPECT_NE(late[2 * pes].ckLocal(), nullptr);
  EXPECT_EQ(late[0].ckLocal()->last, 1) << "broadcast; seed " << GetParam();
  for (int pe = 0; pe < pes; ++pe) {
    on(pe);
    EXPECT_EQ(late[1].ckLocal(), nullptr);
  }
}

TEST_P(Stepping, OneExclusiveEntryRunsAtATime) {
  on(0);
  CProxy_Keeper keeper = CProxy_Keeper::ckNew();
  for (int i = 0; i < 4; ++i) on(pick(pes)), keeper[0].enter(3);
  ASSERT_TRUE(settle()) << "seed " << GetParam();
  EXPECT_EQ(model.received, 4 * 7) << "seed " << GetParam();  // three of them called two each
}

TEST_P(Stepping, AnExclusiveThreadKeepsOthersOutUntilItEnds) {
  on(0);
  CProxy_Keeper keeper = CProxy_Keeper::ckNew();
  on(3), keeper[0].sleep();
  ASSERT_TRUE(settle());
  for (int i = 0; i < 4; ++i) on(pick(pes)), keeper[0].enter(0);
  ASSERT_TRUE(settle()) << "seed " << GetParam();
  EXPECT_EQ(model.received, 0);
  // A thread is awakened on its own PE.
  for (int pe = 0; pe < pes; ++pe)
    if (on(pe), model.sleeping_on == pe) static_cast<Keeper*>(CkLocalNodeBranch(keeper))->open();
  ASSERT_TRUE(settle()) << "seed " << GetParam();
  EXPECT_EQ(model.received, 5) << "seed " << GetParam();
}

TEST_P(Stepping, ADeletedChareLeavesTheTable) {
  const int pe = pick(pes);
  on(pick(pes));
  CProxy_Single single = CProxy_Single::ckNew(pe);
  const CkChareID id = single.ckGetChareID();
  ASSERT_TRUE(settle());
  on(pe);
  EXPECT_NE(CkLocalChare(&id), nullptr);
  on(pick(pes)), single.bye();
  ASSERT_TRUE(settle());
  on(pe);
  EXPECT_EQ(CkLocalChare(&id), nullptr) << "seed " << GetParam();
}

TEST_P(Stepping, AMessageToAHugeIndexWaitsForItsGroupToo) {
  on(0);
  CProxy_Far far = CProxy_Far::ckNew();
  far.doneInserting();
  Far::where = 1 + pick(pes - 1);
  CProxyElement_Far one = far(-2'000'000'000, GetParam(), 2'000'000'000);
  one.insert(Far::where);
  ASSERT_TRUE(settle());
  on(0);
  CkGroupID late = CProxy_Late::ckNew();  // no other PE has heard of it
  model.order.clear();
  CkEntryOptions options;
  options.addGroupDepID(late);
  const int sender = pick(pes);
  on(sender), one.note(7, &options);
  for (int i = 0; i < 50; ++i)
    if (const int pe = pick(pes); pe != Far::where) on(pe).step();
  EXPECT_TRUE(settle()) << "seed " << GetParam();
  std::vector<int> there;
  for (int what : model.order)
    if (what == 7 || what == -Far::where) there.push_back(what);
  EXPECT_EQ(there, (std::vector<int>{-Far::where, 7})) << "seed " << GetParam();
}

// Few seeds: the first test forwards 2 * 400 * 400 / 2 messages.
class Chase : public Stepping {};
TEST_P(Chase, MessagesReachAnElementThatMovesWithEachOfThem) {
  constexpr int messages = 400;
  on(0);
  CProxy_Far far = CProxy_Far::ckNew();
  far.doneInserting();
  for (const int third : {1, 2'000'000'000}) {  // the index is the id; or travels whole
    model.order.clear();
    CProxyElement_Far one = far(GetParam(), 2, third);
    on(pick(pes));
    one.insert(pick(pes));
    const int sender = pick(pes);
    on(sender);
    for (int i = 0; i < messages; ++i) one.run(i);
    ASSERT_TRUE(settle()) << "seed " << GetParam();
    std::set<int> came(model.order.begin(), model.order.end());
    EXPECT_EQ(model.order.size(), messages) << "seed " << GetParam();
    EXPECT_EQ(came.size(), messages) << "seed " << GetParam();
  }
}

TEST_P(Chase, AMessageThatNobodyTakesHomeIsRefused) {
  EXPECT_EXIT(
      {
        on(0);
        CProxy_Crooked map = CProxy_Crooked::ckNew();
        CkArrayOptions options;
        options.setMap(map);
        CProxy_Mover nobody = CProxy_Mover::ckNew(options);
        nobody[7].note(0);
        settle();
      },
      testing::ExitedWithCode(1), "for Mover.7. goes in a circle(.|\n)*homePe");
}

INSTANTIATE_TEST_SUITE_P(Seeds, Chase, testing::Range(1, 6));
INSTANTIATE_TEST_SUITE_P(Seeds, Stepping, testing::Range(1, 1 + periapt::tests::amount(300)));

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
