// The mistakes that only a compiler or a linker sees, and what charmc says behind their words. Each is made with the
// compiler that the library is built with, and with Clang where that is there.
#include "tools/charmc/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ci-translator/charmc_fixture.h"

namespace periapt::charmc {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// A program of two modules without a mistake; each test puts one in. Those of the compiler run once with each
/// compiler.
class Parts : public CharmcFixture {
 protected:
  void SetUp() override {
    write("part.ci", "module part { array [1D] Part { entry Part(); entry void give(int n); }; };\n");
    write("part.h",
          "#include \"part.decl.h\"\nstruct Part : CBase_Part {\n  Part();\n"
          "#ifdef ONLY_DECLARED\n  Part(CkMigrateMessage* m);\n#else\n  Part(CkMigrateMessage* m) : CBase_Part(m) "
          "{}\n#endif\n"
          "  void give(int n);\n};\n");
    write("part.cpp",
          "#include \"part.h\"\nPart::Part() {}\n#ifndef ONLY_DECLARED\nvoid Part::give(int) {}\n#endif\n"
          "#include \"part.def.h\"\n");
    writePgmCi("");
    write("pgm.cpp",
          "#include \"part.decl.h\"\n#include \"pgm.decl.h\"\n#ifdef NOT_DEFINED\nextern\n#endif\nCProxy_Main "
          "mainProxy;\n"
          "struct Main : CBase_Main {\n  Main(CkArgMsg*) {\n    mainProxy = thisProxy;\n    CProxy_Part parts;\n"
          "    STATEMENTS\n  }\n  void done(int, double*) { CkExit(); }\n};\n#include \"pgm.def.h\"\n");
    const Outcome outcome = charmc("part.ci pgm.ci");
    ASSERT_EQ(outcome.text, "");
  }
  void writePgmCi(const std::string& more) {
    write("pgm.ci",
          "mainmodule pgm {\n  extern module part;\n  readonly CProxy_Main mainProxy;\n"
          "  mainchare Main { entry Main(CkArgMsg*); entry void done(int n, double x[n]); };\n" +
              more + "};\n");
  }
};

class Compilers : public Parts, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (*GetParam() && run(std::string(GetParam()) + " --version").status != 0)
      GTEST_SKIP() << GetParam() << " is not here";
    Parts::SetUp();
  }
  Outcome compileWith(const std::string& statements, const std::string& more = "") {
    return charmc(more + named(GetParam()) + "'-DSTATEMENTS=" + statements + "' -c pgm.cpp");
  }
  /// The same of a source that includes charm++.h, and no option that the compiler would not take it with.
  Outcome compileQuicklyWith(const std::string& statements) {
    return charmcQuickly("'-DSTATEMENTS=" + statements + "' -c pgm.cpp", GetParam());
  }
  static int occurrences(const std::string& text, const std::string& word) {
    int out = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++out;
    return out;
  }
};

INSTANTIATE_TEST_SUITE_P(Explain, Compilers, testing::Values("", "clang++"),
                         [](const auto& info) { return *info.param ? "Clang" : "Ours"; });

TEST_P(Compilers, AModuleThatIsNotTranslated) {
  run("rm part.decl.h");
  const Outcome outcome = compileWith("");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.text,
              AllOf(HasSubstr("charmc: error: part.decl.h is not there: the module part is not translated"),
                    HasSubstr("= hint: translate the .ci file that holds it first (charmc part.ci")));
}

TEST_P(Compilers, ABaseThatNothingDeclares) {
  writePgmCi("array [1D] Derived : Nowhere { entry Derived(); };\n");
  ASSERT_EQ(charmc("pgm.ci").status, 0);
  const Outcome outcome = compileQuicklyWith("");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.text,
              AllOf(HasSubstr("charmc: error: pgm.ci:5: the base Nowhere of Derived is no chare that is known here"),
                    HasSubstr("extern module")));
  EXPECT_THAT(outcome.text, Not(HasSubstr("no chare Derived"))) << "what follows from it is not explained";
}

TEST_P(Compilers, TheOneOfSeveralBasesThatNothingDeclares) {
  for (const char* bases : {"Part, Nowhere", "Nowhere, Part", "Part, Nowhere, Part"}) {
    writePgmCi(std::string("array [1D] Derived : ") + bases + " { entry Derived(); };\n");
    ASSERT_EQ(charmc("pgm.ci").status, 0);
    EXPECT_THAT(compileQuicklyWith("").text,
                AllOf(HasSubstr("pgm.ci:5: the base Nowhere of Derived is no chare"), Not(HasSubstr("the base Part"))))
        << bases;
  }
}

/// As in Charm++: which chares there are is known when all headers are.
TEST_P(Compilers, ABaseOfAHeaderThatTheProgramIncludesNeedsNoModule) {
  write("pgm.ci",
        "mainmodule pgm {\n  readonly CProxy_Main mainProxy;\n"
        "  mainchare Main { entry Main(CkArgMsg*); entry void done(int n, double x[n]); };\n"
        "  array [1D] Derived : Part { entry Derived(); };\n};\n");
  const Outcome translated = charmc("pgm.ci");
  EXPECT_EQ(translated.status, 0);
  EXPECT_THAT(translated.text, HasSubstr("pgm.ci:4:24: warning: no chare 'Part' is declared in this file"));
  run("sed -i 's/^#include \"pgm.def.h\"/struct Derived : CBase_Derived { Derived() {} "
      "Derived(CkMigrateMessage* m) : CBase_Derived(m) {} };\\n&/; s/^#include \"part.decl.h\"/#include \"part.h\"/' "
      "pgm.cpp");
  const Outcome outcome = compileQuicklyWith("");
  EXPECT_EQ(outcome.text, "");
  EXPECT_EQ(outcome.status, 0);
}

TEST_P(Compilers, NamesThatNothingDeclares) {
  const Outcome outcome = compileQuicklyWith(
      "CProxy_Prat other; parts[1].get(1); CkCallback cb(CkReductionTarget(Main, done), thisProxy);");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.text, HasSubstr("charmc: error: no chare Prat is known here"));
  EXPECT_THAT(outcome.text, HasSubstr("charmc: error: the .ci file declares no entry get of Part"));
  EXPECT_THAT(outcome.text, HasSubstr("charmc: error: entry done of Main is no reduction target"));
  EXPECT_THAT(outcome.text, HasSubstr("= hint: in the .ci file: entry [reductiontarget] void done(...)"));
}

TEST_P(Compilers, CallsWithOtherArguments) {
  const Outcome outcome = compileQuicklyWith("parts.give(1, 2, 3); thisProxy.done(parts, nullptr);");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.text,
              HasSubstr("charmc: error: the arguments of this call of give() are not what the .ci file declares"));
  EXPECT_THAT(outcome.text, HasSubstr("the .ci file says give(int"));
  EXPECT_THAT(outcome.text,
              HasSubstr("charmc: error: the arguments of this call of done() are not what the .ci file declares"));
  EXPECT_THAT(outcome.text, HasSubstr("the .ci file says done(int"));
}

constexpr const char* name_of_std =
    "#include <vector>\nusing namespace std;\nint size;\nint twice() { return 2 * size; }\n";

TEST_P(Compilers, ANameThatStdHasTooIsTheProgramsInCxx14) {
  write("pgm.cpp", name_of_std);
  const Outcome outcome = compileWith("");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.text,
              AllOf(StartsWith("charmc: note: compiled as C++14"),
                    EndsWith("pgm.cpp:4:26: reference to 'size' is ambiguous\n"), Not(HasSubstr("error: "))));
  EXPECT_TRUE(exists("pgm.o"));
}

TEST_P(Compilers, TheStandardThatAProgramAsksForIsNotLowered) {
  write("pgm.cpp", name_of_std);
  for (const char* standard : {"-std=c++17 ", "-std=gnu++17 ", "-std=c++20 ", "-c++-option -std=c++17 "}) {
    const Outcome outcome = compileWith("", standard);
    EXPECT_EQ(outcome.status, 1) << standard;
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("charmc: error: size is a name of this program and"),
                                    HasSubstr("= hint: write ::size where the program's own is meant"),
                                    HasSubstr("or compile with -std=c++14"), Not(HasSubstr("note: compiled as"))))
        << standard;
    EXPECT_EQ(occurrences(outcome.text, "reference to"), 1) << outcome.text;
  }
}

TEST_P(Compilers, ThePastThatAProgramAsksForIsTakenAtItsWord) {
  write("pgm.cpp", std::string(name_of_std) + "static_assert(__cplusplus == 201402L, \"\");\n");
  for (const char* standard : {"-std=c++11 ", "-std=gnu++14 "}) {
    const Outcome outcome = compileWith("", standard);
    EXPECT_EQ(outcome.status, 0) << standard;
    EXPECT_EQ(outcome.text, "") << standard;
  }
}

TEST_P(Compilers, WhatIsWrongInCxx14TooIsShownOnceAndAsCxx17) {
  write("pgm.cpp",
        std::string(name_of_std) + "#if __cplusplus == 201402L\n#error as C++14\n#endif\nint n = nowhere;\n");
  const Outcome outcome = compileWith("");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(occurrences(outcome.text, "nowhere"), occurrences(compileWith("", "-std=c++17 ").text, "nowhere"));
  EXPECT_EQ(occurrences(outcome.text, "reference to"), 1) << outcome.text;
  EXPECT_THAT(outcome.text, AllOf(Not(HasSubstr("as C++14")), HasSubstr("charmc: error: size is a name")));
  EXPECT_FALSE(exists("pgm.o"));
}

TEST_P(Compilers, AFileWithoutSuchAnErrorIsCompiledOnce) {
  for (const char* text : {"int n = nowhere;\n", "int n;\n", "#warning as it goes\n"}) {
    write("pgm.cpp", text);
    EXPECT_EQ(occurrences(compileWith("", "-verbose ").text, "charmc> "), 1) << text;
  }
  EXPECT_THAT(compileWith("").text, HasSubstr("as it goes"));
}

TEST_P(Compilers, AMistakeOfCxxAloneIsLeftToTheCompiler) {
  const Outcome outcome = compileQuicklyWith("int x = parts;");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.text, Not(HasSubstr("charmc: error")));
}

/// The program's objects are compiled once for all of these.
class Linker : public Parts {
 protected:
  static void SetUpTestSuite() { objects_ = new TemporaryFolder; }
  static void TearDownTestSuite() {
    delete objects_;
    objects_ = nullptr;
  }
  void SetUp() override {
    Parts::SetUp();
    const std::string kept = objects_->path().string();
    if (!std::filesystem::exists(kept + "/pgm.o")) {
      const Outcome outcome = charmcQuickly("-DSTATEMENTS= -c part.cpp pgm.cpp && cp *.o " + kept);
      ASSERT_EQ(outcome.text, "");
    }
    run("cp " + kept + "/*.o .");
  }
  static inline TemporaryFolder* objects_ = nullptr;
};

TEST_F(Linker, ARightProgramIsLinkedWithoutAWord) {
  const Outcome outcome = charmc("-o pgm pgm.o part.o");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.text, "");
}

TEST_F(Linker, ADefHeaderThatNothingIncludes) {
  write("nodef.cpp", "int nothing;\n");
  run("rm pgm.o");
  const Outcome outcome = charmc("-o pgm nodef.cpp part.o");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.text,
              AllOf(HasSubstr("charmc: error: no mainmodule is linked"), HasSubstr("the .def.h of the mainmodule")));
}

TEST_F(Linker, AModuleWhoseObjectIsNotLinked) {
  const Outcome beside = charmc("-o pgm pgm.o");
  EXPECT_EQ(beside.status, 1);
  EXPECT_THAT(beside.text, AllOf(HasSubstr("charmc: error: the module part is not linked"),
                                 HasSubstr("= hint: name part.o, which has it, on the link line")));
  run("cp part.o copy_of_part.o");
  EXPECT_THAT(charmc("-o pgm pgm.o").text, HasSubstr("link the object whose source includes part.def.h"))
      << "which of two is meant is not known";
  run("mkdir parts && mv part.o parts && rm copy_of_part.o");
  const Outcome outcome = charmc("-o pgm pgm.o");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("charmc: error: the module part is not linked"),
                                  HasSubstr("link the object whose source includes part.def.h")));
  run("cp pgm.o parts/of_main.o");
  EXPECT_THAT(charmc("-o pgm parts/of_main.o").text, HasSubstr("name parts/part.o, which has it"))
      << "a folder that the line has files of is looked in";
}

TEST_F(Linker, AMainModuleAndEntriesWhoseObjectIsNotLinked) {
  EXPECT_THAT(charmc("-o pgm part.o").text, AllOf(HasSubstr("charmc: error: no mainmodule is linked"),
                                                  HasSubstr("= hint: name pgm.o, which has it, on the link line")));
  write("entries.cpp", "#include \"part.h\"\nvoid Part::give(int) {}\n");
  const Outcome outcome =
      charmcQuickly("-c entries.cpp && rm part.o && sed -i 's/^void Part::give.*//' part.cpp && " PERIAPT_CHARMC
                    " -c part.cpp && " PERIAPT_CHARMC " -o pgm pgm.o part.o");
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("charmc: error: entries of Part are declared in the .ci file"),
                                  HasSubstr("Part::give(int)\n      = hint: name entries.o, which has it,")));
}

TEST_F(Linker, EntriesAndAMigrationConstructorThatAreOnlyDeclared) {
  const Outcome outcome = charmcQuickly("-DONLY_DECLARED -o pgm pgm.o part.cpp");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.text,
              AllOf(HasSubstr("charmc: error: entries of Part are declared in the .ci file and defined in none"),
                    HasSubstr("Part::give(int)")));
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("class Part declares the constructor that migration calls"),
                                  HasSubstr("Part(CkMigrateMessage* m) : CBase_Part(m) {}")));
}

TEST_F(Linker, AFunctionOfALibraryIsLeftToTheLinker) {
  // At -O2 it is called from where the entry is: the compiler has put it there.
  const Outcome outcome =
      charmc("-O2 '-DSTATEMENTS=extern int of_a_library(int); of_a_library(1);' -o pgm pgm.cpp part.o");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("of_a_library"), Not(HasSubstr("charmc: error: entries of"))));
}

TEST_F(Linker, AReadonlyThatNothingDefines) {
  EXPECT_THAT(charmcQuickly("-DNOT_DEFINED -DSTATEMENTS= -o pgm pgm.cpp part.o").text,
              HasSubstr("charmc: error: the readonly mainProxy of the .ci file is defined in none"));
}

TEST_F(Linker, ADefHeaderThatTwoFilesInclude) {
  run("cp part.o again.o");
  EXPECT_THAT(charmc("-o pgm pgm.o part.o again.o").text,
              HasSubstr("charmc: error: the .def.h of a module is included in two of the files that are linked"));
}

TEST(Explanations, OtherLinkersWordsAreUnderstood) {
  const std::string lld =
      "ld.lld: error: undefined symbol: _registerpart()\n>>> referenced by pgm.cpp\n>>>               "
      "pgm.o:(_registerpgm())\n";
  ASSERT_EQ(explainLinker(lld).size(), 1u);
  EXPECT_THAT(explainLinker(lld)[0].what, HasSubstr("the module part is not linked"));
  const std::string readonly =
      "ld.lld: error: undefined symbol: mainProxy\n>>> referenced by pgm.cpp\n>>>               "
      "pgm.o:(_registerpgm())\n";
  ASSERT_EQ(explainLinker(readonly).size(), 1u);
  EXPECT_THAT(explainLinker(readonly)[0].what, HasSubstr("the readonly mainProxy"));
}

TEST(Explanations, GeneratedCodeOfAModuleThatNothingNames) {
  const std::string printed =
      "ld: user.o: in function `go(CProxy_Part)':\nuser.cpp:(.text+0x5b): undefined reference to "
      "`CProxy_Part::give(int, "
      "CkEntryOptions const*) const'\nld: user.cpp:(.text+0x6a): undefined reference to `CkIndex_Part::__idx'\n";
  ASSERT_EQ(explainLinker(printed).size(), 1u);
  EXPECT_EQ(explainLinker(printed)[0].what, "what charmc generated for Part is in none of the files that are linked");
}

TEST_F(Linker, ATemplateThatIsABaseElsewhere) {
  write("base.ci",
        "module base {\n  template <class T> array [1D] Base { entry Base(); entry void take(T value); };\n"
        "  template <class T> message Box { T values[]; };\n};\n");
  write("base.h",
        "#include \"base.decl.h\"\ntemplate <class T> struct Base : CBase_Base<T> {\n  void take(T) {}\n};\n"
        "template <class T> struct Box : CMessage_Box<T> { T* values; };\n#ifdef INCLUDED\n"
        "#define CK_TEMPLATES_ONLY\n#include \"base.def.h\"\n#undef CK_TEMPLATES_ONLY\n#endif\n");
  write("base.cpp", "#include \"base.h\"\n#include \"base.def.h\"\n");
  write("derived.ci", "module derived { extern module base; array [1D] Derived : Base<int> { entry Derived(); }; };\n");
  write("derived.cpp",
        "#include \"base.h\"\n#include \"derived.decl.h\"\nstruct Derived : CBase_Derived {\n"
        "  Derived() { thisProxy[0].take(1); delete new (3) Box<int>; }\n};\n#include \"derived.def.h\"\n");
  ASSERT_EQ(charmc("base.ci derived.ci").text, "");
  const std::string link = "-o pgm pgm.o part.o base.cpp derived.cpp";
  const Outcome outcome = charmcQuickly(link);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.text,
              AllOf(HasSubstr("charmc: error: what charmc generated for the template Base was not included"),
                    HasSubstr("in the header of the class Base, behind it: #define CK_TEMPLATES_ONLY"),
                    HasSubstr("for the template Box was"), Not(HasSubstr("none of the files"))));
  EXPECT_EQ(charmcQuickly("-DINCLUDED " + link).text, "");
}

TEST(Explanations, APupableTemplatesInstanceThatNothingDefines) {
  const std::string printed =
      "ld: user.o: in function `Pair<int, float>::get_PUP_ID() const':\nuser.cpp:(.text+0x5b): undefined reference to "
      "`Pair<int, float>::my_PUP_ID'\n";
  ASSERT_EQ(explainLinker(printed).size(), 1u);
  EXPECT_THAT(explainLinker(printed)[0].what, HasSubstr("the PUPable class Pair<int, float> is defined in none"));
  EXPECT_THAT(explainLinker(printed)[0].hint, HasSubstr("CK_TEMPLATES_ONLY"));
}

TEST(Explanations, WhatIsAnErrorSinceCxx17IsKnown) {
  for (const char* text : {
           "a.cpp:16:9: error: ISO C++17 does not allow dynamic exception specifications",
           "a.cpp:19:11: error: ISO C++17 does not allow 'register' storage class specifier [-Wregister]",
           "a.cpp:18:18: error: use of an operand of type \xe2\x80\x98"
           "bool\xe2\x80\x99 in \xe2\x80\x98operator++\xe2\x80\x99 is forbidden in C++17",
           "a.cpp:18:19: error: ISO C++17 does not allow incrementing expression of type bool [-Wincrement-bool]",
           "a.cpp:16:29: error: reference to 'size' is ambiguous\na.h:2: note: candidates are: 'std::size_t "
           "std::size(const T&)'",
           "a.cpp:20:11: error: reference to 'byte' is ambiguous\na.cpp:2: note: candidate is 'byte'\na.h:2: note: "
           "candidate "
           "found by name lookup is 'std::byte'",
           "a.cpp:20:75: error: call of overloaded 'empty(std::vector<int>)' is ambiguous\na.h:2: note: candidate: "
           "'bool "
           "std::empty(const C&) [with C = vector<int>]'",
           "a.cpp:20:70: error: call to 'empty' is ambiguous\n/usr/include/c++/12/bits/range_access.h:283:5: note: "
           "candidate "
           "function [with C = std::vector<int>]",
           "a.cpp:2:1: error: no template named 'auto_ptr' in namespace 'std'",
           "a.cpp:2:1: error: use of undeclared identifier 'random_shuffle'",
           "a.cpp:2:1: error: 'bind2nd' is not a member of 'std'",
       }) {
    const std::string first = errorSinceCxx17(std::string("a.cpp:1:1: error: another one\n") + text + "\n");
    EXPECT_THAT(first, AllOf(StartsWith("a.cpp:"), Not(HasSubstr("error:")), Not(HasSubstr("another one")))) << text;
  }
}

TEST(Explanations, WhatIsAnErrorInEachStandardIsNoneSinceCxx17) {
  for (const char* text : {
           "",
           "a.cpp:1:1: error: 'nowhere' was not declared in this scope",
           "a.cpp:1:1: error: reference to 'here' is ambiguous\na.cpp:2: note: candidates are: 'int ours::here'",
           "a.cpp:1:1: error: reference to 'size' is ambiguous\na.cpp:2: note: candidates are: 'int ours::size'\n"
           "a.cpp:9:1: error: no 'std::size'",
           "a.cpp:1:1: error: reference to 'here' is ambiguous\na.cpp:2: note: candidates are: 'std::vector<int> "
           "a::here'",
           "a.cpp:1:1: error: call to 'f' is ambiguous\na.cpp:2:1: note: candidate function",
           "a.cpp:1:1: error: call of overloaded 'f(std::string)' is ambiguous\na.cpp:2: note: candidate: 'f(const "
           "char*)'",
           "a.cpp:1:1: error: 'optional' is not a member of 'std'",
           "a.cpp:1:1: error: no member named 'work' in 'auto_ptr_of_mine'",
           "a.cpp:19:24: warning: ISO C++17 does not allow 'register' storage class specifier [-Wregister]",
       })
    EXPECT_EQ(errorSinceCxx17(text), "") << text;
}

TEST(Explanations, ColoursAreReadOver) {
  const std::string printed =
      "\x1b[01m\x1b[Kpgm.cpp:1:10:\x1b[m\x1b[K \x1b[01;31m\x1b[Kfatal error: \x1b[m\x1b[Kpart.decl.h: No such file or "
      "directory\n";
  ASSERT_EQ(explainCompiler(printed).size(), 1u);
}

TEST(Explanations, TextThatSaysNothingExplainsNothing) {
  for (const char* text : {"", "\n", "error:", "error: 'CProxy_", "undefined reference to `", "in function '"}) {
    EXPECT_THAT(explainCompiler(text), IsEmpty()) << text;
    EXPECT_THAT(explainLinker(text), IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace periapt::charmc
