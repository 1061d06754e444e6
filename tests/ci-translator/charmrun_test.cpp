// charmrun's command line: options on either side of the program, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/charmrun/command_line.h"

namespace periapt::charmrun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> argvOf(const std::vector<std::string>& arguments) {
  const charmrun::Run run = parseCommandLine(arguments);
  EXPECT_EQ(run.error, "");
  return run.argv;
}
std::string errorOf(const std::vector<std::string>& arguments) { return parseCommandLine(arguments).error; }

TEST(Charmrun, OptionsStandOnEitherSide) {
  const auto expected = ElementsAre("./pgm", "+p4", "+ppn", "2", "10");
  EXPECT_THAT(argvOf({"+p4", "++ppn", "2", "./pgm", "10"}), expected);
  EXPECT_THAT(argvOf({"./pgm", "+p4", "++ppn", "2", "10"}), expected);
  EXPECT_THAT(argvOf({"./pgm", "10", "+ppn", "2", "+p", "4"}), expected);
  EXPECT_THAT(argvOf({"++p", "4", "pgm", "10", "+ppn2"}), expected);
  EXPECT_THAT(argvOf({"+pe", "4", "++ppn2", "pgm", "10"}), expected);
}

TEST(Charmrun, ProcessesGiveWhatIsMissing) {
  EXPECT_THAT(argvOf({"++n", "2", "./pgm"}), ElementsAre("./pgm", "+p2", "+ppn", "1"));
  EXPECT_THAT(argvOf({"++np", "2", "+p6", "./pgm"}), ElementsAre("./pgm", "+p6", "+ppn", "3"));
  EXPECT_THAT(argvOf({"++n", "2", "++ppn", "3", "./pgm"}), ElementsAre("./pgm", "+p6", "+ppn", "3"));
  EXPECT_THAT(errorOf({"++n", "2", "++ppn", "3", "+p4", "./pgm"}), HasSubstr("is 6 PEs, but +p says 4"));
  EXPECT_THAT(errorOf({"++n", "4", "+p6", "./pgm"}), HasSubstr("cannot be shared evenly"));
}

TEST(Charmrun, TheRuntimesOptionsAreHandedOn) {
  EXPECT_THAT(argvOf({"./pgm", "+p2", "+balancer", "GreedyLB", "+LBDebug", "1", "x"}),
              ElementsAre("./pgm", "+p2", "+balancer", "GreedyLB", "+LBDebug", "1", "x"));
  EXPECT_THAT(argvOf({"+LBDebug", "1", "./pgm"}), ElementsAre("./pgm", "+LBDebug", "1"));
}

TEST(Charmrun, ProgramArgumentsAreKept) {
  EXPECT_THAT(argvOf({"./pgm", "-v", "--long", "", "a b"}), ElementsAre("./pgm", "-v", "--long", "", "a b"));
  EXPECT_THAT(argvOf({"./pgm", "--", "++p", "+p4"}), ElementsAre("./pgm", "++p", "+p4"));
}

TEST(Charmrun, WhatMeansNothingHereIsARemark) {
  const auto run = parseCommandLine({"./pgm", "++remote-shell", "ssh", "++timeout", "60", "++useip", "x"});
  EXPECT_EQ(run.error, "");
  EXPECT_THAT(run.argv, ElementsAre("./pgm"));
  EXPECT_EQ(run.remarks.size(), 3u);
  EXPECT_FALSE(parseCommandLine({"++local", "++nodelist", "hosts", "./pgm"}).hosts.wanted);
}

TEST(Charmrun, AFlagCanBeTakenBack) {
  const auto run =
      parseCommandLine({"++verbose", "++no-verbose", "++quiet", "++no-quiet", "++slurm", "++no-slurm", "++mpiexec",
                        "++no-mpiexec", "++hierarchical-start", "++no-hierarchical-start", "./pgm"});
  EXPECT_EQ(run.error, "");
  EXPECT_FALSE(run.verbose || run.quiet || run.hosts.wanted || run.hosts.slurm || run.mpiexec || run.hosts.tree);
  EXPECT_TRUE(parseCommandLine({"++local", "++no-local", "++nodelist", "hosts", "./pgm"}).hosts.wanted);
  EXPECT_THAT(argvOf({"++server", "++no-server", "++oneWthPerHost", "++no-oneWthPerHost", "./pgm"}),
              ElementsAre("./pgm"));
  EXPECT_EQ(parseCommandLine({"++no-scalable-start", "++no-debug", "./pgm"}).remarks.size(), 2u);
  EXPECT_EQ(parseCommandLine({"++va-randomization", "++no-va-randomization", "++no-xrdb", "./pgm"}).remarks.size(), 3u);
  EXPECT_THAT(errorOf({"++no-nodelist", "./pgm"}), HasSubstr("unknown option ++no-nodelist"));
}

TEST(Charmrun, HowManyPesAHostHasIsTheProgramsToSay) {
  EXPECT_THAT(argvOf({"++auto-provision", "./pgm"}), ElementsAre("./pgm", "+auto-provision"));
  EXPECT_THAT(argvOf({"./pgm", "++oneWthPerHost", "x"}), ElementsAre("./pgm", "+oneWthPerHost", "x"));
  const auto run = parseCommandLine({"++nodelist", "hosts", "++oneWthPerPU", "./pgm"});
  EXPECT_THAT(run.notes, ElementsAre(HasSubstr("++oneWthPerPU has no effect with ++nodelist")));
  for (const char* option : {"++in-xterm", "++ssh-display"})
    EXPECT_THAT(parseCommandLine({option, "./pgm"}).notes, ElementsAre(HasSubstr("no windows are opened")));
}

TEST(Charmrun, RefusalsSayWhy) {
  EXPECT_THAT(errorOf({"++nodelist", "hosts", "++mpiexec", "./pgm"}), HasSubstr("exclude each other"));
  EXPECT_THAT(errorOf({"++debug", "./pgm"}), HasSubstr("not supported yet"));
  EXPECT_THAT(errorOf({"++qiet", "./pgm"}), HasSubstr("did you mean ++quiet?"));
  EXPECT_THAT(errorOf({"+p4"}), HasSubstr("no program is named"));
  EXPECT_THAT(errorOf({}), HasSubstr("no program is named"));
  EXPECT_THAT(errorOf({"./pgm", "++p"}), HasSubstr("needs a value"));
  EXPECT_THAT(errorOf({"./pgm", "++p", "many"}), HasSubstr("needs a number"));
  EXPECT_THAT(errorOf({"./pgm", "+p0"}), HasSubstr("greater than 0"));
  EXPECT_THAT(errorOf({"+p4", "./pgm", "++p", "8"}), HasSubstr("given twice"));
}

TEST(Charmrun, ANodelistLeavesTheLayoutToThePlan) {
  const auto run = parseCommandLine({"++nodelist", "hosts", "+p8", "./pgm", "++ppn", "2", "x", "++remote-shell", "rsh",
                                     "++batch", "3", "++scalable-start"});
  EXPECT_EQ(run.error, "");
  EXPECT_TRUE(run.hosts.wanted);
  EXPECT_THAT(run.argv, ElementsAre("./pgm", "x"));
  EXPECT_EQ(
      run.pes + " " + run.pes_a_process + " " + run.hosts.nodelist + " " + run.hosts.shell + " " + run.hosts.at_once,
      "8 2 hosts rsh 3");
}

TEST(Charmrun, HelpNeedsNoProgram) {
  EXPECT_TRUE(parseCommandLine({"++help"}).help);
  EXPECT_TRUE(parseCommandLine({"--help"}).help);
  EXPECT_FALSE(parseCommandLine({"./pgm", "--help"}).help);
  EXPECT_THAT(helpText(), HasSubstr("+p N"));
}

}  // namespace
}  // namespace periapt::charmrun
