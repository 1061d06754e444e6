// The program nbody against nbody_serial: on every layout of PEs and processes the same snapshots but for rounding,
// also while pieces move about between the phases of a step. Both are run as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "examples/nbody/tipsy.h"

namespace periapt::nbody {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

struct Outcome {
  int status;
  std::string output;
};

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class NbodyProgram : public testing::Test {
 protected:
  NbodyProgram() { fs::create_directories(folder_); }
  ~NbodyProgram() override { fs::remove_all(folder_); }

  Outcome run(const std::string& program, const std::string& arguments) {
    const std::string log = at("log");
    const int status = std::system((program + " " + arguments + " >" + log + " 2>&1").c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(log)};
  }
  std::string at(const std::string& name) const { return folder_ / name; }

  /// Runs both; their snapshots of one step, with everything that moves, must agree.
  /// `of_sums`: more that potentials may differ by. They are summed in single precision, in the order in which parts of
  /// the tree arrive.
  void compare(const std::string& layout, const std::string& start, int step, double tolerance = 1e-5,
               double of_sums = 1) {
    const std::string snapshot =
        " --steps " + std::to_string(step) + " --snapshots " + std::to_string(std::max(1, step));
    const std::string suffix = ".00000" + std::to_string(step) + ".tipsy";
    static std::map<std::string, Snapshot> serial;  // the same for all layouts
    if (serial.count(start + snapshot) == 0) {
      const Outcome one = run(NBODY_SERIAL, start + snapshot + " --out " + at("serial"));
      ASSERT_EQ(one.status, 0) << one.output;
      serial[start + snapshot] = readTipsy(at("serial") + suffix);
    }
    const Outcome many = run(NBODY, layout + " " + start + snapshot + " --out " + at("chares"));
    ASSERT_EQ(many.status, 0) << many.output;
    const Snapshot &expected = serial[start + snapshot], found = readTipsy(at("chares") + suffix);
    ASSERT_EQ(found.particles.size(), expected.particles.size());
    EXPECT_NEAR(found.time, expected.time, 1e-12);
    double depth = 0;
    for (const Particle& p : expected.particles) depth = std::max(depth, std::abs(p.potential));
    for (std::size_t i = 0; i < expected.particles.size(); ++i) {
      const Particle &p = expected.particles[i], &q = found.particles[i];
      ASSERT_LT(norm(p.position - q.position), tolerance) << "particle " << i << "\n" << many.output;
      ASSERT_LT(norm(p.velocity - q.velocity), tolerance) << "particle " << i << "\n" << many.output;
      ASSERT_NEAR(q.potential, p.potential, of_sums * tolerance * depth) << "particle " << i << "\n" << many.output;
    }
  }

 private:
  const fs::path folder_ = fs::temp_directory_path() / ("nbody_program_test." + std::to_string(getpid()));
};

const std::string collision = "--ic collision -n 1200 --dt 0.4";
const std::string universe = "--ic zeldovich -n 729";
// Most of a periodic universe's potential cancels: equal runs differ by up to 1.2e-5 of the deepest one.
constexpr double cancelling = 3;

class NbodyOn : public NbodyProgram, public testing::WithParamInterface<const char*> {};

TEST_P(NbodyOn, AGalaxyIsThatOfTheSerialProgram) { compare(GetParam(), collision, 2); }
TEST_P(NbodyOn, APeriodicUniverseIsThatOfTheSerialProgram) { compare(GetParam(), universe, 2, 1e-5, cancelling); }
TEST_P(NbodyOn, PiecesMayMoveBetweenPhasesOfAStep) {
  compare(GetParam(), universe + " --shuffle-seed 3", 1, 1e-5, cancelling);
}
TEST_P(NbodyOn, PiecesMayBeBalancedBetweenSteps) {
  compare(std::string(GetParam()) + " +balancer GreedyRefineLB", "--ic collision -n 1200 --balance-every 1", 3);
}
TEST_P(NbodyOn, PiecesSayWhereTheyAreForStrategiesThatKeepNeighboursTogether) {
  for (const char* balancer : {"OrbLB", "SfcLB"}) {
    const Outcome balanced =
        run(NBODY, std::string(GetParam()) + " -n 1200 --steps 2 --balance-every 1 +balancer " + balancer);
    EXPECT_EQ(balanced.status, 0) << balanced.output;
    EXPECT_THAT(balanced.output, Not(HasSubstr("warning"))) << balancer;
  }
}
TEST_P(NbodyOn, MorePiecesThanParticlesAreNoTrouble) { compare(GetParam(), "-n 10 --pieces 30", 1); }

TEST_P(NbodyOn, ATruncatedFileEndsTheRunWithOneMessage) {
  std::ofstream(at("short.tipsy"), std::ios::binary)
      << std::string(8, 0) << std::string("\0\0\0\5\0\0\0\3", 8) << std::string("\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\0", 16)
      << std::string(100, 0);
  const Outcome outcome = run(NBODY, std::string(GetParam()) + " --tipsy " + at("short.tipsy"));
  EXPECT_GT(outcome.status, 0) << outcome.output;
  const std::string message = "nbody: " + at("short.tipsy") + ": truncated: 0 gas, 5 dark and 0 star particles take";
  const std::size_t place = outcome.output.find(message);
  ASSERT_NE(place, std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find(message, place + 1), std::string::npos) << outcome.output;
}

TEST_P(NbodyOn, AFolderThatIsNotThereEndsTheRunWithAMessage) {
  const Outcome outcome = run(NBODY, std::string(GetParam()) + " -n 50 --snapshots 1 --out " + at("none/here"));
  EXPECT_GT(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("none/here.000000.tipsy: cannot be written: No such file"));
}

INSTANTIATE_TEST_SUITE_P(Layouts, NbodyOn,
                         testing::Values("+p1", "+p5 --gpu-on-host", "+p2", "+p4 +ppn 2", "+p3 +ppn 1 --pieces 200",
                                         "+p7", "+sim nodes=16",
                                         "+sim nodes=8,ppn=4,topology=torus:4x2,cost=1us,loss=0.05,reorder=0.1"),
                         [](const auto& layout) { return "Layout" + std::to_string(layout.index); });

TEST_F(NbodyProgram, PicturesShowWhatThoseOfTheSerialProgramShow) {
  const std::string start = collision + " --steps 1 --frames 1 --pixels 64 --out ";
  ASSERT_EQ(run(NBODY_SERIAL, start + at("serial")).status, 0);
  ASSERT_EQ(run(NBODY, "+p4 +ppn 2 " + start + at("chares") + " --domains").status, 0);
  EXPECT_THAT(contents(at("chares") + ".000001.domains.png").substr(0, 8), "\x89PNG\r\n\x1a\n");
  const Outcome refused = run(NBODY_SERIAL, start + at("serial") + " --domains");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.output, HasSubstr("--domains are nbody's"));
  for (const char* suffix : {".000000.png", ".000001.png"}) {
    const std::string expected = contents(at("serial") + suffix), found = contents(at("chares") + suffix);
    EXPECT_THAT(found.substr(0, 8), "\x89PNG\r\n\x1a\n");
    EXPECT_NEAR(double(found.size()), double(expected.size()), 0.02 * expected.size());
  }
}

// Many PEs a process, and pieces that have been moved: what is above a piece is fetched, too.
TEST_F(NbodyProgram, NoWalkEndsBeforeAllThatItAskedForIsThere) {
  const Outcome outcome =
      run(NBODY,
          "-n 20000 --pieces 512 --dt 0.025 --steps 3 --balance-every 1 --no-sharing +balancer OrbLB "
          "+sim nodes=4,ppn=16");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

// Tests of walks on the fullest PE of each evaluation, summed over a step: of the first step, and after balancing.
TEST_F(NbodyProgram, EachRungIsBalancedAndNotTheirSum) {
  const Outcome outcome = run(NBODY,
                              "-n 20000 --pieces 256 --dt 0.05 --steps 2 --no-sharing --evaluations --json "
                              "+balancer PhasesLB +sim nodes=4,ppn=4");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  std::vector<double> times;  // of the average: before the steps, and in each
  double makespan = 0, average = 0;
  for (std::size_t at = 0; (at = outcome.output.find("{\"makespan_tests\"", at)) != std::string::npos; ++at) {
    ASSERT_EQ(std::sscanf(outcome.output.c_str() + at, "{\"makespan_tests\": %lf, \"average_tests\": %lf}", &makespan,
                          &average),
              2);
    times.push_back(makespan / average);
  }
  ASSERT_EQ(times.size(), 3u) << outcome.output;
  EXPECT_GT(times[1], 1.4) << outcome.output;
  EXPECT_LT(times[2], 1.25) << outcome.output;
  EXPECT_THAT(outcome.output, testing::ContainsRegex("\"walk_s\": [0-9.e-]+}"));
}

TEST_F(NbodyProgram, HelpIsNoError) {
  const Outcome outcome = run(NBODY, "+p2 --help");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output, HasSubstr("--balance-every"));
}

TEST_F(NbodyProgram, WalksByGpusAreThoseOfProcessorsButForRounding) {
  const Outcome outcome = run(NBODY, "+p3 --gpu-on-host --time-forces 2 --steps 0 -n 3000 --bucket 5");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output, HasSubstr("all forces by what GPUs would do, by the processor: "));
  double median = 1, all = 1;
  const std::size_t at = outcome.output.find("accelerations are apart by ");
  ASSERT_NE(at, std::string::npos) << outcome.output;
  ASSERT_EQ(std::sscanf(outcome.output.c_str() + at,
                        "accelerations are apart by %lf of themselves, median; 99 %% within %*f, all within %lf",
                        &median, &all),
            2);
  EXPECT_LT(median, 1e-6);
  EXPECT_LT(all, 1e-4);
}

TEST_F(NbodyProgram, WithoutAGpuItSaysWhyAndProcessorsWalk) {
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  setenv("HIP_VISIBLE_DEVICES", "", 1);
  const Outcome outcome = run(NBODY, "+p2 --gpu --steps 1 -n 300");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output, HasSubstr("nbody: no GPU is used: "));
  const Outcome several = run(NBODY, "+p2 +ppn 1 --gpu --steps 1 -n 300");
  EXPECT_EQ(several.status, 0);
  EXPECT_THAT(several.output, HasSubstr("no GPU is used: a walk on GPUs needs all trees in one process"));
}

TEST_F(NbodyProgram, AnOptionThatIsNotThereIsAnError) {
  const Outcome outcome = run(NBODY, "+p2 --thera 0.5");
  EXPECT_GT(outcome.status, 0);
  EXPECT_THAT(outcome.output, HasSubstr("--thera"));
}

TEST_F(NbodyProgram, Cube300HasThePotentialsOfTheSerialProgram) {
  const char* given = std::getenv("PERIAPT_SHARED");
  const std::string file = std::string(given ? given : PERIAPT_SOURCE_DIR "/../shared") + "/data/cube300.tbin";
  if (!fs::exists(file)) GTEST_SKIP() << file << " is not there";
  compare("+p2", "--comoving --tipsy " + file, 0, 1e-4);
}

}  // namespace
}  // namespace periapt::nbody
