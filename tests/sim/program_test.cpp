// Unmodified programs on the simulated machine: the same results as really run, the same run for the same options, and
// the times that the model says.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "machine/sim/model.h"

namespace {

struct Outcome {
  std::string out;
  int status = -1;
};

Outcome run(const std::string& command) {
  Outcome outcome;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  char bytes[4096];
  while (std::size_t got = std::fread(bytes, 1, sizeof bytes, pipe)) outcome.out.append(bytes, got);
  const int status = ::pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

// What a program says of its results: not of the machine, not of time.
std::string results(const std::string& out) {
  std::istringstream lines(out);
  std::string line, kept;
  while (std::getline(lines, line))
    if (line.rfind("periapt:", 0) != 0 && line.find(" took ") == std::string::npos) kept += line + "\n";
  return kept;
}

double number_after(const std::string& out, const std::string& text) {
  const std::size_t at = out.find(text);
  if (at == std::string::npos) ADD_FAILURE() << "no \"" << text << "\" in:\n" << out;
  return at == std::string::npos ? NAN : std::atof(out.c_str() + at + text.size());
}

nlohmann::json report(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

class Sim : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  void SetUp() override {
    folder_ =
        std::filesystem::path(testing::TempDir()) /
        ("sim-" + std::to_string(::getpid()) + "-" + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(Sim, GivesTheResultsOfARealRun) {
  const std::string grid =
      std::regex_replace(run(ROOMS " 6 0 +p4 +ppn 2").out, std::regex("[^]*(grid: [^\n]*)[^]*"), "$1");
  ASSERT_EQ(grid.rfind("grid: ", 0), 0u) << grid;
  for (const char* machine :
       {"nodes=1", "nodes=2,ppn=2", "nodes=16,topology=torus:4x4", "nodes=16,ppn=4,topology=torus:2x2x2x2",
        "nodes=64,topology=dragonfly:4x4x4", "nodes=64,topology=fattree:8x8,loss=0.1,delay=5us,reorder=0.2,dup=0.1"}) {
    const Outcome sim = run(std::string(ROOMS " 6 3 +sim quiet=1,") + machine);
    EXPECT_EQ(sim.status, 0) << machine << "\n" << sim.out;
    EXPECT_NE(sim.out.find(grid), std::string::npos) << machine << "\n" << sim.out;
    EXPECT_NE(sim.out.find("timer: came\n"), std::string::npos) << machine << "\n" << sim.out;
  }
}

TEST_F(Sim, ProgramsSeeTheSimulatedMachine) {
  const Outcome sim = run(ROOMS " 4 0 +sim nodes=6,ppn=3,cost=1us");
  EXPECT_EQ(sim.status, 0);
  EXPECT_NE(sim.out.find("18 PEs on 6 nodes: 18 looked, sum 153, 0 wrong\n"), std::string::npos) << sim.out;
  EXPECT_NE(sim.out.find("rooms: 18 entered, 0 wrong\n"), std::string::npos) << sim.out;
  EXPECT_NE(sim.out.find("ring: 18 visits\n"), std::string::npos) << sim.out;
  EXPECT_NE(sim.out.find("last PE: 0 hops away, machine 6 x 1 x 1 x 3\n"), std::string::npos) << "one switch\n"
                                                                                              << sim.out;
  const Outcome torus = run(ROOMS " 1 0 +sim ppn=2,topology=torus:4x3x5,cost=1us");
  EXPECT_NE(torus.out.find("last PE: 3 hops away, machine 4 x 3 x 5 x 2\n"), std::string::npos) << torus.out;
  const Outcome tree = run(ROOMS " 1 0 +sim topology=fattree:4x4,cost=1us");
  EXPECT_NE(tree.out.find("last PE: 2 hops away, machine 16 x 1 x 1 x 1\n"), std::string::npos) << tree.out;
}

TEST_F(Sim, AStandstillIsSeenAtOnceAndExplained) {
  const Outcome stuck = run(STUCK " +sim nodes=3,cost=1us");
  EXPECT_EQ(stuck.status, 1) << stuck.out;
  EXPECT_NE(stuck.out.find("nothing will ever happen again"), std::string::npos) << stuck.out;
  EXPECT_NE(stuck.out.find("Piece"), std::string::npos) << "who is waited for\n" << stuck.out;
}

TEST_F(Sim, FourThousandPesInOneProcess) {
  const Outcome sim = run(ROOMS " 64 2 +sim nodes=1024,ppn=4,topology=torus:8x8x16,cost=1us,json=" + at("report.json"));
  EXPECT_EQ(sim.status, 0) << sim.out;
  EXPECT_NE(sim.out.find("4096 PEs on 1024 nodes: 4096 looked, sum 8386560, 0 wrong\n"), std::string::npos) << sim.out;
  EXPECT_NE(sim.out.find("rooms: 4096 entered, 0 wrong\n"), std::string::npos) << sim.out;
  EXPECT_NE(sim.out.find("ring: 4096 visits\n"), std::string::npos) << sim.out;
  const nlohmann::json found = report(at("report.json"));
  EXPECT_EQ(found["pe"].size(), 4096u);
  EXPECT_EQ(found["by_hops"].size(), 17u) << "4 + 4 + 8 hops at most";
  EXPECT_GT(found["predicted_us"].get<double>(), 0);
  rusage used;
  ::getrusage(RUSAGE_CHILDREN, &used);
  EXPECT_LT(used.ru_maxrss, 4 << 20) << "KiB: a few GB at most";
  RecordProperty("kib_a_pe", static_cast<int>(used.ru_maxrss / 4096));
}

TEST_F(Sim, ARunWithFixedCostIsTheSameEachTime) {
  const std::string machine = " 8 5 +sim nodes=16,ppn=2,topology=fattree:4x4,cost=2us,delay=3us,loss=0.05,reorder=0.1";
  const Outcome first = run(ROOMS + machine + ",seed=11,json=" + at("1"));
  const Outcome again = run(ROOMS + machine + ",seed=11,json=" + at("2"));
  const Outcome other = run(ROOMS + machine + ",seed=12,json=" + at("3"));
  EXPECT_EQ(first.status, 0) << first.out;
  EXPECT_EQ(first.out, again.out);
  EXPECT_EQ(report(at("1")), report(at("2")));
  EXPECT_NE(report(at("1"))["predicted_us"], report(at("3"))["predicted_us"]) << "the seed matters";
  EXPECT_EQ(results(first.out).substr(0, 200), results(other.out).substr(0, 200)) << "but not for results";
  EXPECT_GT(report(at("1"))["sent_again"].get<int>(), 0);
}

TEST_F(Sim, MessagesTakeWhatLogGpSays) {
  using periapt::sim::bytes_time;
  // Nodes 0 and 7 of a ring of 8: one hop, round the back. With the least cost, 1 ns a piece of work, one way is
  // o + L + hop + (k - 1) G + o and 1 ns.
  const std::string machine = " +sim nodes=8,topology=torus:8,cost=0,L=1us,o=300ns,hop=50ns,G=1GB/s,link-G=1GB/s,json=";
  for (int load : {1, 1000, 100000}) {
    const Outcome two = run(ROOMS " 1 2 " + std::to_string(load) + machine + at("2"));
    const Outcome twelve = run(ROOMS " 1 12 " + std::to_string(load) + machine + at("12"));
    ASSERT_EQ(two.status + twelve.status, 0) << two.out << twelve.out;
    // The wire's bytes of one ping: 20 more of them went one hop.
    const double bytes =
        (report(at("12"))["by_hops"][1]["bytes"].get<double>() - report(at("2"))["by_hops"][1]["bytes"].get<double>()) /
        20;
    EXPECT_GE(bytes, load);
    EXPECT_LE(bytes, load + 200) << "envelope and arguments";
    EXPECT_NEAR(number_after(twelve.out, "one way took "), 300 + 1000 + 50 + (bytes - 1) + 300 + 1, 0.01);
  }
}

TEST_F(Sim, WorkTakesItsCost) {
  // The token stops once at each PE; within a node only the cost and `local` count.
  const Outcome sim = run(ROOMS " 1 0 +sim nodes=1,ppn=11,cost=7us,local=500ns");
  // Eleven messages between PEs, the last one home; a piece of work on each PE; the main chare's entry and its thread.
  const double ring_us = number_after(sim.out, "ring took ") * 1e6;
  EXPECT_NEAR(ring_us, 11 * 0.5 + 11 * 7 + 2 * 7, 0.01) << sim.out;
}

TEST_F(Sim, MeasuredTimeIsTheDefault) {
  const Outcome sim = run(ROOMS " 8 2 +sim nodes=4,scale=3");
  EXPECT_EQ(sim.status, 0);
  EXPECT_GT(number_after(sim.out, "computation "), 0) << sim.out;
  EXPECT_NE(sim.out.find("measured time x 3"), std::string::npos) << sim.out;
}

TEST_F(Sim, MistakesAreToldAtOnce) {
  for (const auto& [options, said] :
       std::vector<std::pair<std::string, std::string>>{{"+sim", "wants the machine behind it"},
                                                        {"+sim nods=4", "did you mean nodes="},
                                                        {"+sim nodes=4,topology=tors:4", "did you mean torus"},
                                                        {"+sim nodes=4 +p4", "+p, +ppn and +np are about a real run"},
                                                        {"+sim nodes=4 +sim nodes=5", "given twice"}}) {
    const Outcome outcome = run(ROOMS " " + options);
    EXPECT_NE(outcome.status, 0) << options;
    EXPECT_NE(outcome.out.find(said), std::string::npos) << options << "\n" << outcome.out;
  }
  const Outcome unwritten = run(ROOMS " 1 0 +sim nodes=2,json=" + at("no/such/folder"));
  EXPECT_NE(unwritten.out.find("could not be written"), std::string::npos) << unwritten.out;
}

}  // namespace
