// Generated code is code: the programs of programs/ are translated by charmc and given to the compiler, in C++17 and
// C++14, against the border (border/charm++.h) and, when the tree has it, against the runtime's own headers. A class
// that does not match its .ci gets a sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ci-translator/charmc_fixture.h"

namespace periapt::charmc {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Compile : public CharmcFixture {
 protected:
  /// Compiles `source` of the folder without writing anything. `headers` is where charm++.h is.
  Outcome check(const std::string& source, const std::string& headers, const std::string& more = "-std=c++17") {
    return run(std::string(PERIAPT_CXX) + " -fsyntax-only -Wall -Wextra -Wno-unused-parameter " + more + " -I. " +
               headers + " -I" + programs() + " " + source);
  }
  static std::string programs() { return std::string(PERIAPT_GOLDEN_DIR) + "/programs"; }
  static std::string border() { return std::string("-I") + PERIAPT_GOLDEN_DIR + "/border -I" + PERIAPT_SOURCE_DIR; }
  static std::string runtime() { return std::string("-I") + PERIAPT_SOURCE_DIR + "/include -I" + PERIAPT_SOURCE_DIR; }
};

class Programs : public Compile, public testing::WithParamInterface<const char*> {};

TEST_P(Programs, CompileAgainstTheBorder) {
  ASSERT_EQ(charmc(programs() + "/" + GetParam() + ".ci").status, 0);
  for (const char* standard : {"-std=c++17 -Werror", "-std=c++14 -Wno-c++17-extensions"}) {
    const Outcome outcome = check(programs() + "/" + GetParam() + ".cpp", border(), standard);
    EXPECT_EQ(outcome.status, 0) << outcome.text;
  }
}

TEST_P(Programs, CompileAgainstTheRuntime) {
  if (!std::filesystem::exists(std::string(PERIAPT_SOURCE_DIR) + "/include/charm++.h"))
    GTEST_SKIP() << "this tree has no include/charm++.h";
  ASSERT_EQ(charmc(programs() + "/" + GetParam() + ".ci").status, 0);
  const Outcome outcome = check(programs() + "/" + GetParam() + ".cpp", runtime());
  EXPECT_EQ(outcome.status, 0) << outcome.text;
}

INSTANTIATE_TEST_SUITE_P(All, Programs, testing::Values("kinds", "more"));

/// A module with one chare, whose class is written in each test.
class Mismatch : public Compile {
 protected:
  Outcome compileClass(const std::string& text, const std::string& standard = "-std=c++17") {
    write("m.ci",
          "module m {\n  message Note;\n  group G {\n    entry G(int k);\n    entry void work(int n, double x[n]);\n"
          "    entry void take(Note* m);\n  };\n};\n");
    write("m.cpp", "#include \"m.decl.h\"\n" + text + "\n#include \"m.def.h\"\n");
    EXPECT_EQ(charmc("m.ci").status, 0);
    return check("m.cpp", border(), standard);
  }
  static constexpr const char* note = "class Note : public CMessage_Note {};\n";
};

TEST_F(Mismatch, NoneIsNoError) {
  const Outcome outcome = compileClass(
      std::string(note) + "struct G : CBase_G { G(int) {} void work(int, double*) {} void take(Note*) {} };");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
}

TEST_F(Mismatch, AMethodIsMissing) {
  const std::string text =
      std::string(note) + "struct G : CBase_G { G(int) {} void work(int, float*) {} void take(Note*) {} };";
  for (const char* standard : {"-std=c++17", "-std=c++14 -Wno-c++17-extensions"}) {
    const Outcome outcome = compileClass(text, standard);
    EXPECT_NE(outcome.status, 0);
    EXPECT_THAT(outcome.text, HasSubstr("m.ci:5: class G has no method work(int, double*) that is public, which "
                                        "'entry void work(int n, double x[n])' asks for"));
    EXPECT_THAT(outcome.text, Not(HasSubstr("has no method take")));
  }
}

TEST_F(Mismatch, AMethodIsPrivate) {
  const Outcome outcome = compileClass(
      std::string(note) +
      "class G : public CBase_G { public: G(int) {} void work(int, double*) {} private: void take(Note*) {} };");
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.text, HasSubstr("m.ci:6: class G has no method take(Note*)"));
}

TEST_F(Mismatch, APostEntryMethodIsMissing) {
  write("p.ci",
        "module p {\n  group G {\n    entry G();\n    entry void work(int n, nocopypost double x[n]);\n  };\n};\n");
  ASSERT_EQ(charmc("p.ci").status, 0);
  const std::string with = "#include \"p.decl.h\"\nstruct G : CBase_G {\n  G() {}\n  void work(int, double*) {}\n";
  write("p.cpp", with + "};\n#include \"p.def.h\"\n");
  const Outcome outcome = check("p.cpp", border());
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.text, HasSubstr("p.ci:4: class G has no post entry method work(int, double*, CkNcpyBufferPost*) "
                                      "that is public"));
  write("p.cpp", with + "  void work(int, double*&, CkNcpyBufferPost*) {}\n};\n#include \"p.def.h\"\n");
  EXPECT_EQ(check("p.cpp", border()).status, 0);
}

TEST_F(Mismatch, AReadonlyPointerHasNoOperator) {
  write("r.ci", "module r {\n  readonly int* numbers;\n  readonly Config* configs[3];\n};\n");
  ASSERT_EQ(charmc("r.ci").status, 0);
  const std::string begin = "#include \"r.decl.h\"\nstruct Config {};\nint* numbers;\nConfig* configs[3];\n";
  const std::string end = "#include \"r.def.h\"\n";
  const std::string why =
      " is a pointer, and what it points to does not exist on other processes: use an array of a "
      "fixed size or a std::vector, or write operator|(PUP::er&, ";
  for (const char* standard : {"-std=c++17", "-std=c++14 -Wno-c++17-extensions"}) {
    write("r.cpp", begin + end);
    const Outcome outcome = check("r.cpp", runtime(), standard);
    EXPECT_NE(outcome.status, 0);
    EXPECT_THAT(outcome.text, HasSubstr("r.ci:2: the readonly numbers" + why + "int*&)"));
    EXPECT_THAT(outcome.text, HasSubstr("r.ci:3: the readonly configs" + why + "Config*&)"));
    write("r.cpp", begin + "void operator|(PUP::er&, int*&) {}\nvoid operator|(PUP::er&, Config*&) {}\n" + end);
    const Outcome right = check("r.cpp", runtime(), standard);
    EXPECT_EQ(right.status, 0) << right.text;
  }
}

TEST_F(Mismatch, AConstructorIsMissing) {
  const Outcome outcome =
      compileClass(std::string(note) + "struct G : CBase_G { void work(int, double*) {} void take(Note*) {} };");
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.text, HasSubstr("m.ci:4: class G has no constructor G(int)"));
}

TEST_F(Mismatch, TheBaseIsMissing) {
  const Outcome outcome =
      compileClass(std::string(note) + "struct G { G(int) {} void work(int, double*) {} void take(Note*) {} };");
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.text, HasSubstr("m.ci:3: group G: class G has to be derived from CBase_G"));
}

/// The machine of a class that derives from no CBase_X is its own alone.
TEST_F(Mismatch, ABodyNeedsTheRootThatAMemberIsNot) {
  const auto outcome = [this](const std::string& ci, const std::string& classes) {
    write("o.ci", "module o {\n" + ci + "};\n");
    write("o.cpp", "#include \"o.decl.h\"\n" + classes + "\n#include \"o.def.h\"\n");
    EXPECT_EQ(charmc("o.ci").status, 0);
    return check("o.cpp", runtime());
  };
  const std::string derived =
      "chare A { entry A(); entry void low(int x); entry void up() { when low(int x) serial { } }; };\n"
      "chare B : A { entry B(); entry void down() { when low(int x) serial { } }; };\n";
  const std::string b = "class B : public CBase_B { B_SDAG_CODE public: B() {} };\n";
  const Outcome older = outcome(derived, "class A : public Chare { A_SDAG_CODE public: A() {} };\n" + b);
  EXPECT_NE(older.status, 0);
  EXPECT_THAT(older.text,
              HasSubstr("o.ci:3: a when waits for 'low' of a base: class A has to be derived from CBase_A"));
  const Outcome right = outcome(derived, "class A : public CBase_A { A_SDAG_CODE public: A() {} };\n" + b);
  EXPECT_EQ(right.status, 0) << right.text;

  const Outcome several = outcome(
      "chare A { entry A(); };\nchare B { entry B(); };\n"
      "chare C : A, B { entry C(); entry void go(); entry void run() { when go() serial { } }; };\n",
      "class A : public CBase_A { public: A() {} };\nclass B : public CBase_B { public: B() {} };\n"
      "class C : public A, public B { C_SDAG_CODE public: C() {} };\n");
  EXPECT_NE(several.status, 0);
  EXPECT_THAT(several.text, HasSubstr("o.ci:4: entries of a chare with several bases have bodies: class C has to be "
                                      "derived from CBase_C"));

  const Outcome of_template = outcome(
      "template <class T> chare A { entry A(); entry void go(T x); entry void run() { when go(T x) serial { } }; };\n"
      "chare A<int>;\n",
      "template <class T> class A : public Chare { A_SDAG_CODE public: A() {} };\n"
      "#define CK_TEMPLATES_ONLY\n#include \"o.def.h\"\n#undef CK_TEMPLATES_ONLY\n");
  EXPECT_NE(of_template.status, 0);
  EXPECT_THAT(of_template.text,
              HasSubstr("o.ci:2: entries of a template have bodies: class A has to be derived from CBase_A"));
}

TEST_F(Mismatch, TheClassIsMissing) {
  const Outcome outcome = compileClass(note);
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.text, HasSubstr("m.ci:3: group G needs a class of that name"));
}

TEST_F(Mismatch, TheMessageIsMissing) {
  const Outcome outcome =
      compileClass("struct G : CBase_G { G(int) {} void work(int, double*) {} void take(Note*) {} };");
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.text, HasSubstr("m.ci:2: message Note needs a class Note : public CMessage_Note"));
}

}  // namespace
}  // namespace periapt::charmc
