// The parts of the translator one by one: places in the text, tokens, words that are near, types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "lang/ci-translator/lexer.h"
#include "lang/ci-translator/parser.h"
#include "lang/ci-translator/translate.h"
#include "lang/ci-translator/words.h"
#include "lang/ci-translator/writer.h"

namespace periapt::ci {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> tokensOf(const std::string& text) {
  SourceText source(text, "t.ci");
  Diagnostics diagnostics(source);
  std::vector<std::string> out;
  for (const Token& token : tokenize(source, {}, diagnostics))
    if (token.kind != TokenKind::end) out.emplace_back(token.text);
  return out;
}

TEST(Source, LineMarkersSayWhereALineWas) {
  const std::string text = "# 1 \"a.ci\"\nfirst\n# 7 \"b.h\" 1\nsecond\nthird\n# 3 \"a.ci\" 2\nfourth";
  SourceText source(text, "ignored.ci");
  EXPECT_EQ(source.fileOf(text.find("first")), "a.ci");
  EXPECT_EQ(source.lineOf(text.find("first")), 1u);
  EXPECT_EQ(source.fileOf(text.find("third")), "b.h");
  EXPECT_EQ(source.lineOf(text.find("third")), 8u);
  EXPECT_EQ(source.fileOf(text.find("fourth")), "a.ci");
  EXPECT_EQ(source.lineOf(text.find("fourth")), 3u);
}

TEST(Source, TheAuthorsLineIsShownAndColumnsFollowIt) {
  const std::string squeezed = "# 1 \"a.ci\"\nreadonly int x;";
  SourceText source(squeezed, "a.ci");
  source.setOriginal("a.ci", "  readonly \t int    x;\n");
  const std::size_t x = squeezed.find('x');
  const Location at = source.locate({x, x + 1});
  EXPECT_EQ(at.lineText, "  readonly \t int    x;");
  EXPECT_EQ(at.column, 21u);
  EXPECT_EQ(at.width, 1u);
  const Location behind = source.locate({squeezed.size(), squeezed.size()});
  EXPECT_EQ(behind.column, 23u);
}

TEST(Source, ALineThatAMacroChangedIsShownAsItIsRead) {
  const std::string text = "readonly int x[4];";
  SourceText source(text, "a.ci");
  source.setOriginal("a.ci", "readonly int x[SIZE];");
  EXPECT_EQ(source.locate({text.find('4'), text.find('4') + 1}).lineText, text);
}

TEST(Lexer, TokensAreThoseOfCxx) {
  EXPECT_THAT(tokensOf("a::b<c<1>>d"), ElementsAre("a", "::", "b", "<", "c", "<", "1", ">", ">", "d"));
  EXPECT_THAT(tokensOf("f(...)->x"), ElementsAre("f", "(", "...", ")", "->", "x"));
  EXPECT_THAT(tokensOf("1'000 0x1p-3 1e+5 1E-3 .5f 64K 1D 2-1"),
              ElementsAre("1'000", "0x1p-3", "1e+5", "1E-3", ".5f", "64K", "1D", "2", "-", "1"));
  EXPECT_THAT(tokensOf("'\\'' \"a\\\"b\" R\"x(a)\")x\" c"), ElementsAre("'\\''", "\"a\\\"b\"", "R\"x(a)\")x\"", "c"));
  EXPECT_THAT(tokensOf("a/*b*/c//d\ne"), ElementsAre("a", "c", "e"));
}

TEST(Nearest, FindsWhatWasMeant) {
  EXPECT_EQ(nearest("gruop", {"group", "array"}), "group");
  EXPECT_EQ(nearest("reductionTarget", {"reductiontarget", "threaded"}), "reductiontarget");
  EXPECT_EQ(nearest("threadd", {"sync", "threaded"}), "threaded");
  EXPECT_EQ(nearest("banana", {"group", "array"}), "");
  EXPECT_EQ(nearest("", {"group"}), "");
}

/// The type of the only parameter of an entry, as the parser understood it.
Type typeOf(const std::string& written) {
  SourceText source("module m { chare A { entry void f(" + written + " x, int other); }; };", "t.ci");
  Diagnostics diagnostics(source);
  const File file = parse(source, {}, diagnostics);
  EXPECT_EQ(diagnostics.errors(), 0) << diagnostics.render();
  if (diagnostics.errors()) return {};
  const Module& module = std::get<Module>(file.items.at(0).node);
  return entriesOf(std::get<Chare>(module.items.at(0).node)).at(0)->parameters.at(0).type;
}

TEST(Types, AreWrittenAsTheyWereRead) {
  for (const char* text : {"int", "unsigned long long int", "std::size_t", "const std::vector<std::pair<int, long>>&",
                           "std::array<int, (4 > 3) ? 2 : 1>", "::a::b<c>::d", "typename T::type", "Thing&&",
                           "const char*", "void* const", "std::function<void(int, char)>", "decltype(f(1))"})
    EXPECT_EQ(typeOf(text).text(), text);
  EXPECT_EQ(typeOf("int const").text(), "const int");
  EXPECT_EQ(typeOf("struct Plain").text(), "Plain");
}

TEST(Types, AreTakenApart) {
  const Type type = typeOf("const a::b<int>::Message<2>*&");
  EXPECT_EQ(type.qualifier, "a::b<int>::");
  EXPECT_EQ(type.name, "Message");
  EXPECT_EQ(type.arguments, "<2>");
  EXPECT_TRUE(type.isConst);
  EXPECT_EQ(type.pointers.size(), 1u);
  EXPECT_EQ(type.references, 1);
}

TEST(Words, OverloadsThatCxxCannotTellApartAreEqual) {
  auto key = [](const std::string& parameters) {
    SourceText source("module m { chare A { entry void f(" + parameters + "); }; };", "t.ci");
    Diagnostics diagnostics(source);
    const File file = parse(source, {}, diagnostics);
    return overloadKey(*entriesOf(std::get<Chare>(std::get<Module>(file.items.at(0).node).items.at(0).node)).at(0));
  };
  EXPECT_EQ(key("int a"), key("const int b"));
  EXPECT_EQ(key("int n, double x[n]"), key("int m, const double y[m * 2]"));
  EXPECT_EQ(key("std::pair<int,int> p"), key("const std::pair<int, int>& q"));
  EXPECT_NE(key("int a"), key("long a"));
  EXPECT_NE(key("int a"), key("int a, int b"));
}

TEST(Writer, LineDirectivesLeadThereAndBack) {
  SourceText source("one\ntwo\nthree", "x.ci");
  Writer out(source, "x.def.h");
  out.line("first");
  out.lineAt(4, "of line two");
  out.line("fifth");
  EXPECT_EQ(out.take(), "first\n#line 2 \"x.ci\"\nof line two\n#line 5 \"x.def.h\"\nfifth\n");
}

TEST(Translate, ModulesAndTheModulesTheyName) {
  TranslateInput input;
  input.file = "t.ci";
  input.text = "mainmodule a { extern module b; }; module c {};";
  const TranslateOutput output = translate(input);
  ASSERT_TRUE(output.ok) << output.messages;
  ASSERT_EQ(output.modules.size(), 2u);
  EXPECT_EQ(output.modules[0].name, "a");
  EXPECT_TRUE(output.modules[0].isMain);
  EXPECT_THAT(output.modules[0].externModules, ElementsAre("b"));
  EXPECT_THAT(output.modules[0].decl, HasSubstr("#include \"b.decl.h\""));
  EXPECT_FALSE(output.modules[1].isMain);
}

TEST(Translate, WarningsDoNotStopIt) {
  TranslateInput input;
  input.file = "t.ci";
  input.text = "module m { initcall f; };";
  const TranslateOutput output = translate(input);
  EXPECT_TRUE(output.ok);
  EXPECT_THAT(output.messages, HasSubstr("t.ci:1:12: warning: "));
}

}  // namespace
}  // namespace periapt::ci
