// How a run that has lost hosts goes on from its checkpoint on disk (charmrun ++recover): what is left of it, and when
// it ends after all. Whole runs: tests/checkpoint/lost_host_test.py.
#include "tools/charmrun/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace periapt::charmrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Hosts a to d with two processes each, of two PEs; c is below b.
RunPlan plan_of_four() {
  RunPlan plan;
  plan.size = 8;
  plan.pes_a_process = 2;
  const auto host = [](const std::string& name, int index) {
    HostPlan one;
    one.name = name;
    one.index = index;
    one.first_rank = 2 * index;
    one.ranks = 2;
    return one;
  };
  plan.here.below = {host("a", 0), host("b", 1), host("d", 3)};
  plan.here.below[1].below = {host("c", 2)};
  return plan;
}
RunEnd end_of(std::vector<int> lost, const std::string& checkpoint) {
  return {1, "", true, std::move(lost), checkpoint};
}

TEST(Recovery, GoesOnWithTheHostsThatAreLeft) {
  const Result<Recovery> next = Recovery().next(plan_of_four(), end_of({2}, "/log"), "1", 0);
  ASSERT_TRUE(next) << next.message();
  EXPECT_EQ(next->folder, "/log");
  EXPECT_EQ(next->pes, 12);
  EXPECT_EQ(next->pes_a_process, 2);
  EXPECT_EQ(next->starts, 1);
  EXPECT_THAT(next->lost, ElementsAre("c"));
}

TEST(Recovery, AHostIsLostOnceHoweverOftenItIsSaid) {
  const Result<Recovery> next = Recovery().next(plan_of_four(), end_of({1, 2, 1}, "/log"), "1", 0);
  ASSERT_TRUE(next) << next.message();
  EXPECT_EQ(next->pes, 8);
  EXPECT_THAT(next->lost, ElementsAre("b", "c"));
}

TEST(Recovery, SpareHostsTakeThePlaceOfLostOnes) {
  EXPECT_EQ(Recovery().next(plan_of_four(), end_of({0}, "/log"), "1", 1)->pes, 16);
  EXPECT_EQ(Recovery().next(plan_of_four(), end_of({0, 3}, "/log"), "1", 1)->pes, 12);
}

TEST(Recovery, TheFolderBeforeCountsUntilAnotherOneIsSaid) {
  Recovery now;
  now.folder = "/old";
  now.lost = {"x"};
  EXPECT_EQ(now.folder_after(end_of({0}, "")), "/old");
  EXPECT_EQ(now.folder_after(end_of({0}, "/new")), "/new");
  const Result<Recovery> next = now.next(plan_of_four(), end_of({0}, ""), "1", 0);
  ASSERT_TRUE(next) << next.message();
  EXPECT_EQ(next->folder, "/old");
  EXPECT_THAT(next->lost, ElementsAre("x", "a"));
}

TEST(Recovery, EndsWhereItCannotGoOn) {
  EXPECT_THAT(Recovery().next(plan_of_four(), end_of({0}, ""), "", 0).message(), HasSubstr("no whole checkpoint"));
  EXPECT_THAT(Recovery().next(plan_of_four(), end_of({0}, "/log"), "", 0).message(), HasSubstr("no whole checkpoint"));
  EXPECT_THAT(Recovery().next(plan_of_four(), end_of({0, 1, 2, 3}, "/log"), "1", 0).message(),
              HasSubstr("no host is left"));
  Recovery often;
  often.folder = "/log";
  often.manifest = "1";
  often.starts = Recovery::kStartsMost - 1;
  EXPECT_EQ(often.next(plan_of_four(), end_of({}, "/log"), "1", 0)->starts, Recovery::kStartsMost);
  often.starts = Recovery::kStartsMost;
  EXPECT_THAT(often.next(plan_of_four(), end_of({}, "/log"), "1", 0).message(),
              HasSubstr("10 times from the same checkpoint"));
  EXPECT_EQ(often.next(plan_of_four(), end_of({}, "/log"), "2", 0)->starts, 1);
}

TEST(Recovery, AManifestTellsCheckpointsApart) {
  const std::string folder = ::testing::TempDir() + "recovery_test";
  std::filesystem::create_directories(folder);
  EXPECT_EQ(manifest_in(folder), "");
  std::ofstream(folder + "/manifest") << "one";
  const std::string one = manifest_in(folder);
  std::ofstream(folder + "/manifest") << "two";
  EXPECT_NE(one, "");
  EXPECT_NE(manifest_in(folder), one);
  std::filesystem::remove_all(folder);
}

TEST(Recovery, ComesBackFromItsText) {
  Recovery one;
  one.folder = "/a folder\nof \"two\" lines, \xff";
  one.manifest = "17";
  one.starts = 2;
  one.pes = 6;
  one.pes_a_process = 3;
  one.lost = {"node 1", "node2"};
  const std::optional<Recovery> read = Recovery::parse(one.text());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->folder, one.folder);
  EXPECT_EQ(read->starts, 2);
  EXPECT_EQ(read->manifest, "17");
  EXPECT_EQ(read->pes, 6);
  EXPECT_EQ(read->pes_a_process, 3);
  EXPECT_EQ(read->lost, one.lost);
  for (const char* nonsense : {"", "6 3", "6 3 2 - 1", "6 3 2 - 1\nnode 1", "-6 3 2 - 0\n", "six 3 2 - 0\n/log"})
    EXPECT_FALSE(Recovery::parse(nonsense)) << nonsense;
}

TEST(Recovery, WordsOfTheProgramGetTheFolder) {
  std::vector<std::string> words = {"./p", "3", "+restart", "old", "4"};
  EXPECT_EQ(restarts_from(words), "old");
  restart_from(words, "new");
  EXPECT_THAT(words, ElementsAre("./p", "+restart", "new", "3", "4"));
  words = {"./p", "+restart"};
  EXPECT_EQ(restarts_from(words), "");
  restart_from(words, "new");
  EXPECT_THAT(words, ElementsAre("./p", "+restart", "new"));
}

TEST(Recovery, LostHostsAreNoHostsAnyMore) {
  std::vector<Host> hosts(3);
  hosts[0].name = "a";
  hosts[1].name = "b";
  hosts[2].name = "c";
  const std::vector<Host> left = without(hosts, {"b", "x"});
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0].name, "a");
  EXPECT_EQ(left[1].name, "c");
}

}  // namespace
}  // namespace periapt::charmrun
