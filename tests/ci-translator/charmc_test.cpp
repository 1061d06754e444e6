// charmc: its command line understood, and what it does with .ci files and sources.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ci-translator/charmc_fixture.h"
#include "tools/charmc/balancers.h"
#include "tools/charmc/steps.h"

namespace periapt::charmc {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> linkTexts(const Options& options) {
  std::vector<std::string> out;
  for (const LinkItem& item : options.link) out.push_back(item.text);
  return out;
}

TEST(Options, OwnFlagsAreTakenOutAndOthersKept) {
  const Options o =
      parseOptions({"-language", "charm++", "-o", "pgm", "a.o", "-module", "CkIO,CkCache", "-lm", "b.cpp", "-g",
                    "-Wall", "-balancer", "GreedyLB", "-tracemode", "projections", "-memory", "paranoid"});
  EXPECT_EQ(o.error, "");
  EXPECT_EQ(o.language, "charm++");
  EXPECT_EQ(o.output, "pgm");
  EXPECT_THAT(linkTexts(o), ElementsAre("a.o", "-lm", "b.cpp"));
  EXPECT_THAT(o.modules, ElementsAre("CkIO", "CkCache"));
  EXPECT_THAT(o.balancers, ElementsAre("GreedyLB"));
  EXPECT_THAT(o.traceModes, ElementsAre("projections"));
  EXPECT_THAT(o.compile, ElementsAre("-g", "-Wall"));
}

TEST(Options, FlagsWithValuesKeepThem) {
  const Options o =
      parseOptions({"-I", "a",   "-Ib", "-D",  "X=1", "-include", "c.h",  "-L",       "d",  "-l",      "m",
                    "-x", "c++", "-MF", "e.d", "-MT", "t",        "-MMD", "-Xlinker", "-y", "main.cpp"});
  EXPECT_THAT(o.preprocess, ElementsAre("-I", "a", "-Ib", "-D", "X=1", "-include", "c.h"));
  EXPECT_THAT(linkTexts(o), ElementsAre("-Ld", "-lm", "-Xlinker", "-y", "main.cpp"));
  EXPECT_THAT(o.compile, ElementsAre("-x", "c++"));
  EXPECT_THAT(o.depend, ElementsAre("-MF", "e.d", "-MT", "t", "-MMD"));
  EXPECT_EQ(o.dependFile, "e.d");
}

TEST(Options, EmptyArgumentsAndCMakesPlaceholderAreTolerated) {
  const Options o = parseOptions({"", "@CMAKE_CXX_COMPILER@", "-c", "", "a.C"});
  EXPECT_EQ(o.error, "");
  EXPECT_TRUE(o.compileOnly);
  EXPECT_THAT(o.sources, ElementsAre("a.C"));
}

TEST(Options, AFlagWithoutItsValueIsAnError) {
  EXPECT_THAT(parseOptions({"a.o", "-o"}).error, HasSubstr("-o needs a value"));
}

TEST(Options, StandardsBelowCxx14AreRaised) {
  EXPECT_EQ(raisedStandard("-std=c++11"), "-std=c++14");
  EXPECT_EQ(raisedStandard("-std=gnu++98"), "-std=gnu++14");
  EXPECT_EQ(raisedStandard("-std=gnu++14"), "-std=gnu++14");
  EXPECT_EQ(raisedStandard("-std=c++17"), "-std=c++17");
  EXPECT_EQ(raisedStandard("-std=c++20"), "-std=c++20");
  EXPECT_EQ(raisedStandard("-std=c11"), "-std=c11");
}

TEST(Options, OptimisationIsTheUsers) {
  EXPECT_THAT(parseOptions({"-optimize", "a.C"}).compile, ElementsAre("-O3"));
  EXPECT_THAT(parseOptions({"-O1", "a.C"}).compile, ElementsAre("-O1"));
  EXPECT_THAT(parseOptions({"a.C"}).compile, IsEmpty());
}

TEST(Options, ProductionLeavesTheChecksOut) {
  EXPECT_THAT(parseOptions({"-production", "a.C"}).compile, ElementsAre("-O3"));
  EXPECT_THAT(parseOptions({"-production", "a.C"}).preprocess, ElementsAre("-DCMK_ERROR_CHECKING=0"));
  EXPECT_THAT(parseOptions({"-optimize", "a.C"}).preprocess, IsEmpty());
}

TEST(Options, FlagsOfCharmsOwnThatTakeNoValueLeaveTheNextWordAlone) {
  for (const char* flag : {"-custom-part", "-host", "-f77", "-intrinsic", "-mpi", "-purify", "-debug", "-use-new-std",
                           "-no-build-shared", "-whole-archive", "-c++stl", "-standalone", "-nof90main"}) {
    const Options o = parseOptions({flag, "a.C"});
    EXPECT_EQ(o.error, "") << flag;
    EXPECT_THAT(o.sources, ElementsAre("a.C")) << flag;
    EXPECT_THAT(o.compile, IsEmpty()) << flag;
  }
}

TEST(Options, FlagsOfCharmsOwnThatTakeAValueTakeIt) {
  for (const char* flag :
       {"-memory", "-thread", "-machine", "-queue", "-gen-cpm", "-cpmod", "-isysroot", "-fmoddir", "-f90", "-ld"}) {
    const Options o = parseOptions({flag, "value", "a.C"});
    EXPECT_THAT(linkTexts(o), ElementsAre("a.C")) << flag;
    EXPECT_THAT(o.compile, IsEmpty()) << flag;
  }
}

TEST(Options, EachToolHasFlagsOfItsOwn) {
  const Options o = parseOptions({"-cpp-option", "-DA -DB", "-ldro-option", "-Wl,-z,now", "-c++-option", "-Wextra",
                                  "--include-path", "inc", "--system-include", "sys", "--pre-include", "x.h"});
  EXPECT_THAT(o.preprocess, ElementsAre("-DA", "-DB", "-Iinc", "-isystem", "sys", "-include", "x.h"));
  EXPECT_THAT(o.sharedOptions, ElementsAre("-Wl,-z,now"));
  EXPECT_THAT(o.cxxOptions, ElementsAre("-Wextra"));
}

TEST(Options, LanguagesHaveOlderNames) {
  for (const char* name : {"charm", "charm++f", "f90charm", "charm++"})
    EXPECT_EQ(parseOptions({"-language", name}).language, "charm++") << name;
  for (const char* name : {"converse", "converse++"})
    EXPECT_EQ(parseOptions({"-language", name}).language, "converse++") << name;
  EXPECT_EQ(parseOptions({"-language", "C++", "-seq"}).language, "c++");
  EXPECT_EQ(parseOptions({"-language", "ampi"}).language, "ampi");
}

TEST(Options, ClearInputForgetsTheFilesAndKeepsTheFlags) {
  const Options o = parseOptions({"-g", "old.ci", "old.C", "old.o", "-lold", "-clear-input", "new.C"});
  EXPECT_THAT(o.ciFiles, IsEmpty());
  EXPECT_THAT(o.sources, ElementsAre("new.C"));
  EXPECT_THAT(linkTexts(o), ElementsAre("new.C"));
  EXPECT_THAT(o.compile, ElementsAre("-g"));
}

TEST(Options, AProgramWithoutANameIsAOutWhenAskedFor) {
  EXPECT_EQ(parseOptions({"-default-to-aout", "a.C"}).output, "a.out");
  EXPECT_EQ(parseOptions({"-default-to-aout", "-c", "a.C"}).output, "");
  EXPECT_EQ(parseOptions({"-default-to-aout", "a.C", "-o", "pgm"}).output, "pgm");
}

TEST(CompileCommand, EachLanguageGetsItsOwnStandard) {
  Job job{parseOptions({"-std=c11", "-std=c++20", "a.c", "b.cpp"}), {}, {}};
  job.layout.cxx = "CXX";
  job.layout.cc = "CC";
  job.layout.cxxIsGnu = Gnu::no;
  job.layout.includes = {"/inc"};
  EXPECT_THAT(compileCommand(job, "a.c"), ElementsAre("CC", "-std=c11", "-D__CHARMC__=1", "-I/inc"));
  EXPECT_THAT(compileCommand(job, "b.cpp"), ElementsAre("CXX", "-std=c++20", "-D__CHARMC__=1", "-I/inc"));
  job.options = parseOptions({"b.cpp"});
  EXPECT_THAT(compileCommand(job, "b.cpp"), ElementsAre("CXX", "-std=gnu++17", "-D__CHARMC__=1", "-I/inc"));
  job.options = parseOptions({"-std=c99", "a.c", "b.cpp"});
  EXPECT_THAT(compileCommand(job, "b.cpp"), ElementsAre("CXX", "-std=gnu++17", "-D__CHARMC__=1", "-I/inc"));
  job.options = parseOptions({"-std=c++11", "a.c", "b.cpp"});
  EXPECT_THAT(compileCommand(job, "b.cpp"),
              ElementsAre("CXX", "-std=c++14", "-Wno-c++17-extensions", "-D__CHARMC__=1", "-I/inc"));
  EXPECT_THAT(compileCommand(job, "a.c"), ElementsAre("CC", "-D__CHARMC__=1", "-I/inc"));
  job.options = parseOptions({"b.cpp"});
  job.layout.cxxIsGnu = Gnu::yes;
  EXPECT_THAT(compileCommand(job, "b.cpp"),
              ElementsAre("CXX", "-std=gnu++17", "-fno-stack-protector", "-U_FORTIFY_SOURCE", "-fno-lifetime-dse",
                          "-D__CHARMC__=1", "-I/inc"));
  job.options = parseOptions({"-fstack-protector", "b.cpp"});
  EXPECT_THAT(compileCommand(job, "b.cpp")[4], "-fstack-protector") << "a program's own flag comes later, and holds";
  EXPECT_THAT(compileCommand(job, "a.c"), Not(Contains("-fno-lifetime-dse")));
}

TEST(CompileCommand, ACompilerMayBeSeveralWords) {
  Job job{parseOptions({"-c++", "ccache g++ '-DQ=a b'", "-cc", "distcc gcc", "a.c", "b.cpp"}), {}, {}};
  EXPECT_THAT(job.cxx(), ElementsAre("ccache", "g++", "-DQ=a b"));
  EXPECT_THAT(job.ldxx(), ElementsAre("ccache", "g++", "-DQ=a b"));
  EXPECT_THAT(job.cc(), ElementsAre("distcc", "gcc"));
  job.options = parseOptions({"-ld++", "ccache ld"});
  job.layout.cxx = "CXX";
  EXPECT_THAT(job.ldxx(), ElementsAre("ccache", "ld"));
  EXPECT_THAT(job.cxx(), ElementsAre("CXX"));
}

TEST(Options, ASeedBalancerIsOneOfThoseThatThereAre) {
  EXPECT_EQ(parseOptions({"-balance", "workstealing"}).seedBalancer, "workstealing");
  EXPECT_THAT(parseOptions({"-balance", "workstealin"}).error, HasSubstr("did you mean workstealing?"));
  const Options other = parseOptions({"-balance", "prioritycentralized"});
  EXPECT_EQ(other.seedBalancer, "");
  EXPECT_THAT(other.warnings, ElementsAre(HasSubstr("is not there")));
  EXPECT_THAT(parseOptions({"-balance"}).error, HasSubstr("-balance needs a value"));
}

TEST(Options, AModeIsOneOfThoseThatCharmHasWhereAProgramIsLinked) {
  for (const char* name : {"default", "paranoid", "os-leak", "gnu", "gnu-verbose", "charmdebug"}) {
    const Options o = parseOptions({"-memory", name});
    EXPECT_EQ(o.linkError, "") << name;
    EXPECT_THAT(o.remarks, ElementsAre(HasSubstr("has no effect"))) << name;
  }
  for (const char* name : {"default", "pthreads", "qt-tls", "context-memoryalias"})
    EXPECT_EQ(parseOptions({"-thread", name}).linkError, "") << name;
  EXPECT_THAT(parseOptions({"-memory", "paranoic"}).linkError, HasSubstr("did you mean paranoid?"));
  EXPECT_THAT(parseOptions({"-thread", "nosuch"}).linkError, HasSubstr("no mode nosuch for -thread"));
  EXPECT_EQ(parseOptions({"-thread", "nosuch"}).error, "");
  EXPECT_THAT(parseOptions({"-thread"}).error, HasSubstr("-thread needs a value"));
  EXPECT_THAT(parseOptions({"-swapglobals"}).error, HasSubstr("-swapglobals is not there"));
  EXPECT_THAT(parseOptions({"-tlsglobals"}).warnings, ElementsAre(HasSubstr("-tlsglobals is not there")));
}

TEST(Options, OptionsOfABalancerStayWithIt) {
  const Options o =
      parseOptions({"-balancer", "GreedyCommLB:tolerance=1.2,message_bytes=5,RotateLB", "-balancer", "RefineLB"});
  EXPECT_THAT(o.balancers, ElementsAre("GreedyCommLB:tolerance=1.2,message_bytes=5", "RotateLB", "RefineLB"));
}

TEST(Balancers, EveryStrategyOfTheListIsKnownByBothNames) {
  std::ifstream list(PERIAPT_SOURCE_DIR "/runtime/loadbalance/strategies/list.inc");
  std::size_t strategies = 0;
  for (std::string line; std::getline(list, line);) strategies += line.rfind("STRATEGY(", 0) == 0;
  ASSERT_GT(strategies, 15u);
  EXPECT_EQ(balancerNames().size(), 2 * strategies);
  for (const char* name : {"Greedy", "GreedyLB", "Gossip", "DistributedLB", "Hybrid", "DummyLB:options=later"})
    EXPECT_TRUE(hasBalancer(name, {})) << name;
}

TEST(Balancers, PlugInsAreLookedForWhenTheProgramStarts) {
  EXPECT_TRUE(hasBalancer("./mine.so:limit=5", {}));
  EXPECT_TRUE(hasBalancer("mine.py", {}));
  EXPECT_FALSE(hasBalancer("mine", {}));
}

TEST(ModuleInit, RegistersWhatWasNamed) {
  Job job{parseOptions({"-balancer", "GreedyLB", "-balance", "spray", "-nomain-module"}), {}, {}};
  const std::string text = moduleInit(job, {"A", "B"}, {"projections", "mine"});
  EXPECT_THAT(text, HasSubstr("_registerA();\n  _registerB();"));
  EXPECT_THAT(text, HasSubstr("LBDefaultCreate(\"GreedyLB\")"));
  EXPECT_THAT(text, HasSubstr("CldDefaultStrategy(\"spray\")"));
  EXPECT_THAT(text, HasSubstr("TraceDefaultMode(\"projections\")"));
  EXPECT_THAT(text, HasSubstr("_createTracemine(argv)"));
  EXPECT_THAT(text, Not(HasSubstr("_createTraceprojections")));
  EXPECT_THAT(text, HasSubstr("CkRegisterMainModule"));
  EXPECT_THAT(text, HasSubstr("CkRegisterNoMainModule();"));
  EXPECT_THAT(moduleInit(Job{}, {}, {}), Not(HasSubstr("CkRegisterMainModule")));
}

TEST(CommandLine, WordsAreSplitAsAShellDoes) {
  EXPECT_THAT(splitCommandLine("a 'b c' \"d \\\" e\" f\\ g ''"), ElementsAre("a", "b c", "d \" e", "f g", ""));
}

class Charmc : public CharmcFixture {};

TEST_F(Charmc, TranslatesIntoTheCurrentFolderOneFilePairAModule) {
  std::filesystem::create_directory(folder_.path() / "sub");
  write("sub/two.ci", "module a {};\nmodule b {};\n");
  const Outcome outcome = charmc("-E sub/two.ci");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(outcome.text, "");
  for (const char* name : {"a.decl.h", "a.def.h", "b.decl.h", "b.def.h"}) EXPECT_TRUE(exists(name)) << name;
}

TEST_F(Charmc, PreprocessesWithTheDefinesAndFoldersGiven) {
  std::filesystem::create_directory(folder_.path() / "inc");
  write("inc/count.h", "#define COUNT 7\n");
  write("m.ci",
        "#include \"count.h\"\nmodule m {\n#ifdef WANTED\n  readonly int x[COUNT];\n#else\n  wrong\n#endif\n};\n");
  const Outcome outcome = charmc("-DWANTED -I inc m.ci");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(read("m.def.h"), HasSubstr("#line 4 \"m.ci\"\nextern int x[7];"));
}

TEST_F(Charmc, AnErrorShowsTheAuthorsLineAndLeavesNothing) {
  write("m.ci",
        "#define NOTHING\n/* a\n   comment */ module m {\n  NOTHING  readonly\tint   n ;\n\treadonly   int /* why */ "
        "wrong\n};\n");
  const Outcome outcome = charmc("m.ci");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.text,
            "m.ci:5:32: error: expected ';' after the readonly\n"
            "   5 | \treadonly   int /* why */ wrong\n"
            "     | \t                              ^\n"
            "     = hint: end it with ';': readonly int wrong;\n");
  EXPECT_FALSE(exists("m.decl.h"));
  EXPECT_FALSE(exists("m.def.h"));
}

TEST_F(Charmc, WithoutThePreprocessor) {
  write("m.ci", "module m {\n#ifdef A\n  readonly int a;\n#endif\n};\n");
  EXPECT_EQ(charmc("-no-preprocess-ci -DA=3 m.ci").status, 0);
  EXPECT_THAT(read("m.def.h"), HasSubstr("extern int a;"));
}

TEST_F(Charmc, SourcesAndCiFilesKnowThatItCompilesThem) {
  write("m.ci", "module m {\n#if __CHARMC__\n  readonly int x;\n#endif\n};\n");
  write("a.cpp", "int charmc = __CHARMC__;\n");
  write("b.c", "int charmc = __CHARMC__;\n");
  EXPECT_EQ(charmc("m.ci").status, 0);
  EXPECT_THAT(read("m.def.h"), HasSubstr("extern int x;"));
  EXPECT_EQ(charmc("-seq -c a.cpp b.c").status, 0);
}

TEST_F(Charmc, ALibraryMayStandInFrontOfTheObjectsThatUseIt) {
  write("seven.cpp", "int seven() { return 7; }\n");
  write("main.cpp", "int seven();\nint main() { return seven(); }\n");
  ASSERT_EQ(charmc("-seq -o libseven.a seven.cpp").status, 0);
  const Outcome outcome = charmc("-seq -L. -lseven main.cpp -o main");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(run("./main").status, 7);
}

TEST_F(Charmc, AProgramWithoutCharmFindsOurHeadersAndLibraries) {
  write("client.cpp", "#include <ccs-client.h>\nint main() { return CCS_HANDLERLEN - 32; }\n");
  const Outcome outcome = charmc("-verbose -language c++ -seq -o client client.cpp");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("/lib "));
  EXPECT_EQ(run("./client").status, 0);
}

TEST_F(Charmc, LibrariesMayUseEachOtherInAnyOrder) {
  write("one.cpp", "int two();\nint one() { return two() + 1; }\n");
  write("two.cpp", "int three();\nint two() { return three() + 1; }\n");
  write("three.cpp", "int three() { return 3; }\n");
  write("main.cpp", "int one();\nint main() { return one(); }\n");
  for (const char* name : {"one", "two", "three"})
    ASSERT_EQ(charmc(std::string("-seq -o lib") + name + ".a " + name + ".cpp").status, 0);
  for (const char* order : {"libthree.a -ltwo main.cpp libone.a -L.", "-L. -lthree -lone main.cpp -ltwo",
                            "libone.a -L. libtwo.a -lthree main.cpp"}) {
    const Outcome outcome = charmc(std::string("-seq -o main ") + order);
    ASSERT_EQ(outcome.status, 0) << order << "\n" << outcome.text;
    EXPECT_EQ(run("./main").status, 5) << order;
  }
}

TEST_F(Charmc, ALinkLineMayHaveGroupsOfItsOwn) {
  write("seven.cpp", "int seven() { return 7; }\n");
  write("main.cpp", "int seven();\nint main() { return seven(); }\n");
  ASSERT_EQ(charmc("-seq -o libseven.a seven.cpp").status, 0);
  const Outcome outcome = charmc("-seq -o main main.cpp -L. -Wl,--start-group -lseven -Wl,--end-group");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(run("./main").status, 7);
}

TEST_F(Charmc, FortranLibrariesAreLinkedWhenAskedFor) {
  write("seven.f90", "integer function seven() bind(c)\n  print *, 'seven'\n  seven = 7\nend function\n");
  write("main.cpp", "extern \"C\" int seven();\nint main() { return seven(); }\n");
  if (run("gfortran -c seven.f90").status != 0) GTEST_SKIP() << "gfortran is not here";
  for (const char* flag : {"-flib", "-flibs", "-fortran", "-fortran77", "-f77lib", "-f77libs"}) {
    const Outcome outcome = charmc(std::string("-seq ") + flag + " main.cpp seven.o -o main");
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    EXPECT_EQ(run("./main").status, 7) << flag;
  }
  EXPECT_NE(charmc("-seq main.cpp seven.o -o main").status, 0) << "the libraries are not needed";
}

TEST_F(Charmc, TouchOnFailureGoesOnWithAnEmptyFile) {
  write("wrong.cpp", "int f( { return 1; }\n");
  write("right.cpp", "int f() { return 1; }\n");
  EXPECT_EQ(charmc("-seq -c wrong.cpp").status, 1);
  EXPECT_FALSE(exists("wrong.o"));
  const Outcome outcome = charmc("-seq -touch-on-failure -c wrong.cpp right.cpp");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("wrong.o is empty: -touch-on-failure goes on without it"));
  EXPECT_EQ(read("wrong.o"), "");
  EXPECT_THAT(read("right.o"), Not(IsEmpty()));
}

TEST_F(Charmc, UnderTheNameCharmxiItTranslatesWhatIsPreprocessed) {
  write("m.ci", "module m {\n  readonly int N;\n  wrong\n};\n");
  ASSERT_EQ(run(std::string("ln -s ") + PERIAPT_CHARMC + " charmxi").status, 0);
  ASSERT_EQ(run(std::string(PERIAPT_CXX) + " -E -x c++ m.ci -o m.i").status, 0);
  const Outcome outcome = run("./charmxi -orig-file m.ci m.i");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.text, HasSubstr("m.ci:3:3: error: "));
  write("m.ci", "module m {\n#ifdef WANTED\n  readonly int N;\n#endif\n};\n");
  EXPECT_EQ(run("./charmxi -DWANTED -intrinsic m.ci").status, 0);
  EXPECT_THAT(read("m.def.h"), HasSubstr("extern int N;"));
  EXPECT_THAT(run("./charmxi -nonsense m.ci").text, HasSubstr("charmxi has no option -nonsense"));
}

TEST_F(Charmc, WritesDependencies) {
  write("part.h", "");
  write("m.ci", "#include \"part.h\"\nmodule m {};\n");
  EXPECT_EQ(charmc("-MD -MF m.d -MT target m.ci").status, 0);
  EXPECT_EQ(read("m.d"), "target: m.ci \\\n  part.h\n");
  EXPECT_EQ(charmc("-M m.ci").text, "m.decl.h m.def.h: m.ci \\\n  part.h\n");
}

TEST_F(Charmc, OFollowedByAnObjectCompiles) {
  write("a.cpp", "int f() { return 1; }\n");
  EXPECT_EQ(charmc("-seq -o a.o a.cpp").status, 0);
  EXPECT_TRUE(exists("a.o"));
}

TEST_F(Charmc, WithoutOSourcesAreCompiledHere) {
  std::filesystem::create_directory(folder_.path() / "sub");
  write("sub/a.cpp", "int f() { return 1; }\n");
  write("b.c", "int g(void) { return 1; }\n");
  EXPECT_EQ(charmc("-seq sub/a.cpp '' b.c").status, 0);
  EXPECT_TRUE(exists("a.o"));
  EXPECT_TRUE(exists("b.o"));
}

TEST_F(Charmc, MakesArchives) {
  write("a.cpp", "int f() { return 1; }\n");
  write("b.cpp", "int g() { return 1; }\n");
  EXPECT_EQ(charmc("-seq -c a.cpp").status, 0);
  const Outcome outcome = charmc("-seq -o libmoduleX.a a.o b.cpp");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(run("ar t libmoduleX.a").text, "a.o\nb.o\n");
  write("one.c", "int one(void) { return 1; }\n");
  for (const char* sources : {"one.c b.cpp", "one.c"}) {  // with -c too
    EXPECT_EQ(charmc(std::string("-seq -o one.a -c ") + sources).text, "");
    EXPECT_THAT(run("ar t one.a").text, HasSubstr("one.o\n"));
    EXPECT_EQ(run("ar t one.a | wc -l").text, std::string(sources) == "one.c" ? "1\n" : "2\n");
  }
}

TEST_F(Charmc, CompilesAndLinksInOneStepWithResponseFiles) {
  write("a.cpp", "int f();\nint main() { return f(); }\n");
  write("b.cpp", "int f() { return VALUE; }\n");
  write("args.rsp", "-seq -DVALUE=3 a.cpp\n b.cpp -o 'a program'\n");
  const Outcome outcome = charmc("@args.rsp");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(run("'./a program'").status, 3);
  EXPECT_FALSE(exists("a.o"));
}

TEST_F(Charmc, ACompileErrorIsItsExitStatus) {
  write("a.cpp", "int f( { return 1; }\n");
  EXPECT_EQ(charmc("-seq -c a.cpp").status, 1);
  EXPECT_FALSE(exists("a.o"));
}

TEST_F(Charmc, SaysWhatIsWrongWithItsCommandLine) {
  EXPECT_THAT(charmc("").text, HasSubstr("no input files"));
  EXPECT_THAT(charmc("missing.ci").text, HasSubstr("cannot read missing.ci"));
  EXPECT_THAT(charmc("-language ampi a.o -o x").text, HasSubstr("-language ampi is not supported"));
  EXPECT_THAT(charmc("-language c++ a.o -o x").text, HasSubstr("-language c++ is not supported"));  // but with -seq
  EXPECT_THAT(charmc("-c a.cpp b.cpp -o x.o").text, HasSubstr("names one file, and there are 2 sources"));
  EXPECT_THAT(charmc("a.o -o x -module Nowhere").text, HasSubstr("there is no libmoduleNowhere.a in"));
}

TEST_F(Charmc, ACompilerOfSeveralWordsCompilesAndLinks) {
  write("m.ci", "module m {\n#if Q\n  readonly int x;\n#endif\n};\n");
  write("main.cpp", "int main() { return Q - 1; }\n");
  const std::string compiler = std::string("-c++ 'env ") + PERIAPT_CXX + " -DQ=1' ";
  EXPECT_EQ(charmc(compiler + "m.ci").text, "");
  EXPECT_THAT(read("m.def.h"), HasSubstr("extern int x;"));
  const Outcome outcome = charmc(compiler + "-seq main.cpp -o main");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(run("./main").status, 0);
}

TEST_F(Charmc, ACompilerWithSpacesInItsPathIsOneWord) {
  ASSERT_EQ(run(std::string("mkdir 'a b' && printf '#!/bin/sh\\nexec \"") + PERIAPT_CXX +
                "\" \"$@\"\\n' > 'a b/cxx' && chmod +x 'a b/cxx'")
                .status,
            0);
  write("main.cpp", "int main() { return 0; }\n");
  const Outcome outcome = charmc("-c++ './a b/cxx' -seq main.cpp -o main");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
}

TEST_F(Charmc, ThatACompilerCannotBeRunIsSaidOnce) {
  write("a.cpp", "int f() { return 1; }\n");
  for (const char* flags : {"", "-std=c++11 "})
    EXPECT_EQ(charmc(std::string(flags) + "-c++ nosuch-c++ -c a.cpp").text,
              "charmc: cannot run nosuch-c++: No such file or directory\n");
  EXPECT_THAT(charmc("-c++ 'env nosuch-c++' -c a.cpp").text, testing::MatchesRegex("env: [^\n]*nosuch-c..[^\n]*\n"));
}

TEST_F(Charmc, QuestionsGoToTheCompiler) {
  EXPECT_EQ(charmc("-dumpversion").text, run(std::string(PERIAPT_CXX) + " -dumpversion").text);
  EXPECT_THAT(charmc("--version").text, HasSubstr("charmc (Periapt)"));
  EXPECT_THAT(charmc("-V").text, testing::StartsWith("Charm++ Version 80000 "));
  EXPECT_THAT(charmc("-h").text, HasSubstr("-module"));
  EXPECT_THAT(charmc("-E -dM -x c++ /dev/null").text, HasSubstr("#define __cplusplus"));
}

// A build system of the program's own runs compilers and the linker, and writes what registers modules.
TEST_F(Charmc, BuildingBlocksBuildAProgram) {
  write("hello.ci", "mainmodule hello { mainchare Main { entry Main(CkArgMsg*); entry void ready(); }; };\n");
  write("hello.C",
        "#include \"hello.decl.h\"\n#include \"completion.h\"\n#include <omp.h>\n#ifndef GREETING\n#error -D is "
        "lost\n#endif\n"
        "struct Main : CBase_Main {\n"
        "  Main(CkArgMsg* m) {\n    delete m;\n    CProxy_CompletionDetector detector = "
        "CProxy_CompletionDetector::ckNew();\n"
        "    thisProxy.ready();\n  }\n"
        "  void ready() {\n    CkPrintf(\"PEs: %d %d\\n\", CkNumPes(), GREETING * (omp_get_max_threads() > 0));\n    "
        "CkExit();\n  }\n};\n"
        "#include \"hello.def.h\"\n");
  write("modules.C",
        "void _registerCommonLBs();\nvoid _registerGreedyLB();\nvoid _registercompletion();\nvoid "
        "_registerTraceSummary();\n"
        "void _createTracesummary(char**);\n"
        "void _registerExternalModules(char**) {\n  _registerCommonLBs();\n  _registerGreedyLB();\n  "
        "_registercompletion();\n  "
        "_registerTraceSummary();\n}\n"
        "void _createTraces(char** argv) { _createTracesummary(argv); }\n");
  write("build.sh",
        std::string("set -e\nblocks=$(") + PERIAPT_CHARMC +
            " -print-building-blocks -DGREETING=7 -fopenmp -module completion -module CommonLBs -tracemode summary)\n"
            "eval \"$blocks\"\n\"$CHARMBIN/charmc\" hello.ci\n"
            "for source in hello modules; do eval \"$CHARM_CXX $CHARM_CXX_FLAGS -c $source.C -o $source.o\"; done\n"
            "$CHARM_LDXX hello.o modules.o $CHARM_LDXX_FLAGS -o by_cxx\n./by_cxx +p2\n"
            "$CHARM_LD hello.o modules.o $CHARM_LD_FLAGS -o by_c\n./by_c +p1\nls\n");
  const Outcome outcome = run("sh build.sh");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("PEs: 2 7\n"));
  EXPECT_THAT(outcome.text, HasSubstr("PEs: 1 7\n"));
  EXPECT_THAT(outcome.text, HasSubstr("by_cxx.sum.sts")) << "-tracemode was not registered";
}
TEST_F(Charmc, BuildingBlocksOfAMissingModuleAreNone) {
  const Outcome outcome = charmc("-print-building-blocks -module nosuch");
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.text, HasSubstr("-module nosuch: there is no libmodulenosuch.a"));
}

TEST_F(Charmc, IsACompilerForCMake) {
  write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(p CXX)\nadd_library(l OBJECT a.cpp)\n");
  write("a.cpp", "int f() { return 1; }\n");
  const Outcome outcome = run(std::string("cmake -S . -B build -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY "
                                          "-DCMAKE_CXX_COMPILER=") +
                              PERIAPT_CHARMC + " && cmake --build build");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("The CXX compiler identification is"));
  EXPECT_THAT(outcome.text, Not(HasSubstr("identification is unknown")));
}

}  // namespace
}  // namespace periapt::charmc
