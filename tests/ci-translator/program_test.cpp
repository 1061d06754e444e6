// From .ci and C++ to a program that runs: charmc translates, compiles and links against the runtime, charmrun starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ci-translator/charmc_fixture.h"

namespace periapt::charmc {
namespace {

using testing::HasSubstr;

class Program : public CharmcFixture {
 protected:
  void SetUp() override {
    write("hello.ci", R"(mainmodule hello {
  readonly CProxy_Main mainProxy;
  mainchare Main {
    entry Main(CkArgMsg*);
    entry [reductiontarget] void done(int sum);
  };
  array [1D] Hello {
    entry Hello(int scale);
    entry void work(int n, const double x[n]);
  };
};
)");
    write("hello.cpp", R"(#include "hello.decl.h"
CProxy_Main mainProxy;
struct Main : CBase_Main {
  Main(CkArgMsg* m) {
    const double x[] = {1, 2, 3};
    mainProxy = thisProxy;
    CProxy_Hello hello = CProxy_Hello::ckNew(m->argc, 10);
    hello.work(3, x);
    delete m;
  }
  void done(int sum) { CkPrintf("sum %d\n", sum); CkExit(); }
};
struct Hello : CBase_Hello {
  int scale;
  explicit Hello(int s) : scale(s) {}
  explicit Hello(CkMigrateMessage*) {}
  void work(int n, const double* x) {
    int mine = scale * (thisIndex * n + static_cast<int>(x[2]));
    contribute(sizeof mine, &mine, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, done), mainProxy));
  }
};
#include "hello.def.h"
)");
  }
};

TEST_F(Program, TraceModulesAreFoundInObjectsAndInLibraries) {
  write("loud.cpp", R"(#include "trace.h"
struct Loud_NAME : Trace {
  void traceClose() override { CkPrintf("closed by NAME\n"); }
};
void _createTraceNAME(char**) { CkpvAccess(_traces)->addTrace(new Loud_NAME); }
)");
  ASSERT_EQ(run("sed s/NAME/mine/g loud.cpp > mine.cpp; sed s/NAME/theirs/g loud.cpp > theirs.cpp").status, 0);
  for (const char* step : {"hello.ci", "-c hello.cpp", "-c mine.cpp", "-c theirs.cpp", "-o libtrace-theirs.a theirs.o",
                           "hello.o mine.o -o hello -tracemode mine -tracemode theirs"}) {
    const Outcome outcome = charmc(step);
    ASSERT_EQ(outcome.status, 0) << step << outcome.text;
    EXPECT_THAT(outcome.text, testing::Not(HasSubstr("warning")));
  }
  const Outcome outcome = run("./hello");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("closed by mine"));
  EXPECT_THAT(outcome.text, HasSubstr("closed by theirs"));
  EXPECT_THAT(charmc("hello.o -o hello -tracemode other").text, HasSubstr("no libtrace-other.a"));
}

TEST_F(Program, APackWithinATypeAndAnRvalueParameterAreTakenAsTheyStand) {
  write("packs.ci", R"(mainmodule packs {
  mainchare Main { entry Main(CkArgMsg*); };
  template <typename... Ts> group Bag {
    entry Bag();
    entry void put(std::tuple<Ts...> all);
    entry void take(std::vector<int>&& numbers);
  };
  group Bag<int, double>;
};
)");
  write("packs.cpp", R"(#include <tuple>
#include <vector>
#include "packs.decl.h"
#include "pup_stl.h"
template <typename... Ts> struct Bag : CBase_Bag<Ts...> {
  void put(std::tuple<Ts...> all) {
    CkPrintf("put %d %g\n", std::get<0>(all), std::get<1>(all));
    this->thisProxy[0].take(std::vector<int>{1, 2, 3});
  }
  void take(std::vector<int>&& numbers) {
    const std::vector<int> mine(std::move(numbers));
    CkPrintf("took %d of %d\n", static_cast<int>(mine.size()), static_cast<int>(mine.size() + numbers.size()));
    CkExit();
  }
};
struct Main : CBase_Main {
  Main(CkArgMsg* m) {
    delete m;
    CProxy_Bag<int, double> bag = CProxy_Bag<int, double>::ckNew();
    bag[0].put(std::make_tuple(3, 1.5));
  }
};
#define CK_TEMPLATES_ONLY
#include "packs.def.h"
#undef CK_TEMPLATES_ONLY
#include "packs.def.h"
)");
  ASSERT_EQ(charmc("packs.ci").status, 0);
  for (const char* step : {"-c packs.cpp", "packs.o -o packs"}) {
    const Outcome outcome = charmcQuickly(step);
    ASSERT_EQ(outcome.status, 0) << step << outcome.text;
  }
  const Outcome outcome = run("./packs +p2");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("put 3 1.5\ntook 3 of 3\n"));
}

TEST_F(Program, IsTranslatedCompiledLinkedAndRun) {
  Outcome outcome = charmc("hello.ci");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  outcome = charmc("-c hello.cpp");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  outcome = charmc("hello.o -o hello -language charm++ -module CommonLBs");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  outcome = run("./hello +p2");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.text, HasSubstr("sum 165\n"));
  outcome = run("./charmrun +p4 ./hello more ++ppn 2");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.text, HasSubstr("sum 330\n"));
}

/// A module in an archive of its own, which the command line alone names.
TEST_F(Program, IsLinkedStatically) {
  write("none.cpp", "int main() {}\n");
  const Outcome possible = run(PERIAPT_CXX " -static -o none none.cpp -lboost_context -lpthread");
  if (possible.status != 0) GTEST_SKIP() << "static libraries are missing here: " << possible.text;
  const Outcome built = charmc("hello.ci && " PERIAPT_CHARMC " -static -o hello hello.cpp");
  ASSERT_EQ(built.status, 0) << built.text;
  EXPECT_THAT(run("LC_ALL=C ldd hello").text, HasSubstr("not a dynamic executable"));
  for (const char* layout : {"+p2", "+p4 +ppn 2"})
    EXPECT_THAT(run(std::string("./hello ") + layout).text, HasSubstr("sum 165\n")) << layout;
}

TEST_F(Program, AModuleIsRegisteredByItsName) {
  write("extra.ci", "module extra { initnode announce; };\n");
  write("extra.cpp",
        "#include \"extra.decl.h\"\nvoid announce() { CkPrintf(\"extra is here\\n\"); }\n#include \"extra.def.h\"\n");
  ASSERT_EQ(charmc("extra.ci hello.ci").status, 0);
  Outcome outcome = charmcQuickly("-o libmoduleextra.a extra.cpp");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  outcome = charmcQuickly("hello.cpp -o hello -module extra -no-charmrun");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_FALSE(exists("charmrun"));
  EXPECT_THAT(run("./hello").text, HasSubstr("extra is here\n"));
}

/// The Python of PythonCCS, not the one that a Makefile of Charm++'s names.
TEST_F(Program, ASeedBalancerIsLinkedByItsName) {
  write("seeds.ci", "mainmodule seeds { mainchare Main { entry Main(CkArgMsg*); }; };\n");
  write("seeds.cpp", R"(#include "seeds.decl.h"
struct Main : CBase_Main {
  Main(CkArgMsg*) { CkPrintf("seeds: %s\n", CldGetStrategy()); CkExit(); }
};
#include "seeds.def.h"
)");
  ASSERT_EQ(charmc("seeds.ci").status, 0);
  Outcome outcome = charmcQuickly("seeds.cpp -o seeds -language charm++ -balance workstealing");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(run("./seeds +p2").text, HasSubstr("seeds: workstealing\n"));
  EXPECT_THAT(run("./seeds +p2 +seed-balancer none").text, HasSubstr("seeds: none\n"));
}

TEST_F(Program, ABalancerThatIsNowhereIsRefusedWhenItIsLinked) {
  ASSERT_EQ(charmc("hello.ci").status, 0);
  ASSERT_EQ(charmcQuickly("-c hello.cpp").status, 0);
  const Outcome outcome = charmc("hello.o -o hello -balancer GredyRefineLB:tolerance=1.1");
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.text, HasSubstr("error: -balancer GredyRefineLB:tolerance=1.1: there is no balancer called so"));
  EXPECT_THAT(outcome.text, HasSubstr("did you mean GreedyRefineLB?"));
  EXPECT_THAT(outcome.text, HasSubstr("libmoduleGredyRefineLB.a"));
  EXPECT_FALSE(exists("hello"));
  EXPECT_THAT(charmc("hello.o -o hello -balancer Nothing").text, HasSubstr("there are GreedyRefineLB, "));
  EXPECT_EQ(charmc("hello.o -o hello -balancer GreedyCommLB:tolerance=1.2,message_bytes=500").status, 0);
  EXPECT_THAT(run("./hello +p2").text, HasSubstr("sum "));
}

/// As +balancer does it: one a step, the last for all that follow.
TEST_F(Program, BalancersThatAreLinkedTakeTurns) {
  write("turns.ci", R"(mainmodule turns {
  mainchare Main { entry Main(CkArgMsg*); entry [reductiontarget] void done(); };
  array [1D] Piece { entry Piece(CProxy_Main); };
};
)");
  write("turns.cpp", R"(#include "turns.decl.h"
struct Main : CBase_Main {
  explicit Main(CkArgMsg* m) { delete m; CProxy_Piece::ckNew(thisProxy, 8); }
  void done() { CkExit(); }
};
struct Piece : CBase_Piece {
  CProxy_Main main;
  int steps = 0;
  explicit Piece(CProxy_Main main) : main(main) { usesAtSync = true; AtSync(); }
  explicit Piece(CkMigrateMessage*) {}
  void pup(PUP::er& p) override { p | main; p | steps; }
  void ResumeFromSync() override {
    if (++steps < 3) AtSync(); else contribute(CkCallback(CkReductionTarget(Main, done), main));
  }
};
#include "turns.def.h"
)");
  ASSERT_EQ(charmc("turns.ci").status, 0);
  ASSERT_EQ(charmcQuickly("turns.cpp -o turns -balancer RotateLB -balancer GreedyLB").status, 0);
  const std::string text = run("./turns +p2 +LBDebug 1").text;
  EXPECT_THAT(text, HasSubstr("LB step 1, RotateLB:"));
  EXPECT_THAT(text, HasSubstr("LB step 2, GreedyLB:"));
  EXPECT_THAT(text, HasSubstr("LB step 3, GreedyLB:"));
  EXPECT_THAT(run("./turns +p2 +LBDebug 1 +balancer DummyLB").text, testing::Not(HasSubstr("GreedyLB:")));
}

/// In the folder that -L names, in an object, in a library beside it, in a module of another name; and under a name
/// that is put together only when the program starts.
TEST_F(Program, ABalancerOfTheProgramIsFoundWhereverItIsRegistered) {
  write("MineLB.ci", R"(module MineLB {
  extern module CentralLB;
  initnode void lbinit();
  group [migratable] MineLB : CentralLB { entry void MineLB(const CkLBOptions&); };
};
)");
  write("MineLB.cpp", R"(#include "CentralLB.h"
#include "MineLB.decl.h"
struct MineLB : CBase_MineLB {
  explicit MineLB(const CkLBOptions& options) : CBase_MineLB(options) { lbname = "it"; }
  explicit MineLB(CkMigrateMessage* m) : CBase_MineLB(m) {}
  void work(LDStats*) override {}
};
static void lbinit() { LBRegisterBalancer<MineLB>(NAME); }
#include "MineLB.def.h"
)");
  ASSERT_EQ(charmc("hello.ci MineLB.ci").status, 0);
  ASSERT_EQ(charmcQuickly("-c hello.cpp").status, 0);
  ASSERT_EQ(charmc("-O2 -c MineLB.cpp -o MineLB.o '-DNAME=\"MineLB\", \"does nothing\"'").status, 0);
  ASSERT_EQ(charmc("-O2 -c MineLB.cpp -o late.o '-DNAME=std::string(\"Mine\") + \"LB\"'").status, 0);
  write("uses.ci", "module uses { extern module MineLB; };\n");
  write("uses.cpp", "#include \"MineLB.decl.h\"\n#include \"uses.decl.h\"\n#include \"uses.def.h\"\n");
  ASSERT_EQ(charmc("uses.ci").status, 0);
  ASSERT_EQ(charmcQuickly("-c uses.cpp").status, 0);
  ASSERT_EQ(
      run("mkdir there && ar crs there/libmoduleMineLB.a MineLB.o && mkdir lib && ar crs lib/libown.a MineLB.o && "
          "ar crs lib/libmoduleuses.a uses.o && ar crs lib/libmoduleboth.a uses.o MineLB.o && "
          "echo 'void _registeruses(); void _registerboth() { _registeruses(); }' > both.cpp && " PERIAPT_CXX
          " -c both.cpp && ar rs lib/libmoduleboth.a both.o")
          .status,
      0);
  const std::string uses = "-Llib -module uses -balancer MineLB ";
  for (const std::string& linked :
       {std::string("-Lthere -balancer MineLB"), std::string("-Llib -module both -balancer MineLB"), uses + "MineLB.o",
        uses + "-lown", uses + "-Wl,lib/libown.a", uses + "late.o"}) {
    const Outcome outcome = charmc("hello.o -o hello " + linked);
    ASSERT_EQ(outcome.status, 0) << linked << "\n" << outcome.text;
    const Outcome ran = run("./hello +p2");
    EXPECT_THAT(ran.text, HasSubstr("sum ")) << linked;
    EXPECT_EQ(ran.status, 0) << linked;
  }
  EXPECT_THAT(charmc("hello.o -o hello -Lthere -balancer Mine").text, HasSubstr("there is no balancer called so"));
}

TEST_F(Program, ThePythonOfAMakefileIsLeftOut) {
  write("PythonCCS.ci", "module PythonCCS { initnode announce; };\n");
  write("own.cpp", "#include \"PythonCCS.decl.h\"\nvoid announce() {}\n#include \"PythonCCS.def.h\"\n");
  ASSERT_EQ(charmc("PythonCCS.ci hello.ci").status, 0);
  Outcome outcome = charmcQuickly("-o libmodulePythonCCS.a own.cpp");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  outcome = charmcQuickly("hello.cpp -o hello -module PythonCCS -lpython0.1 -lm");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("-lpython0.1 is left out"));
  EXPECT_NE(charmcQuickly("hello.cpp -o hello -lpython0.1").status, 0);
}

/// Routines in C that call the runtime, in a library that the link line names first.
TEST_F(Program, ChecksAreMadeUnlessProductionIsAskedFor) {
  write("checked.ci", "mainmodule checked { mainchare Main { entry Main(CkArgMsg*); }; };\n");
  write("checked.cpp",
        "#include \"checked.decl.h\"\nextern \"C\" void check(int);\n"
        "struct Main : CBase_Main { Main(CkArgMsg* m) { check(m->argc); delete m; CkExit(); } };\n"
        "#include \"checked.def.h\"\n");
  write("check.c", "#include <charm.h>\nvoid check(int n) { CkAssert(n == 2); CkPrintf(\"went on\\n\"); }\n");
  ASSERT_EQ(charmc("checked.ci").status, 0);
  ASSERT_EQ(charmcQuickly("-c checked.cpp").status, 0);
  struct Way {
    const char* flags;
    bool checked;
  };
  for (const Way way : {Way{"", true},
                        {"-optimize", true},
                        {"-production", false},
                        {"-DNDEBUG", false},
                        {"-DNDEBUG -DCMK_ERROR_CHECKING=1", true}}) {
    ASSERT_EQ(charmc(std::string(way.flags) + " -o libcheck.a check.c").status, 0);
    Outcome outcome = charmc("-L. -lcheck checked.o -o checked -no-charmrun");
    ASSERT_EQ(outcome.status, 0) << outcome.text;
    outcome = run("./checked");
    EXPECT_EQ(outcome.status, way.checked ? 1 : 0) << way.flags;
    EXPECT_THAT(outcome.text, HasSubstr(way.checked ? "n == 2" : "went on")) << way.flags;
    EXPECT_EQ(run("./checked more").status, 0) << way.flags;
  }
}

TEST_F(Program, IsBuiltByCMakeWithCharmcAsTheCompiler) {
  write("CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.20)\nproject(p CXX)\nadd_executable(hello hello.cpp)\n"
        "target_include_directories(hello PRIVATE ${CMAKE_SOURCE_DIR})\n");
  ASSERT_EQ(charmc("hello.ci").status, 0);
  const Outcome outcome = run(std::string("cmake -S . -B build -DCMAKE_CXX_COMPILER=") + PERIAPT_CHARMC +
                              " && cmake --build build && build/hello +p1");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("sum 165\n"));
}

}  // namespace
}  // namespace periapt::charmc
