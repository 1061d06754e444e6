// What every strategy of the list keeps to, and what plug-ins do that are made as docs/first-balancer.md shows. A new
// strategy is covered by being in strategies/list.inc.
#include "tests/loadbalance/conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/loadbalance/model.h"
#include "runtime/loadbalance/strategy.h"
#include "tests/loadbalance/random_databases.h"

using namespace periapt::loadbalance;

namespace {

class Every : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (const std::string missing = info.missing ? info.missing() : ""; !missing.empty()) GTEST_SKIP() << missing;
  }
  const StrategyInfo& info = *tested_strategies()[GetParam()];
  const Strategy strategy{info};
};

std::string name_of(const testing::TestParamInfo<int>& info) {
  std::string name = tested_strategies()[info.param]->name;
  name.erase(0, name.rfind('/') + 1);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

TEST_P(Every, PutsEachObjectOnAnAvailablePeAndLeavesWhatCannotMove) {
  for (unsigned seed = 0; seed < 100; ++seed)
    for (const Kind& kind : kinds) {
      const LoadDatabase db = random_database(seed, kind);
      const Assignment result = strategy.solve(db);
      ASSERT_EQ(check_assignment(db, result), "") << "seed " << seed;
      for (std::size_t i = 0; i < result.size(); ++i)
        ASSERT_TRUE(!db.objects[i].migratable || db.pes[result[i]].available) << "seed " << seed << ", object " << i;
    }
}

TEST_P(Every, AnswersTheSameToTheSameQuestion) {
  for (unsigned seed = 0; seed < 30; ++seed)
    for (const Kind& kind : {kinds[6], kinds[8]}) {
      const LoadDatabase db = random_database(seed, kind);
      ASSERT_EQ(strategy.solve(db), strategy.solve(db)) << "seed " << seed;
    }
}

TEST_P(Every, TakesADatabaseWithoutObjectsOrWithoutAvailablePes) {
  LoadDatabase db;
  EXPECT_TRUE(strategy.solve(db).empty());
  db.pes.resize(3);
  EXPECT_TRUE(strategy.solve(db).empty());
  db.objects.resize(2);
  for (PeLoad& pe : db.pes) pe.available = false;
  EXPECT_EQ(strategy.solve(db), present(db));
}

TEST_P(Every, LeavesAllWhereThereIsOnePe) {
  LoadDatabase db = random_database(5, kinds[8]);
  db.pes = {PeLoad{}};
  for (ObjectLoad& object : db.objects) object.pe = 0;
  EXPECT_EQ(strategy.solve(db), present(db));
}

TEST_P(Every, TakesLoadsOfZeroAndLoadsOfAllSizes) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    LoadDatabase db = random_database(seed, kinds[8]);
    for (ObjectLoad& object : db.objects) object.seconds = 0;
    EXPECT_EQ(check_assignment(db, strategy.solve(db)), "") << "seed " << seed;
    for (PeLoad& pe : db.pes) pe.background = 0;
    EXPECT_EQ(check_assignment(db, strategy.solve(db)), "") << "seed " << seed;
    for (std::size_t i = 0; i < db.objects.size(); ++i)
      db.objects[i].seconds = i % 3 == 0 ? 1e12 : i % 3 == 1 ? 1e-12 : 1;
    EXPECT_EQ(check_assignment(db, strategy.solve(db)), "") << "seed " << seed;
  }
}

TEST_P(Every, LeavesAllWhereNothingCanMove) {
  LoadDatabase db = random_database(3, kinds[8]);
  for (ObjectLoad& object : db.objects) object.migratable = false;
  EXPECT_EQ(strategy.solve(db), present(db));
}

TEST_P(Every, TakesMorePesThanObjects) {
  LoadDatabase db = random_database(9, kinds[7]);
  db.pes.resize(500);
  EXPECT_EQ(check_assignment(db, strategy.solve(db)), "");
}

TEST_P(Every, RefusesWhatIsNoLoad) {
  using testing::HasSubstr;
  const LoadDatabase good = random_database(4, kinds[8]);
  Assignment result;
  EXPECT_EQ(strategy.answer(good, &result), "");
  for (const double value : {std::nan(""), -1.0, static_cast<double>(INFINITY)}) {
    LoadDatabase db = good;
    db.objects[7].seconds = value;
    EXPECT_THAT(strategy.answer(db, &result), HasSubstr("the load of element 7 of array 1 is"));
    EXPECT_EQ(result, present(db));
    db = good;
    db.pes[0].background = value;
    EXPECT_THAT(strategy.answer(db, &result), HasSubstr("the background of PE 0 is"));
    db = good;
    db.pes[0].speed = value;
    EXPECT_THAT(strategy.answer(db, &result), HasSubstr("the speed of PE 0 is"));
  }
  LoadDatabase db = good;
  db.objects[7].pe = static_cast<int>(db.pes.size());
  EXPECT_THAT(strategy.answer(db, &result), HasSubstr("element 7 of array 1 is on PE"));
}

INSTANTIATE_TEST_SUITE_P(Strategies, Every, testing::Range(0, static_cast<int>(tested_strategies().size())), name_of);

}  // namespace
