// Strategies whose PEs decide for themselves: what one PE does, and that members which send each other messages come to
// what solve() says, in whichever order the messages arrive. No machine: a network of queues carries them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "runtime/loadbalance/flow.h"
#include "runtime/loadbalance/rumours.h"
#include "tests/loadbalance/random_databases.h"

using namespace periapt::loadbalance;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

// --- one PE ----------------------------------------------------------------------------------------------------------

GossipRules rules(GossipRules::Order order = GossipRules::Order::largest_first) {
  GossipRules rules;
  rules.order = order;
  rules.known = 4;
  return rules;
}
std::vector<Token> tokens(std::initializer_list<double> works) {
  std::vector<Token> all;
  for (const double work : works) all.push_back({work, 0, static_cast<std::uint32_t>(all.size())});
  return all;
}
std::vector<double> works(const GossipPe& pe) {
  std::vector<double> all;
  for (const Token& token : pe.held) all.push_back(token.work);
  return all;
}

TEST(GossipPe, HoldsTheLargestFirstAndIsAsFullWhicheverWayTokensCome) {
  GossipPe one(3, 2, 0.5, tokens({0.1, 0.7, 0.3})), other(3, 2, 0.5, tokens({0.1}));
  other.take({{0.3, 0, 2}, {0.7, 0, 1}});
  EXPECT_THAT(works(one), ElementsAre(0.7, 0.3, 0.1));
  EXPECT_THAT(works(other), ElementsAre(0.7, 0.3, 0.1));
  EXPECT_EQ(one.load, other.load);
  EXPECT_DOUBLE_EQ(one.load, 0.5 + 1.1 / 2);
}

TEST(Gossiper, BeginsWithItselfWhereItHasLessThanTheAverage) {
  Gossiper gossiper(rules(), 10, 1.0);
  GossipPe empty(3, 1, 0.5, {}), full(4, 1, 1.5, {});
  gossiper.begin(empty);
  gossiper.begin(full);
  ASSERT_EQ(empty.known.size(), 1u);
  EXPECT_EQ(empty.known[0].pe, 3);
  EXPECT_EQ(empty.known[0].load, 0.5);
  EXPECT_TRUE(full.known.empty());
}

TEST(Gossiper, KeepsWhatIsNewUpToWhatItHasRoomFor) {
  Gossiper gossiper(rules(), 10, 1.0);
  GossipPe self(0, 1, 2, {});
  gossiper.begin(self);
  const std::vector<Rumour> two = {{0.1, 1, 5}, {0.2, 1, 6}},
                            five = {{0, 1, 1}, {0, 1, 2}, {0, 1, 3}, {0, 1, 5}, {0, 1, 7}};
  EXPECT_TRUE(gossiper.hear(self, {}, 0, two));
  EXPECT_FALSE(gossiper.hear(self, {}, 1, two));
  EXPECT_FALSE(gossiper.hear(self, {}, 1, {}));
  EXPECT_TRUE(gossiper.hear(self, {}, 1, five));
  EXPECT_EQ(self.known.size(), 4u);
  EXPECT_FALSE(gossiper.hear(self, {}, 0, five));
  std::map<std::int64_t, int> times;
  for (const Rumour& rumour : self.known) EXPECT_EQ(++times[rumour.pe], 1);
}

TEST(Gossiper, GivesUntilItIsNoFullerThanItMayBeAndFillsNoneAboveTheAverage) {
  Gossiper gossiper(rules(), 3, 4.0);
  GossipPe self(0, 1, 0, tokens({1, 1, 1, 1, 1, 1, 1, 1}));
  gossiper.begin(self);
  const std::vector<Rumour> others = {{2.5, 1, 1}, {0.5, 2, 2}};
  gossiper.hear(self, {}, 0, others);
  const auto gifts = gossiper.give(self, {});
  EXPECT_EQ(gifts.size(), 4u);
  EXPECT_EQ(self.load, 4);
  EXPECT_EQ(self.held.size(), 4u);
  double first = 2.5, second = 0.5;
  for (const auto& [to, token] : gifts) (to == 1 ? first : second) += token.work / (to == 1 ? 1 : 2);
  EXPECT_LT(first, 4);
  EXPECT_LT(second, 4);
}
TEST(Gossiper, GivesNothingWhereItKnowsOfNoneOrHasNoMoreThanOthers) {
  Gossiper gossiper(rules(), 3, 4.0);
  GossipPe full(0, 1, 0, tokens({5, 4})), fair(1, 1, 0, tokens({4}));
  for (GossipPe* pe : {&full, &fair}) gossiper.begin(*pe);
  EXPECT_TRUE(gossiper.give(full, {}).empty());
  const std::vector<Rumour> other = {{0, 1, 2}};
  gossiper.hear(fair, {}, 0, other);
  EXPECT_TRUE(gossiper.give(fair, {}).empty());
}
TEST(Gossiper, GivesTheSmallestThatIsEnoughWhereFewAreToMove) {
  GossipRules few = rules(GossipRules::Order::fewest_moves);
  few.only_below_mean = false;
  Gossiper gossiper(few, 3, 8.0);
  GossipPe self(0, 1, 0, tokens({5, 3, 2, 1}));
  gossiper.begin(self);
  const std::vector<Rumour> other = {{0, 1, 2}};
  gossiper.hear(self, {}, 0, other);
  const auto gifts = gossiper.give(self, {});
  ASSERT_EQ(gifts.size(), 1u);
  EXPECT_EQ(gifts[0].second.work, 3);
}

TEST(Gossiper, GivesBackWhatWouldHaveItAboveTheAverage) {
  const std::vector<Gossiper::Gift> gifts = {{1, {1, 1, 0}}, {2, {2, 2, 0}}, {3, {2, 3, 0}}, {1, {1.5, 1, 1}}};
  GossipPe self(0, 1, 1, {}), same(0, 1, 1, {});
  const auto back = Gossiper(rules(), 4, 4.5).accept(self, gifts);
  EXPECT_THAT(works(self), ElementsAre(2, 1));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].first, 3);
  EXPECT_EQ(back[1].first, 1);
  EXPECT_EQ(back[1].second.object, 1u);
  auto reversed = gifts;
  std::ranges::reverse(reversed);
  Gossiper(rules(), 4, 4.5).accept(same, reversed);
  EXPECT_EQ(self.load, same.load) << "in whichever order they come";
  GossipRules mild = rules();
  mild.only_below_mean = false;
  GossipPe all(0, 1, 1, {});
  EXPECT_TRUE(Gossiper(mild, 4, 4.5).accept(all, gifts).empty());
  EXPECT_EQ(all.held.size(), 4u);
}

TEST(Gossip, TellsAnotherThanItself) {
  for (int round = 0; round < 50; ++round)
    for (const std::size_t pes : {2, 3, 7}) {
      const std::size_t far = stride({1, 0, 0, round}, 0, pes);
      EXPECT_GE(far, 1u);
      EXPECT_LT(far, pes);
    }
  EXPECT_EQ(stride({}, 0, 1), 0u);
}

TEST(GossipCourse, EndsATrialWhereNothingIsGivenAndKeepsTheBestOfAll) {
  GossipRules two;
  two.trials = two.iterations = 2;
  GossipCourse course(two, 9, 1.0, 5.0);
  using Next = GossipCourse::Next;
  EXPECT_FALSE(course.is_better(5.0));
  EXPECT_TRUE(course.is_better(4.0));
  EXPECT_EQ(course.next(3), Next::iteration);
  EXPECT_EQ(course.now.iteration, 1);
  EXPECT_FALSE(course.is_better(4.5));
  EXPECT_EQ(course.next(3), Next::trial);
  EXPECT_EQ(course.now.iteration, 0);
  EXPECT_EQ(course.now.trial, 1);
  EXPECT_EQ(course.next(0), Next::end);
}

TEST(GossipCourse, EndsWhereNoPeIsMuchAboveTheAverage) {
  GossipRules rules;
  rules.iterations = 9;
  rules.keep_best = true;
  rules.enough = 1.5;
  GossipCourse course(rules, 9, 2.0, 5.0);
  EXPECT_TRUE(course.is_better(3.1));
  EXPECT_EQ(course.next(3), GossipCourse::Next::iteration);
  EXPECT_TRUE(course.is_better(3.0));
  EXPECT_EQ(course.next(3), GossipCourse::Next::end);
}

TEST(GossipCourse, BeginsAnewOnlyWhereATrialWasStuck) {
  GossipRules rules;
  rules.trials = 3;
  rules.iterations = 2;
  rules.keep_best = true;
  using Next = GossipCourse::Next;
  GossipCourse stuck(rules, 9, 1.0, 5.0);
  EXPECT_EQ(stuck.next(0), Next::trial);
  EXPECT_EQ(stuck.next(2), Next::iteration);
  EXPECT_EQ(stuck.next(2), Next::end);
}

TEST(Gossip, GivesToTheEmptiestWhereChanceNamesNoneThatHasRoom) {
  GossipRules rules;
  rules.only_below_mean = false;
  for (int step = 0; step < 50; ++step) {
    Gossiper gossiper(rules, 3, 7.0);
    GossipPe self(0, 1, 0, tokens({10}));
    gossiper.begin(self);
    const std::vector<Rumour> others = {{1, 1, 1}, {-0.5, 1, 2}};
    gossiper.hear(self, {}, 0, others);
    const auto gifts = gossiper.give(self, {static_cast<std::uint32_t>(step)});
    ASSERT_EQ(gifts.size(), 1u) << step;
    EXPECT_EQ(gifts[0].first, 2);
  }
}

FlowPe flow_pe(int pe, std::initializer_list<double> works) {
  std::vector<LinkedToken> held;
  for (const double work : works) held.push_back({work, pe, static_cast<std::uint32_t>(held.size()), {}});
  return FlowPe(pe, 1, 0, std::move(held));
}

TEST(FlowPe, ChoosesThoseThatItsObjectsExchangeMostWith) {
  const FlowPe self(3, 1, 0, {{1, 3, 0, {{5, 0, 10}, {7, 0, 40}, {3, 1, 99}}}, {1, 3, 1, {{5, 1, 20}, {6, 0, 20}}}});
  EXPECT_THAT(self.choice(2), ElementsAre(7, 5));
  EXPECT_THAT(self.choice(9), ElementsAre(7, 5, 6));
  EXPECT_TRUE(self.choice(0).empty());
}
TEST(FlowPe, LosesInAStepWhatItsNeighboursGain) {
  FlowPe full = flow_pe(0, {4, 2}), empty = flow_pe(1, {1}), other = flow_pe(2, {1});
  full.connect({2, 1, 0, 1});
  empty.connect({0});
  other.connect({0});
  EXPECT_THAT(full.near(), ElementsAre(1, 2));
  const std::vector<Level> of_full = {full.expected()}, of_others = {empty.expected(), other.expected()};
  full.flow(of_others);
  empty.flow(of_full);
  EXPECT_DOUBLE_EQ(empty.expected().load, 1 + 5.0 / 3);
  EXPECT_DOUBLE_EQ(full.expected().load, 6 - 10.0 / 3);
  EXPECT_EQ(full.present().load, 6) << "nothing has moved yet";
}
TEST(FlowPe, GivesWhatTheOtherHearsMostFromAndNoMoreThanFlows) {
  FlowPe self(0, 1, 0, {{1, 0, 0, {}}, {1, 0, 1, {{1, 0, 50}}}, {1, 0, 2, {}}, {1, 0, 3, {{0, 1, 70}}}, {9, 0, 4, {}}});
  self.connect({1});
  const std::vector<Level> other = {{9, 1, 1}};
  self.flow(other);  // 2 of 13 - 9
  auto gifts = self.give(other);
  ASSERT_EQ(gifts.size(), 1u);
  ASSERT_EQ(gifts[0].size(), 2u);
  EXPECT_EQ(gifts[0][0].object, 1u);
  EXPECT_NE(gifts[0][1].object, 4u) << "more than flows";
  EXPECT_EQ(self.present().load, 11);
  EXPECT_TRUE(self.give(other)[0].empty()) << "all has flowed";
}
TEST(FlowPe, KnowsWhereAnObjectIsThatItHasGivenAway) {
  FlowPe self(
      0, 1, 2,
      {{4, 0, 0, {{1, 0, 10}, {0, 1, 90}}}, {2, 0, 1, {{0, 0, 90}}}, {2, 0, 2, {{1, 0, 20}}}, {2, 0, 3, {{0, 9, 85}}}});
  self.connect({1});
  const std::vector<Level> none = {{0, 1, 1}};
  self.flow(none);
  auto gifts = self.give(none);  // 6 of 12
  ASSERT_EQ(gifts[0].size(), 2u);
  EXPECT_EQ(gifts[0][0].object, 2u);
  EXPECT_EQ(gifts[0][1].object, 0u);
  self.flow(none);
  gifts = self.give(none);
  ASSERT_FALSE(gifts[0].empty());
  EXPECT_EQ(gifts[0][0].object, 1u) << "what it exchanges most with is there now";
}

// --- all of them -----------------------------------------------------------------------------------------------------

// Members in one thread. What arrives next is drawn from a seed, as is which PE begins when.
class Network {
 public:
  Network(const LoadDatabase& database, const Strategy& strategy, unsigned seed) : random_(seed) {
    const int pes = static_cast<int>(database.pes.size());
    parts_.resize(database.pes.size());
    for (std::size_t pe = 0; pe < database.pes.size(); ++pe) {
      parts_[pe].step = database.step;
      parts_[pe].pes.push_back(database.pes[pe]);
    }
    places_.resize(database.pes.size());
    for (std::size_t i = 0; i < database.objects.size(); ++i) {
      const auto pe = static_cast<std::size_t>(database.objects[i].pe);
      parts_[pe].objects.push_back(database.objects[i]);
      places_[pe].push_back(i);
    }
    // Where it was recorded: mostly with the sender, which may have moved since.
    for (const Communication& c : database.communication) parts_[random_() % parts_.size()].communication.push_back(c);
    assignment = present(database);
    for (int pe = 0; pe < pes; ++pe)
      members_.push_back(strategy.info->member(
          strategy.options,
          {pe, pes, database.step, [this, pe](int to, const std::vector<char>& bytes) { send(pe, to, bytes); },
           [this, pe](const std::vector<Claim>& claims, const std::string& wrong) { decided(pe, claims, wrong); }}));
  }
  void run() {
    std::vector<std::size_t> asleep(members_.size());
    for (std::size_t pe = 0; pe < asleep.size(); ++pe) asleep[pe] = pe;
    while (!asleep.empty() || !underway_.empty()) {
      const std::size_t k = random_() % (asleep.size() + underway_.size());
      if (k < asleep.size()) {
        const std::size_t pe = asleep[k];
        asleep.erase(asleep.begin() + static_cast<std::ptrdiff_t>(k));
        members_[pe]->begin(parts_[pe]);
        continue;
      }
      std::swap(underway_[k - asleep.size()], underway_.back());
      const Letter letter = std::move(underway_.back());
      underway_.pop_back();
      members_[static_cast<std::size_t>(letter.to)]->hear(letter.from, letter.bytes.data(), letter.bytes.size());
    }
  }

  Assignment assignment;
  int decisions = 0, claims = 0;
  std::vector<std::string> wrong;

 private:
  struct Letter {
    int from, to;
    std::vector<char> bytes;
  };
  void send(int from, int to, const std::vector<char>& bytes) { underway_.push_back({from, to, bytes}); }
  void decided(int pe, const std::vector<Claim>& claimed, const std::string& why) {
    ++decisions;
    if (!why.empty()) wrong.push_back(why);
    for (const Claim& claim : claimed) {
      ++claims;
      EXPECT_NE(claim.home, pe);
      int& place = assignment[places_.at(static_cast<std::size_t>(claim.home)).at(claim.object)];
      EXPECT_EQ(place, claim.home) << "two PEs claim an object";
      place = pe;
    }
  }

  std::mt19937 random_;
  std::vector<LoadDatabase> parts_;
  std::vector<std::vector<std::size_t>> places_;  // in the database, of what is on a PE
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<Letter> underway_;
};

Strategy named(const std::string& text) {
  periapt::Complaint complaint;
  return read_strategy(text, &complaint).value();
}

class Members : public testing::TestWithParam<const char*> {};

TEST_P(Members, ComeToWhatOnePeThatPlaysThemDoes) {
  const Strategy strategy = named(GetParam());
  int moved = 0;
  for (unsigned seed = 0; seed < 16; ++seed)
    for (Kind kind : kinds) {
      kind.all_available = true;  // as all are in a run
      const LoadDatabase database = random_database(seed, kind);
      Network network(database, strategy, seed);
      network.run();
      ASSERT_EQ(network.assignment, strategy.solve(database))
          << "seed " << seed << ", " << database.pes.size() << " PEs";
      ASSERT_EQ(network.decisions, static_cast<int>(database.pes.size())) << "seed " << seed;
      ASSERT_TRUE(network.wrong.empty());
      moved += network.claims;
    }
  EXPECT_GT(moved, 0);
}
TEST_P(Members, ComeToTheSameInAnyOrderOfMessagesOnAnyNumberOfPes) {
  const Strategy strategy = named(GetParam());
  for (const int pes : {1, 2, 3, 7, 16, 61}) {
    LoadDatabase database;
    database.step = static_cast<std::uint32_t>(pes);
    database.pes.resize(static_cast<std::size_t>(pes));
    std::mt19937 random(static_cast<unsigned>(pes));
    for (int i = 0; i < 20 * pes; ++i)  // many of one size: which goes first is the same everywhere
      database.objects.push_back({1, static_cast<std::uint64_t>(i),
                                  static_cast<int>(random() % (1 + static_cast<unsigned>(pes) / 3)),
                                  0.1 * static_cast<double>(1 + random() % 3), 0, true});
    for (unsigned seed = 0; seed < 8; ++seed) {
      Network network(database, strategy, seed);
      network.run();
      ASSERT_EQ(network.assignment, strategy.solve(database)) << pes << " PEs, seed " << seed;
    }
  }
}
// Many PEs have just what all have on average, so that the last bit of a sum decides which of them give.
TEST_P(Members, AddUpInTheSameOrder) {
  const Strategy strategy = named(GetParam());
  for (int pes = 5; pes < 60; ++pes) {
    LoadDatabase database;
    database.step = static_cast<std::uint32_t>(pes);
    database.pes.resize(static_cast<std::size_t>(pes));
    std::mt19937 random(static_cast<unsigned>(pes));
    for (int i = 0; i < 3 * pes; ++i) {
      const int pe = i < 2 * pes ? i % pes : static_cast<int>(random() % static_cast<unsigned>(pes));
      database.objects.push_back({1, static_cast<std::uint64_t>(i), pe, 0.1, 0, true});
    }
    Network network(database, strategy, 1);
    network.run();
    ASSERT_EQ(network.assignment, strategy.solve(database)) << pes << " PEs";
  }
}
TEST_P(Members, LeaveAllWhereItIsWhenALoadIsNone) {
  const Strategy strategy = named(GetParam());
  unsigned seed = 0;
  while (random_database(seed, kinds[1]).pes.size() < 6 || random_database(seed, kinds[1]).objects.size() < 6) ++seed;
  LoadDatabase database = random_database(seed, kinds[1]);
  database.objects[3].seconds = std::nan("");
  database.objects[5].seconds = -1;
  database.objects[3].pe = 4;
  database.objects[5].pe = 2;
  Network network(database, strategy, 1);
  network.run();
  EXPECT_EQ(network.claims, 0);
  EXPECT_EQ(network.decisions, static_cast<int>(database.pes.size()));
  ASSERT_EQ(network.wrong.size(), 1u) << "one of them says why";
  EXPECT_THAT(network.wrong[0], HasSubstr("the load of element 5 of array 1 is -1"));
  database = random_database(seed, kinds[1]);
  database.pes[2].background = std::nan("");
  Network other(database, strategy, 1);
  other.run();
  EXPECT_THAT(other.wrong, ElementsAre(HasSubstr("the background of PE 2 is")));
}

INSTANTIATE_TEST_SUITE_P(Strategies, Members,
                         testing::Values("Gossip", "Gossip:fanout=1,rounds=1,iterations=9", "Gossip:known=2",
                                         "Tempered", "Tempered:trials=3,fanout=1,rounds=2",
                                         "Tempered:order=0,criterion=0", "Tempered:order=1,chances=0",
                                         "Tempered:order=3", "Diffusion", "Diffusion:tolerance=1,rounds=3",
                                         "Diffusion:neighbours=0,steps=3", "Diffusion:neighbours=1"),
                         [](const auto& info) { return "Case" + std::to_string(info.index); });

}  // namespace
