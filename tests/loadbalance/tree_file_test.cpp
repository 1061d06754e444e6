// treelb.json: what TreeLB does with one, and what it says of one that is wrong.
#include "runtime/loadbalance/tree_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/loadbalance/model.h"
#include "tests/loadbalance/solve.h"

using namespace periapt::loadbalance;
using testing::HasSubstr;

namespace {

// Two processes of two PEs; all objects are on PE 0 and 2.
LoadDatabase two_processes(std::uint32_t step) {
  LoadDatabase db;
  db.step = step;
  db.pes.resize(4);
  for (int pe = 0; pe < 4; ++pe) db.pes[pe].process = pe / 2;
  for (int i = 0; i < 12; ++i) db.objects.push_back({1, static_cast<std::uint64_t>(i), i < 8 ? 0 : 2, 1.0 + i % 3});
  return db;
}

StrategyInfo tree_of(const std::string& text) {
  periapt::Complaint complaint;
  std::optional<StrategyInfo> info = read_tree(text, "treelb.json", &complaint);
  if (!info) throw std::runtime_error(complaint.what);
  return *info;
}
std::string refusal_of_tree(const std::string& text) {
  periapt::Complaint complaint;
  EXPECT_FALSE(read_tree(text, "treelb.json", &complaint)) << text;
  return complaint.what + " | " + complaint.why;
}

bool crosses(const LoadDatabase& db, const Assignment& assignment) {
  for (std::size_t i = 0; i < assignment.size(); ++i)
    if (db.pes[assignment[i]].process != db.pes[db.objects[i].pe].process) return true;
  return false;
}

TEST(TreeFile, TheRootDecidesAsItsStrategiesDo) {
  const StrategyInfo info = tree_of(R"({"tree": "PE_Root", "root": {"strategies": ["Rotate", "Greedy"]}})");
  const Strategy tree(info);
  EXPECT_EQ(tree.solve(two_processes(1)), solve("Rotate", two_processes(1)));
  for (std::uint32_t step = 2; step < 5; ++step)
    EXPECT_EQ(tree.solve(two_processes(step)), solve("Greedy", two_processes(step)));
}

TEST(TreeFile, ProcessesDecideBetweenTheStepsOfTheRoot) {
  const StrategyInfo info = tree_of(R"({"tree": "PE_Process_Root",
    "root": {"pe": 0, "step_freq": 3, "strategies": ["GreedyRefine"], "GreedyRefine": {"tolerance": 1.01}},
    "process": {"strategies": ["Greedy", "Dummy"], "repeat_strategies": true}})");
  const Strategy tree(info);
  for (std::uint32_t step = 1; step < 10; ++step) {
    const LoadDatabase db = two_processes(step);
    const Assignment result = tree.solve(db);
    EXPECT_EQ(check_assignment(db, result), "");
    EXPECT_EQ(crosses(db, result), step % 3 == 0) << "step " << step;
  }
  EXPECT_EQ(tree.solve(two_processes(3)), solve("GreedyRefine:tolerance=1.01", two_processes(3)));
  EXPECT_NE(tree.solve(two_processes(1)), present(two_processes(1)));
  EXPECT_EQ(tree.solve(two_processes(2)), present(two_processes(2)));  // Dummy
  EXPECT_NE(tree.solve(two_processes(4)), present(two_processes(4)));  // Greedy again
}

TEST(TreeFile, GroupsOfProcessesDecideForThemselves) {
  const StrategyInfo info = tree_of(R"({"tree": "PE_Process_ProcessGroup_Root", "mcast_bfactor": 4,
    "root": {"step_freq": 4, "token_passing": true},
    "processgroup": {"step_freq": 2, "num_groups": 1, "strategies": ["Greedy"]},
    "process": {"strategies": ["RefineA"]}})");
  const Strategy tree(info);
  EXPECT_FALSE(crosses(two_processes(1), tree.solve(two_processes(1))));
  EXPECT_EQ(tree.solve(two_processes(2)), solve("Greedy", two_processes(2)));
  EXPECT_EQ(tree.solve(two_processes(4)), solve("Tree", two_processes(4)));
}

TEST(TreeFile, WhatIsWrongIsSaidWithWhatWasMeant) {
  const std::string root = R"("root": {"strategies": ["Greedy"]})";
  EXPECT_THAT(refusal_of_tree(R"({"tree": "PE_Root", "rot": {}, )" + root + "}"),
              HasSubstr("unknown key in the file: rot | did you mean root?"));
  EXPECT_THAT(refusal_of_tree(R"({"tree": "PE_Rot", )" + root + "}"),
              HasSubstr("no tree called PE_Rot | did you mean PE_Root?"));
  EXPECT_THAT(refusal_of_tree(R"({"tree": "PE_Root", "root": {"strategy": ["Greedy"], "strategies": ["Greedy"]}})"),
              HasSubstr("unknown key in root: strategy | did you mean strategies?"));
  EXPECT_THAT(refusal_of_tree(R"({"tree": "PE_Root", "root": {"strategies": ["Gredy"]}})"),
              HasSubstr("there is no balancer called Gredy | did you mean Greedy?"));
  EXPECT_THAT(
      refusal_of_tree(R"({"tree": "PE_Root", "root": {"strategies": ["GreedyRefine"], "GreedyRefine": {"tol": 1}}})"),
      HasSubstr("has no option tol | did you mean tolerance?"));
  EXPECT_THAT(refusal_of_tree(R"({"tree": "PE_Root", "root": {"strategies": ["Greedy"], "GreedyRefine": {}}})"),
              HasSubstr("unknown key in root: GreedyRefine | did you mean Greedy?"));
  EXPECT_THAT(refusal_of_tree(R"({"tree": "PE_Process_Root", )" + root + "}"), HasSubstr("has no process"));
  EXPECT_THAT(refusal_of_tree(R"({"tree": "PE_Root", "root": {"strategies": ["Greedy"], "step_freq": 2}})"),
              HasSubstr("has a step_freq in root | the lowest level"));
  EXPECT_THAT(refusal_of_tree(R"({"tree": "PE_Root", "root": {"strategies": "Greedy"}})"),
              HasSubstr("that are no list"));
  EXPECT_THAT(refusal_of_tree(R"({"tree": "PE_Root", )"), HasSubstr("treelb.json is no JSON"));
  EXPECT_THAT(refusal_of_tree(R"({"tree": "PE_Process_ProcessGroup_Root", "root": {"step_freq": 3}, "process":
    {"strategies": ["Greedy"]}, "processgroup": {"strategies": ["Greedy"], "num_groups": 2, "step_freq": 2}})"),
              HasSubstr("a step_freq of 3 above one of 2"));
}

}  // namespace
