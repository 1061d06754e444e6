// Load models on loads that are easy to follow, and what explain() says of a decision.
#include "runtime/loadbalance/load_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "charm++.h"
#include "runtime/loadbalance/classic/predictor.h"
#include "runtime/loadbalance/explain.h"
#include "runtime/loadbalance/model.h"

using namespace periapt::loadbalance;
using testing::HasSubstr;

namespace {

LoadModel model(const std::string& text) {
  periapt::Complaint complaint;
  const auto read = read_load_model(text, &complaint);
  EXPECT_TRUE(read) << complaint.what;
  return read ? *read : LoadModel(load_models()[0]);
}
double predict(const std::string& text, std::vector<float> past) { return model(text).predict(past); }

TEST(LoadModel, LastIsWhatWas) { EXPECT_EQ(predict("last", {1, 2, 5}), 5); }

TEST(LoadModel, MeanIsOfTheLastOnes) {
  EXPECT_EQ(predict("mean:steps=2", {9, 2, 4}), 3);
  EXPECT_EQ(predict("mean:steps=8", {9, 2, 4}), 5);
}

TEST(LoadModel, TrendGoesOnInALineAndNotBelowZero) {
  EXPECT_NEAR(predict("trend:steps=3", {7, 1, 2, 3}), 4, 1e-9);
  EXPECT_NEAR(predict("trend:steps=4", {5}), 5, 1e-9);
  EXPECT_EQ(predict("trend:steps=3", {9, 5, 0}), 0);
}

TEST(LoadModel, PhaseIsWhatWasAPeriodAgo) {
  EXPECT_EQ(predict("phase:period=2", {1, 8, 2, 9}), 2);
  EXPECT_EQ(predict("phase:period=3", {1, 8}), 8);
}

class Line : public LBPredictorFunction {
 public:
  Line() { num_params = 2; }
  void initialize_params(double* params) override { params[0] = params[1] = 0; }
  double predict(double x, double* params) override { return params[0] + params[1] * x; }
  void function(double x, double* params, double& y, double* derivatives) override {
    y = predict(x, params);
    derivatives[0] = 1;
    derivatives[1] = x;
  }
};
// No sum, so that there is a way to go.
class Power : public LBPredictorFunction {
 public:
  Power() { num_params = 2; }
  void initialize_params(double* params) override { params[0] = params[1] = 1; }
  double predict(double x, double* params) override { return params[0] * std::pow(x, params[1]); }
  void function(double x, double* params, double& y, double* derivatives) override {
    y = predict(x, params);
    derivatives[0] = std::pow(x, params[1]);
    derivatives[1] = y * std::log(x);
  }
};

TEST(LoadModel, AFunctionIsFittedToWhatCameAfterEachInterval) {
  Line line;
  const LoadModelInfo info = fitted_model(line, 8, 0);
  const LoadModel model(info);
  EXPECT_EQ(model.depth(), 8u);
  EXPECT_EQ(model.predict(std::vector<float>{3}), 3);                     // nothing is known yet
  EXPECT_EQ(model.predict(std::vector<float>{3, 4}), 4);                  // and too little
  EXPECT_NEAR(model.predict(std::vector<float>{1, 3, 7, 15}), 31, 1e-3);  // 2 x + 1
  EXPECT_EQ(model.predict(std::vector<float>{9, 4, 1, 0}), 0);            // below zero: as it was
  EXPECT_NEAR(model.predict(std::vector<float>{5, 5, 5, 5}), 5, 1e-3);    // many lines go through one point
  Power power;
  const LoadModelInfo squares = fitted_model(power, 8, 0);
  EXPECT_NEAR(LoadModel(squares).predict(std::vector<float>{1.1f, 2.42f, 11.7128f}), 274.38, 0.1);  // 2 x^2
}

TEST(LoadModel, AFunctionIsNotAskedBeforeMuchIsKnown) {
  Line line;
  const LoadModelInfo info = fitted_model(line, 20, 10);
  const LoadModel model(info);
  std::vector<float> past{1.00f, 1.001f, 1.10f};
  EXPECT_EQ(model.predict(past), 1.10f);
  std::mt19937 random(7);
  std::uniform_real_distribution<float> noise(0.97f, 1.03f);
  for (int run = 0; run < 300; ++run) {
    past.clear();
    while (past.size() < 20) {
      past.push_back(noise(random));
      EXPECT_NEAR(model.predict(past), 1, 0.2) << past.size() << " intervals, run " << run;
    }
  }
  // A window that is shorter than the delay is waited for, and one that is too short for the parameters grows.
  EXPECT_NEAR(LoadModel(fitted_model(line, 4, 10)).predict(std::vector<float>{1, 3, 7, 15}), 31, 1e-3);
  const LoadModelInfo grown = fitted_model(line, 2, 10);
  EXPECT_EQ(LoadModel(grown).depth(), 3u);
  EXPECT_NEAR(LoadModel(grown).predict(std::vector<float>{1, 3, 7}), 15, 1e-3);
}

// Says nothing of where its parameters begin.
class Wave : public LBPredictorFunction {
 public:
  Wave() { num_params = 2; }
  double predict(double x, double* params) override { return params[0] * std::sin(params[1] * x); }
  void function(double x, double* params, double& y, double* derivatives) override {
    y = predict(x, params);
    derivatives[0] = std::sin(params[1] * x);
    derivatives[1] = params[0] * x * std::cos(params[1] * x);
  }
};
TEST(LoadModel, ParametersBeginWhereAProductHasASlope) {
  Wave wave;
  const LoadModelInfo info = fitted_model(wave, 20, 0);
  EXPECT_NEAR(LoadModel(info).predict(std::vector<float>{1, 1.2f, 1.1f, 1.3f}), 1.2, 0.3);
}

TEST(LoadModel, NamesTheNearestOfAnUnknownOne) {
  periapt::Complaint complaint;
  EXPECT_FALSE(read_load_model("tend", &complaint));
  EXPECT_EQ(complaint.why, "did you mean trend?");
  EXPECT_FALSE(read_load_model("mean:step=2", &complaint));
  EXPECT_THAT(complaint.what, HasSubstr("the load model mean has no option step"));
}

LoadDatabase of(std::vector<double> seconds, std::uint32_t step = 1) {
  LoadDatabase db;
  db.step = step;
  db.pes.resize(2);
  db.pes[1].speed = 2;
  for (std::size_t i = 0; i < seconds.size(); ++i) db.objects.push_back({1, i, 0, seconds[i], 0, true});
  return db;
}

TEST(LoadHistory, FollowsObjectsThatMoveComeAndGo) {
  LoadHistory history(model("mean:steps=2"));
  history.add(of({4, 8}));
  LoadDatabase next = of({2, 8, 5});
  next.objects[0].pe = 1;  // twice as fast: the same work
  history.add(next);
  const LoadDatabase expected = history.expected(next);
  EXPECT_EQ(expected.objects[0].seconds, 2);
  EXPECT_EQ(expected.objects[1].seconds, 8);
  EXPECT_EQ(expected.objects[2].seconds, 5);
  history.add(of({4}));
  EXPECT_EQ(history.expected(of({0, 3})).objects[1].seconds, 3) << "one that was away begins anew";
}

TEST(LoadHistory, KnowsAMovingHotSpotBetterThanTheLastStepDoes) {
  const auto load = [](int i, int step) { return 1.0 + (i % 2 == step % 2 ? 9 : 0); };
  LoadHistory phase(model("phase:period=2")), last(model("last"));
  double wrong[2] = {};
  for (int step = 0; step < 10; ++step) {
    std::vector<double> seconds;
    for (int i = 0; i < 6; ++i) seconds.push_back(load(i, step));
    const LoadDatabase now = of(seconds);
    if (step > 2)
      for (int i = 0; i < 6; ++i) {
        wrong[0] += std::abs(phase.expected(now).objects[i].seconds - seconds[i]);
        wrong[1] += std::abs(last.expected(now).objects[i].seconds - seconds[i]);
      }
    phase.add(now);
    last.add(now);
  }
  EXPECT_EQ(wrong[0], 0);
  EXPECT_GT(wrong[1], 100);
}

const Strategy greedy_refine(*find_strategy("GreedyRefine"));

TEST(Explain, SaysWhoMovesWhyAndWhatItCosts) {
  LoadDatabase db;
  db.step = 3;
  db.pes.resize(2);
  for (int i = 0; i < 8; ++i) db.objects.push_back({4, static_cast<std::uint64_t>(i), 0, 0.1 * (i + 1), 0, true});
  const Assignment assignment = greedy_refine.solve(db);
  Decision decision{db, assignment, &greedy_refine, "", 0.001, 1.25, 0.05, 10};
  const std::string text = explain(decision);
  EXPECT_THAT(text, HasSubstr("LB step 3, GreedyRefineLB: 8 objects on 2 PEs"));
  EXPECT_THAT(text, HasSubstr("before:    fullest PE 3.6000 s, max/avg 2.000 (step 2 had predicted 1.250)"));
  EXPECT_THAT(text, HasSubstr("predicted: fullest PE 1.8000 s, max/avg 1.000"));
  EXPECT_THAT(text, HasSubstr("of array 4, "));
  EXPECT_THAT(text, HasSubstr("PE 0 (2.00 of the average) -> PE 1 (0.00)"));
  EXPECT_THAT(text, HasSubstr("saves 1.8000 s an interval and costs about 0.0"));
  decision.moved_before = 0;
  EXPECT_THAT(explain(decision), HasSubstr("what moving costs is not known yet"));
}

TEST(Explain, SaysWhyNothingIsMoved) {
  LoadDatabase db = of({1, 1});
  db.pes[1].speed = 1;
  db.objects[1].pe = 1;
  const Assignment stay = present(db);
  const auto why = [&](const Strategy* strategy, std::string refused = "") {
    return explain({db, stay, strategy, refused});
  };
  EXPECT_THAT(why(&greedy_refine), HasSubstr("nothing is moved: nothing can make the fullest PE emptier"));
  EXPECT_THAT(why(nullptr), HasSubstr("there is no balancer"));
  EXPECT_THAT(why(&greedy_refine, "the load of x is nan"), HasSubstr("nothing is moved: the load of x is nan"));
  db.objects[0].seconds = 1.02;
  db.objects.push_back({1, 2, 0, 0.01, 0, true});
  const Assignment three = present(db);
  EXPECT_THAT(explain({db, three, &greedy_refine}), HasSubstr("for good enough"));
  for (ObjectLoad& object : db.objects) object.migratable = false;
  EXPECT_THAT(explain({db, three, &greedy_refine}), HasSubstr("no object may migrate"));
}

}  // namespace
