// The parts of lb-lab: problems that it makes up, files of vt, the optimum, and what it shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "runtime/loadbalance/model.h"
#include "runtime/loadbalance/outcome.h"
#include "tools/lb-lab/lbaf.h"
#include "tools/lb-lab/optimum.h"
#include "tools/lb-lab/page.h"
#include "tools/lb-lab/plot.h"
#include "tools/lb-lab/problems.h"
#include "tools/lb-lab/raster.h"

using namespace periapt::lab;
using namespace periapt::loadbalance;
using testing::HasSubstr;

namespace {

Problem problem(const std::string& text) {
  periapt::Complaint complaint;
  const auto read = read_problem(text, &complaint);
  EXPECT_TRUE(read) << complaint.what;
  return *read;
}

TEST(Problems, AreDatabasesAndTheSameEachTime) {
  for (const ProblemKind& kind : problem_kinds()) {
    const Problem made = problem(std::string(kind.name) + ":objects=500,pes=7,edges=13,steps=3");
    EXPECT_EQ(steps_of(made), 3u);
    const LoadDatabase db = make_step(made, 1);
    EXPECT_EQ(check_database(db), "") << kind.name;
    EXPECT_EQ(db.objects.size(), 500u);
    EXPECT_EQ(db.pes.size(), 7u);
    EXPECT_EQ(to_json(db), to_json(make_step(made, 1)));
    for (const Communication& c : db.communication) EXPECT_LT(c.to.element, 500u);
    EXPECT_GT(db.communication.size(), 4000u);
  }
}

TEST(Problems, AreUnevenExceptTheUniformOne) {
  const auto ratio = [](const std::string& text) {
    const LoadDatabase db = make_step(problem(text + ":objects=8000,pes=64"), 0);
    return balance_of(db, present(db)).ratio();
  };
  EXPECT_LT(ratio("uniform"), 1.2);
  for (const char* name : {"zipf", "hotspot", "mesh", "nbody"}) EXPECT_GT(ratio(name), 1.5) << name;
}

TEST(Problems, MoveFromStepToStep) {
  for (const char* name : {"hotspot", "mesh", "nbody"}) {
    const Problem made = problem(name);
    EXPECT_NE(to_json(make_step(made, 0)).substr(20), to_json(make_step(made, 5)).substr(20)) << name;
  }
}

TEST(Problems, NameTheNearestOfAnUnknownOne) {
  periapt::Complaint complaint;
  EXPECT_FALSE(read_problem("hotpot", &complaint));
  EXPECT_EQ(complaint.why, "did you mean hotspot?");
  EXPECT_FALSE(read_problem("zipf:pes=0", &complaint));
  EXPECT_THAT(complaint.what, HasSubstr("the option pes of the problem zipf cannot be 0"));
}

TEST(Optimum, IsFoundWhereGreedyMissesIt) {
  LoadDatabase db;
  db.pes.resize(2);
  for (const double seconds : {3.0, 3.0, 2.0, 2.0, 2.0})
    db.objects.push_back({1, db.objects.size(), 0, seconds, 0, true});
  EXPECT_EQ(balance_of(db, find_strategy("Greedy")->solve(db, {})).max, 7);
  EXPECT_EQ(optimum(db), 6);
  EXPECT_EQ(optimum(db, 1), std::nullopt);
  db.objects[0].migratable = db.objects[1].migratable = false;  // both on PE 0
  EXPECT_EQ(optimum(db), 6);
  db.objects[2].migratable = false;
  EXPECT_EQ(optimum(db), 8);
  db.objects.resize(100);
  EXPECT_EQ(optimum(db), std::nullopt);
}

std::string temporary(const std::string& name) { return testing::TempDir() + name; }

TEST(Lbaf, ReadsWhatItWrites) {
  LoadDatabase db = make_step(problem("zipf:objects=40,pes=3"), 0);
  db.objects[5].migratable = false;
  const Assignment placed = find_strategy("Greedy")->solve(db, {});
  periapt::Complaint complaint;
  ASSERT_TRUE(write_lbaf(temporary("written"), {db}, {placed}, &complaint)) << complaint.what;
  std::vector<LoadDatabase> steps;
  ASSERT_TRUE(read_lbaf(temporary("written"), &steps, &complaint)) << complaint.what;
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].pes.size(), 3u);
  ASSERT_EQ(steps[0].objects.size(), 40u);
  EXPECT_NEAR(balance_of(steps[0], present(steps[0])).max, balance_of(db, placed).max, 1e-12);
  EXPECT_EQ(crossing_of(steps[0], present(steps[0])).bytes, crossing_of(db, placed).bytes);
  EXPECT_EQ(std::count_if(steps[0].objects.begin(), steps[0].objects.end(), [](auto& o) { return o.migratable; }), 39);
}

TEST(Lbaf, FindsTheEndsOfMessagesByTheirIdsToo) {
  std::ofstream(temporary("ids.0.json")) << R"({"type":"LBDatafile","phases":[{"id":4,"tasks":[
    {"entity":{"id":1,"collection_id":7,"migratable":true,"type":"object"},"time":2.5},
    {"entity":{"seq_id":2,"collection_id":8,"migratable":false,"type":"object"},"time":1}],
    "communications":[{"type":"SendRecv","bytes":30.0,"messages":2,"from":{"id":1,"type":"object"},
    "to":{"seq_id":2,"type":"object"}},{"type":"Broadcast","bytes":9,"from":{"id":1,"type":"object"},
    "to":{"id":0,"type":"node"}}]}]})";
  std::vector<LoadDatabase> steps;
  periapt::Complaint complaint;
  ASSERT_TRUE(read_lbaf(temporary("ids"), &steps, &complaint)) << complaint.what;
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].step, 4u);
  ASSERT_EQ(steps[0].communication.size(), 1u);
  const Partners partners(steps[0]);
  ASSERT_EQ(partners[0].size(), 1u);
  EXPECT_EQ(partners[0][0].bytes, 30u);
  EXPECT_FALSE(steps[0].objects[1].migratable);
}

TEST(Lbaf, SaysWhereAFileIsNotWhatItShouldBe) {
  const auto complaint_of = [](const std::string& text) {
    std::ofstream(temporary("bad.0.json")) << text;
    std::vector<LoadDatabase> steps;
    periapt::Complaint complaint;
    EXPECT_FALSE(read_lbaf(temporary("bad"), &steps, &complaint)) << text;
    return complaint.what + complaint.why;
  };
  const std::string start = R"({"metadata":{"type":"LBDatafile"},"phases":[)";
  EXPECT_THAT(complaint_of("\x8b\x02"), HasSubstr("brotli"));
  EXPECT_THAT(complaint_of(R"({"phases":[]})"), HasSubstr("has no \"type\""));
  EXPECT_THAT(complaint_of(R"({"type":"LBStatsfile","phases":[]})"), HasSubstr("only \"LBDatafile\""));
  EXPECT_THAT(complaint_of(start + R"({"id":0}]})"), HasSubstr("phases[0]: has no \"tasks\""));
  EXPECT_THAT(complaint_of(start + R"({"id":0,"tasks":[{"time":1,"entity":{"migratable":true}}]}]})"),
              HasSubstr("phases[0].tasks[0].entity: has neither \"id\" nor \"seq_id\""));
  EXPECT_THAT(complaint_of(start + R"({"id":0,"tasks":[{"time":"x","entity":{"id":1,"migratable":true}}]}]})"),
              HasSubstr("phases[0].tasks[0].time: is no number"));
  EXPECT_THAT(complaint_of(start), HasSubstr("does not hold to vt's schema"));
  std::vector<LoadDatabase> steps;
  periapt::Complaint complaint;
  EXPECT_FALSE(read_lbaf(temporary("there is none"), &steps, &complaint));
  EXPECT_THAT(complaint.what, HasSubstr("cannot be read"));
}

TEST(Outcome, CountsWhatIsShown) {
  LoadDatabase db;
  db.pes.resize(2);
  db.objects = {{1, 0, 0, 3, 100, true}, {1, 1, 0, 1, 50, true}};
  db.communication = {{{1, 0}, {1, 1}, 4, 1000}};
  const Outcome outcome = outcome_of(db, {0, 1}, 3, 3);
  EXPECT_EQ(outcome.max_load, 3);
  EXPECT_EQ(outcome.ratio, 1.5);
  EXPECT_EQ(outcome.sigma, 1);
  EXPECT_EQ(outcome.above_bound, 0);
  EXPECT_EQ(outcome.migrations, 1u);
  EXPECT_EQ(outcome.bytes_moved, 50u);
  EXPECT_EQ(outcome.crossing.messages, 4u);
  StepOutcomes step{1, 2, 2, 3, 3, {outcome}};
  std::ostringstream csv, json, table;
  print_csv(csv, {step});
  print_json(json, {step});
  print_table(table, step);
  const std::string lines = csv.str();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
  EXPECT_THAT(json.str(), HasSubstr("\"cut_bytes\": 1000"));
  EXPECT_THAT(table.str(), HasSubstr("and the best one has 3.0000 s"));
}

TEST(Page, HoldsEveryStepAndNoEndOfItsScript) {
  const LoadDatabase db = make_step(problem("hotspot:objects=2000,pes=500"), 0);
  Page page;
  page.add(view_of(db, "Greedy</script>", find_strategy("Greedy")->solve(db, {})));
  std::ostringstream out;
  page.write(out);
  const std::string text = out.str();
  EXPECT_THAT(text, HasSubstr("\"pes\":500"));
  EXPECT_EQ(text.find("</script>"), text.rfind("</script>"));
}

// Chunks of a PNG, by name, with their lengths.
std::vector<std::pair<std::string, std::size_t>> chunks_of(const std::string& png) {
  std::vector<std::pair<std::string, std::size_t>> chunks;
  for (std::size_t at = 8; at + 12 <= png.size();) {
    std::size_t length = 0;
    for (int i = 0; i < 4; ++i) length = length << 8 | static_cast<std::uint8_t>(png[at + i]);
    chunks.emplace_back(png.substr(at + 4, 4), length);
    at += 12 + length;
  }
  return chunks;
}

TEST(Raster, FillsWhatLiesInsideAndIsWhiteElsewhere) {
  Raster raster(3, 2);
  raster.fill(1, -5, 9, 1, {217, 131, 36});
  const std::vector<std::uint8_t> file = periapt::encode_png({3,
                                                              2,
                                                              {255, 255, 255, 217, 131, 36, 217, 131, 36,  //
                                                               255, 255, 255, 255, 255, 255, 255, 255, 255}});
  std::ostringstream out;
  raster.write_png(out);
  EXPECT_EQ(out.str(), std::string(file.begin(), file.end()));
}

TEST(Plot, HasAFieldForEachStepAndStrategyAsFarAsThereIsRoom) {
  const LoadDatabase db = make_step(problem("zipf:objects=50,pes=4"), 0);
  std::vector<View> views;
  for (int step = 0; step < 150; ++step)
    for (const char* name : {"Rotate<&", "Greedy"}) {
      views.push_back(view_of(db, name, find_strategy("Greedy")->solve(db, {})));
      views.back().step = static_cast<std::uint32_t>(step);
    }
  std::ostringstream few, many, none;
  write_svg(few, {views[0], views[1], views[2], views[3]});
  EXPECT_THAT(few.str(), HasSubstr("width=\"940\" height=\"420\""));
  EXPECT_THAT(few.str(), HasSubstr("step 1, Rotate&lt;&amp;"));
  EXPECT_THAT(few.str(), HasSubstr("of 50 objects move, 4 PEs"));
  write_svg(many, views);
  EXPECT_THAT(many.str(), HasSubstr("step 99, Greedy"));
  EXPECT_THAT(many.str(), testing::Not(HasSubstr("step 100, ")));
  write_png(none, {});
  EXPECT_EQ(chunks_of(none.str()).size(), 3u);
}

}  // namespace
