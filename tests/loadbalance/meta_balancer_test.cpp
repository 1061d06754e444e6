// When a balancing is due, on intervals that are easy to follow, and which strategy is chosen.
#include "runtime/loadbalance/meta_balancer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace periapt::loadbalance;
using testing::HasSubstr;

namespace {

Strategy named(const char* name) {
  periapt::Complaint complaint;
  const auto read = read_strategy(name, &complaint);
  EXPECT_TRUE(read) << complaint.what;
  return *read;
}

// One PE in two seconds, the average: a program in which each interval is 1 s of work a PE.
Interval uneven(double ratio) { return {ratio, 1}; }

// One that has balanced once, at `cost` seconds, and is even now.
MetaBalancer experienced(double cost) {
  MetaBalancer meta({});
  EXPECT_TRUE(meta.is_due(uneven(2)));
  meta.balanced(cost, 10);
  EXPECT_FALSE(meta.is_due(uneven(1)));
  return meta;
}

TEST(MetaBalancer, EvenLoadsAreLeftAlone) {
  MetaBalancer meta({});
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(meta.is_due(uneven(1.01)));
}

TEST(MetaBalancer, TheFirstImbalanceIsBalancedToLearnWhatItCosts) {
  MetaBalancer meta({});
  EXPECT_TRUE(meta.is_due(uneven(1.2)));
}

TEST(MetaBalancer, IsDueWhenTheFullestPeHasCostMoreThanABalancing) {
  MetaBalancer meta = experienced(0.45);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(meta.is_due(uneven(1.1))) << i;
  EXPECT_TRUE(meta.is_due(uneven(1.1)));
  EXPECT_THAT(meta.reason(), HasSubstr("in 6 intervals 0.5000 s were lost to imbalance, and a balancing costs 0.4500"));
}

// sqrt(2 * cost / slope) intervals.
TEST(MetaBalancer, AnImbalanceThatGrowsSteadilyHasThePeriodThatCostsLeast) {
  for (double cost : {0.1, 0.5, 2.0, 8.0}) {
    MetaBalancer meta = experienced(cost);
    const double slope = 0.01;
    int period = 1;
    while (!meta.is_due(uneven(1 + slope * period))) ++period;
    EXPECT_NEAR(period, std::sqrt(2 * cost / slope), 1.5) << cost;
  }
}

TEST(MetaBalancer, WhatNoBalancingMendsDoesNotCount) {
  MetaBalancer meta = experienced(0.1);
  EXPECT_TRUE(meta.is_due(uneven(1.5)));
  meta.balanced(0.1, 3);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(meta.is_due(uneven(1.5))) << i;
  EXPECT_TRUE(meta.is_due(uneven(1.7)));
}

TEST(MetaBalancer, BalancingsThatWinNothingBecomeRare) {
  MetaBalancer meta({});
  std::mt19937 random(7);
  std::uniform_real_distribution<double> ratio(1, 1.4);  // now this PE, now that one: no balancing helps
  int balancings = 0;
  for (int i = 0; i < 2000; ++i) {
    if (!meta.is_due(uneven(ratio(random)))) continue;
    ++balancings;
    meta.balanced(0.5, 5);
  }
  // At each 0.5 s that are lost it would be some 800.
  EXPECT_LT(balancings, 40);
}

TEST(MetaBalancer, ThoseThatWinMakeThemFrequentAgain) {
  MetaBalancer meta = experienced(0.5);
  const auto until_due = [&](double ratio) {
    int intervals = 1;
    for (; !meta.is_due(uneven(ratio)); ++intervals) {
    }
    meta.balanced(0.5, 5);
    return intervals;
  };
  EXPECT_EQ(until_due(1.5), 2);
  for (int useless = 0; useless < 3; ++useless) {  // better for one interval, and as bad again
    meta.is_due(uneven(1.2));
    until_due(1.5);
  }
  meta.is_due(uneven(1));
  EXPECT_THAT(meta.reason(), HasSubstr("times 8"));
  EXPECT_EQ(until_due(1.5), 9);
  for (int useful = 0; useful < 4; ++useful) {
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(meta.is_due(uneven(1)));
    until_due(1.5);
  }
  meta.is_due(uneven(1));
  EXPECT_THAT(meta.reason(), testing::Not(HasSubstr("times")));
  EXPECT_EQ(until_due(1.5), 2);
}

TEST(MetaBalancer, PesWithoutWorkDivideByNothing) {
  MetaBalancer meta({});
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(meta.is_due({0, 0}));
  EXPECT_THAT(meta.reason(), HasSubstr("max/avg 1.000"));
}

// Objects of these seconds, all on PE 0 of so many.
LoadDatabase piled(std::vector<double> seconds, int pes) {
  LoadDatabase db;
  for (int pe = 0; pe < pes; ++pe) db.pes.push_back({10, 0, 0, 1, true, pe});
  for (std::size_t i = 0; i < seconds.size(); ++i) db.objects.push_back({1, i, 0, seconds[i], 0, true});
  return db;
}

TEST(MetaBalancer, TheStrategyThatWinsMostIsChosen) {
  MetaBalancer meta({named("Dummy"), named("Rotate"), named("Greedy")});
  meta.is_due({4, 2});
  Assignment assignment;
  std::string wrong;
  const Strategy* chosen = meta.choose(piled({1, 1, 1, 1}, 2), &assignment, &wrong);
  ASSERT_NE(chosen, nullptr);
  EXPECT_STREQ(chosen->info->name, "Greedy");
  EXPECT_EQ(std::count(assignment.begin(), assignment.end(), 1), 2);
  EXPECT_EQ(wrong, "");
}

TEST(MetaBalancer, MovesThatCostMoreThanTheyWinAreNotMade) {
  MetaBalancer meta({named("Greedy")});
  ASSERT_TRUE(meta.is_due({1.1, 1}));
  meta.balanced(100, 1);  // one move took 100 s
  meta.is_due({1.1, 1});
  Assignment assignment;
  std::string wrong;
  EXPECT_EQ(meta.choose(piled({1, 1}, 2), &assignment, &wrong), nullptr);
  EXPECT_EQ(assignment, (Assignment{0, 0}));
}

TEST(MetaBalancer, OneWrongAnswerLeavesTheOthers) {
  StrategyInfo lost{
      .name = "Lost", .classic = "LostLB", .summary = "", .solve = [](const LoadDatabase& db, const auto&) {
        return Assignment(db.objects.size(), 99);
      }};
  LoadDatabase db = piled({1, 1}, 2);
  Assignment assignment;
  std::string wrong;
  MetaBalancer both({Strategy(lost), named("Greedy")});
  both.is_due({2, 1});
  EXPECT_NE(both.choose(db, &assignment, &wrong), nullptr);
  EXPECT_EQ(wrong, "");
  MetaBalancer alone({Strategy(lost)});
  alone.is_due({2, 1});
  EXPECT_EQ(alone.choose(db, &assignment, &wrong), nullptr);
  EXPECT_THAT(wrong, HasSubstr("what Lost says cannot be carried out"));
}

}  // namespace
