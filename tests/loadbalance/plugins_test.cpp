// Plug-ins that go wrong in every way: a sentence, all stays where it is, and the next step is answered. FOLDER holds
// the plug-ins, HOST is a program that can be the process of a library, PYTHON one that has NumPy or nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "runtime/loadbalance/model.h"
#include "runtime/loadbalance/plugin/plugin.h"
#include "tests/loadbalance/random_databases.h"

using namespace periapt::loadbalance;
using testing::ContainsRegex;
using testing::HasSubstr;

namespace {

class Plugins : public testing::Test {
 protected:
  static void SetUpTestSuite() { host_program = HOST; }
  const LoadDatabase database = random_database(5, kinds[8]);

  static Strategy open(const std::string& text) {
    periapt::Complaint complaint;
    const auto strategy = read_strategy(text, &complaint);
    if (!strategy) throw std::runtime_error(complaint.what);
    return *strategy;
  }
  static std::string complaint_of(const std::string& text) {
    periapt::Complaint complaint;
    return read_strategy(text, &complaint) ? "" : complaint.what;
  }
  // What is said of the answer; all must have stayed.
  std::string wrong(const Strategy& strategy) const {
    Assignment assignment;
    std::string said = strategy.answer(database, &assignment);
    EXPECT_EQ(assignment, present(database));
    return said;
  }
};

class PythonPlugins : public Plugins {
 protected:
  void SetUp() override {
    if (std::string(PYTHON).empty()) GTEST_SKIP() << "no python3 with NumPy: apt-get install python3-numpy";
    ::setenv("PERIAPT_PYTHON", PYTHON, 1);
  }
  static std::string file(const std::string& name, const std::string& text) {
    std::ofstream(name) << text;
    return "./" + name;
  }
};

// A library that does what the step's number says; see plugins_bad.cpp.
TEST_F(Plugins, ALibraryThatCrashesThrowsHangsOrAnswersNonsenseCostsAStep) {
  const Strategy bad = open(FOLDER "/libplugins_bad.so:limit=4");
  LoadDatabase step = database;
  Assignment assignment;
  const std::vector<std::pair<unsigned, std::string>> steps = {{0, ""},
                                                               {1, "plugins_bad.so has been ended by signal 11"},
                                                               {0, ""},
                                                               {2, "plugins_bad.so has thrown an exception: no idea"},
                                                               {3, "object 0 is put on PE 1000000 of"},
                                                               {4, "plugins_bad.so has not answered within 4 s"},
                                                               {5, "plugins_bad.so has ended with exit status 3"},
                                                               {6, "plugins_bad.so has thrown something"},
                                                               {0, ""}};
  for (const auto& [number, said] : steps) {
    step.step = number;
    EXPECT_THAT(bad.answer(step, &assignment), said.empty() ? HasSubstr("") : HasSubstr(said));
    EXPECT_EQ(assignment, present(step));
  }
}

TEST_F(Plugins, ALibraryForAnotherInterfaceOrWithoutABalancerIsRefused) {
  EXPECT_THAT(complaint_of(FOLDER "/libplugins_old.so"), HasSubstr("was made for interface 99 of balancers"));
  EXPECT_THAT(complaint_of(FOLDER "/libplugins_none.so"), HasSubstr("a library without a balancer"));
  EXPECT_THAT(complaint_of("./nowhere.so"), HasSubstr("cannot be opened"));
}

TEST_F(PythonPlugins, AFunctionThatRaisesOrAnswersNonsenseCostsAStep) {
  const auto said = [&](const char* name, const char* body) {
    return wrong(open(file(name, std::string("def balance(p):\n    ") + body + "\n") + ":limit=4"));
  };
  EXPECT_THAT(said("raises.py", "return 1 / 0"), ContainsRegex("raises.py has raised ZeroDivisionError: .*line 2"));
  EXPECT_THAT(said("short.py", "return p.pe[1:]"), HasSubstr("has returned an array of shape"));
  EXPECT_THAT(said("real.py", "return p.load"), HasSubstr("has returned float64 for PEs"));
  EXPECT_THAT(said("nothing.py", "return None"), HasSubstr("has returned an array of shape ()"));
  EXPECT_THAT(said("far.py", "return p.pe + 2**20"), HasSubstr("is put on PE 10485"));
  EXPECT_THAT(said("exits.py", "import os; os._exit(5)"), HasSubstr("has ended with exit status 5"));
  EXPECT_THAT(said("crashes.py", "import os; os.abort()"), HasSubstr("has been ended by signal 6"));
  EXPECT_THAT(said("hangs.py", "import time; time.sleep(1e6)"), HasSubstr("has not answered within 4 s"));
  EXPECT_THAT(said("closes.py", "import os; os.write(3, b'x' * 64)"), HasSubstr("has written to the socket"));
}

TEST_F(PythonPlugins, AFileThatCannotBeLoadedIsRefused) {
  EXPECT_THAT(complaint_of("./nowhere.py"), HasSubstr("nowhere.py cannot be read: No such file"));
  EXPECT_THAT(complaint_of(file("wrong.py", "def balance(:\n")),
              HasSubstr("cannot be loaded: it has raised SyntaxError"));
  EXPECT_THAT(complaint_of(file("other.py", "x = 1\n")), HasSubstr("has no function balance(problem)"));
}

TEST_F(PythonPlugins, MessagesAndPositionsArriveAsTheyAre) {
  const Strategy strategy = open(file("sees.py", R"(messages = True
def balance(p):
    assert p.pairs == len(p.pair_from) == len(p.pair_bytes) > 0
    assert p.position.shape == (p.objects, 3)
    assert p.objects == len(p.element) and p.pes == len(p.pe_speed)
    assert (p.pair_to < p.objects).all() and p.step == 5
    return p.pe
)"));
  EXPECT_TRUE(strategy.info->communication);
  Assignment assignment;
  EXPECT_EQ(strategy.answer(database, &assignment), "");
}

TEST(PluginsWithoutNumPy, APythonThatHasNoneIsSaid) {
  std::ofstream("any.py") << "def balance(p):\n    return p.pe\n";
  // As on a machine without it: nothing but the standard library is found.
  std::ofstream("bare_python") << "#!/bin/sh\nexec python3 -S -I \"$@\"\n";
  ASSERT_EQ(std::system("chmod +x bare_python"), 0);
  ::setenv("PERIAPT_PYTHON", "./bare_python", 1);
  periapt::Complaint complaint;
  EXPECT_FALSE(read_strategy("./any.py", &complaint));
  EXPECT_THAT(complaint.what,
              HasSubstr("needs NumPy, which this python3 does not have: apt-get install python3-numpy"));
  ::setenv("PERIAPT_PYTHON", "./no_such_python", 1);
  EXPECT_FALSE(read_strategy("./any.py", &complaint));
  EXPECT_THAT(complaint.what, HasSubstr("./no_such_python cannot: No such file"));
}

}  // namespace
