// Strategies on random databases. Each failure prints the seed that makes the database again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "runtime/loadbalance/model.h"
#include "runtime/loadbalance/strategy.h"
#include "runtime/pup/memory.h"

using namespace periapt::loadbalance;

namespace {

struct Kind {
  bool equal_speeds = true, all_available = true, all_migratable = true, background = false;
};

LoadDatabase random_database(unsigned seed, Kind kind) {
  std::mt19937 random(seed);
  auto number = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  auto real = [&] { return std::uniform_real_distribution<double>(0, 1)(random); };
  LoadDatabase db;
  db.step = seed;
  const int pes = number(1, 24), objects = number(0, 12 * pes), shape = number(0, 3);
  for (int pe = 0; pe < pes; ++pe) {
    PeLoad load;
    load.wall = 10;
    if (kind.background) load.background = real();
    if (!kind.equal_speeds) load.speed = 0.5 + real();
    if (!kind.all_available) load.available = number(0, 4) > 0;
    db.pes.push_back(load);
  }
  if (std::none_of(db.pes.begin(), db.pes.end(), [](const PeLoad& pe) { return pe.available; }))
    db.pes[0].available = true;
  for (int i = 0; i < objects; ++i) {
    ObjectLoad object;
    object.array = 1;
    object.element = i;
    object.pe = shape == 0 ? 0 : shape == 1 ? i % pes : number(0, pes - 1);
    object.seconds = shape == 3 ? std::exp(4 * real()) / 50 : real();  // few large, many small
    if (!kind.all_migratable) object.migratable = number(0, 3) > 0;
    db.objects.push_back(object);
  }
  return db;
}

class Every : public testing::TestWithParam<int> {};

std::string name_of(const testing::TestParamInfo<int>& info) { return strategies()[info.param].name; }

constexpr Kind kinds[] = {{},
                          {true, true, true, true},
                          {true, true, false, true},
                          {true, false, true, true},
                          {true, false, false, true},
                          {false, true, true, true},
                          {false, false, false, true}};

TEST_P(Every, PutsEachObjectOnAnAvailablePeAndLeavesWhatCannotMove) {
  const StrategyInfo& strategy = strategies()[GetParam()];
  for (unsigned seed = 0; seed < 300; ++seed)
    for (const Kind& kind : kinds) {
      const LoadDatabase db = random_database(seed, kind);
      const Assignment result = strategy.solve(db);
      ASSERT_EQ(check_assignment(db, result), "") << "seed " << seed;
      for (std::size_t i = 0; i < result.size(); ++i)
        ASSERT_TRUE(!db.objects[i].migratable || db.pes[result[i]].available) << "seed " << seed << ", object " << i;
    }
}

TEST_P(Every, AnswersTheSameToTheSameQuestion) {
  const StrategyInfo& strategy = strategies()[GetParam()];
  for (unsigned seed = 0; seed < 50; ++seed) {
    const LoadDatabase db = random_database(seed, kinds[6]);
    ASSERT_EQ(strategy.solve(db), strategy.solve(db)) << "seed " << seed;
  }
}

TEST_P(Every, TakesADatabaseWithoutObjectsOrWithoutAvailablePes) {
  const StrategyInfo& strategy = strategies()[GetParam()];
  LoadDatabase db;
  EXPECT_TRUE(strategy.solve(db).empty());
  db.pes.resize(3);
  EXPECT_TRUE(strategy.solve(db).empty());
  db.objects.resize(2);
  for (PeLoad& pe : db.pes) pe.available = false;
  EXPECT_EQ(strategy.solve(db), present(db));
}

INSTANTIATE_TEST_SUITE_P(Strategies, Every, testing::Range(0, static_cast<int>(strategies().size())), name_of);

// Graham's bounds, against the lower bound instead of the optimum: list scheduling of sorted objects ends below
// mean + largest object.
TEST(Greedy, StaysWithinGrahamsBound) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    const LoadDatabase db = random_database(seed, {});
    double work = 0, largest = 0;
    for (const ObjectLoad& o : db.objects) {
      work += o.seconds;
      largest = std::max(largest, o.seconds);
    }
    const double max = balance_of(db, greedy(db)).max;
    ASSERT_LE(max, work / db.pes.size() + largest + 1e-9) << "seed " << seed;
    ASSERT_GE(max, lower_bound(db) - 1e-9) << "seed " << seed;
  }
}

TEST(GreedyRefine, IsNeverWorseThanBeforeAndNearlyAsGoodAsGreedy) {
  for (unsigned seed = 0; seed < 500; ++seed)
    for (const Kind& kind : {kinds[0], kinds[1], kinds[2], kinds[5]}) {
      const LoadDatabase db = random_database(seed, kind);
      const double before = balance_of(db, present(db)).max, after = balance_of(db, greedy_refine(db)).max;
      ASSERT_LE(after, before + 1e-9) << "seed " << seed;
      ASSERT_LE(after, 1.03 * 1.03 * balance_of(db, greedy(db)).max + 1e-9) << "seed " << seed;
      ASSERT_GE(after, lower_bound(db) - 1e-9) << "seed " << seed;
    }
}

TEST(GreedyRefine, MovesLessThanGreedy) {
  int moved = 0, greedily = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const LoadDatabase db = random_database(seed, kinds[1]);
    moved += balance_of(db, greedy_refine(db)).migrations;
    greedily += balance_of(db, greedy(db)).migrations;
  }
  EXPECT_LT(moved, 0.7 * greedily);
}

TEST(GreedyRefine, LeavesAlmostEvenLoadsAlone) {
  LoadDatabase db;
  db.pes.resize(8);
  for (int i = 0; i < 80; ++i)
    db.objects.push_back({1, static_cast<std::uint64_t>(i), i % 8, 1 + 1e-3 * (i % 3), 0, true});
  EXPECT_EQ(balance_of(db, greedy_refine(db)).migrations, 0);
}

TEST(GreedyRefine, GoesRoundAPeThatIsBusyWithOtherThings) {
  LoadDatabase db;
  db.pes.resize(4);
  db.pes[2].background = 10;
  for (int i = 0; i < 16; ++i) db.objects.push_back({1, static_cast<std::uint64_t>(i), i % 4, 1, 0, true});
  const Assignment result = greedy_refine(db);
  EXPECT_EQ(std::count(result.begin(), result.end(), 2), 0);
}

TEST(Refine, IsNeverWorseThanBefore) {
  for (unsigned seed = 0; seed < 500; ++seed)
    for (const Kind& kind : {kinds[0], kinds[1], kinds[2], kinds[5]}) {
      const LoadDatabase db = random_database(seed, kind);
      ASSERT_LE(balance_of(db, refine(db)).max, balance_of(db, present(db)).max + 1e-9) << "seed " << seed;
    }
}

TEST(Rotate, MovesEverythingToTheNextPe) {
  LoadDatabase db;
  db.pes.resize(3);
  for (int i = 0; i < 6; ++i) db.objects.push_back({1, static_cast<std::uint64_t>(i), i % 3, 1, 0, true});
  EXPECT_EQ(rotate(db), (Assignment{1, 2, 0, 1, 2, 0}));
  db.pes[1].available = false;
  EXPECT_EQ(rotate(db), (Assignment{2, 2, 0, 2, 2, 0}));
}

TEST(Model, CountsWorkByTheSpeedOfThePe) {
  LoadDatabase db;
  db.pes.resize(2);
  db.pes[1].speed = 2;
  db.objects = {{1, 0, 0, 4, 0, true}, {1, 1, 1, 3, 0, true}};
  EXPECT_EQ(pe_loads(db, {0, 1}), (std::vector<double>{4, 3}));
  EXPECT_EQ(pe_loads(db, {1, 0}), (std::vector<double>{6, 2}));
  EXPECT_EQ(balance_of(db, {1, 0}).migrations, 2);
}

TEST(Model, SaysWhatIsWrongWithAnAssignment) {
  LoadDatabase db;
  db.pes.resize(3);
  db.pes[2].available = false;
  db.objects = {{1, 0, 0, 1, 0, true}, {1, 1, 1, 1, 0, false}};
  EXPECT_EQ(check_assignment(db, {1, 1}), "");
  EXPECT_THAT(check_assignment(db, {1}), testing::HasSubstr("1 places for 2 objects"));
  EXPECT_THAT(check_assignment(db, {3, 1}), testing::HasSubstr("PE 3 of 3"));
  EXPECT_THAT(check_assignment(db, {-1, 1}), testing::HasSubstr("PE -1"));
  EXPECT_THAT(check_assignment(db, {0, 0}), testing::HasSubstr("cannot migrate"));
  EXPECT_THAT(check_assignment(db, {2, 1}), testing::HasSubstr("not available"));
}

TEST(Names, AreFoundInBothFormsAndSuggestedWhenNearlyRight) {
  EXPECT_EQ(find_strategy("GreedyRefineLB"), find_strategy("GreedyRefine"));
  EXPECT_EQ(find_strategy("RandCentLB")->solve, scatter);
  EXPECT_EQ(find_strategy("NoSuchLB"), nullptr);
  EXPECT_EQ(nearest_strategy("GredyLB"), "GreedyLB");
  EXPECT_EQ(nearest_strategy("greedyrefine"), "GreedyRefine");
}

TEST(Database, SurvivesJsonAndBytes) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    LoadDatabase db = random_database(seed, kinds[6]);
    LoadDatabase read;
    std::string error;
    ASSERT_TRUE(from_json(to_json(db), &read, &error)) << error;
    EXPECT_EQ(to_json(read), to_json(db));
    PUP::sizer sizer;
    db.pup(sizer);
    std::vector<char> bytes(sizer.size());
    PUP::toMem out(bytes.data());
    db.pup(out);
    LoadDatabase again;
    PUP::fromMem in(bytes.data(), bytes.size());
    again.pup(in);
    EXPECT_EQ(to_json(again), to_json(db));
  }
}

TEST(Database, RefusesJsonThatIsNone) {
  LoadDatabase db;
  db.pes.resize(1);
  db.objects.resize(1);
  const std::string good = to_json(db);
  LoadDatabase read;
  std::string error;
  auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  EXPECT_TRUE(from_json(good, &read, &error));
  EXPECT_FALSE(from_json("", &read, &error));
  EXPECT_FALSE(from_json(good.substr(0, good.size() / 2), &read, &error));
  EXPECT_FALSE(from_json(with("\"version\":1", "\"version\":2"), &read, &error));
  EXPECT_FALSE(from_json(with("\"pe\":0", "\"pe\":1"), &read, &error));
  EXPECT_THAT(error, testing::HasSubstr("PE 1"));
  EXPECT_FALSE(from_json(with("\"load_s\":0.0", "\"load_s\":-1"), &read, &error));
  EXPECT_FALSE(from_json(with("\"load_s\":0.0", "\"load_s\":\"much\""), &read, &error));
}

}  // namespace
