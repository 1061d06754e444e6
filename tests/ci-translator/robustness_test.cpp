// Input from outside is never trusted: truncated and damaged files end in messages, not in a crash or a loop. Each
// golden input is cut at every byte and damaged at random places, with seeds that a failure names.
#include <gtest/gtest.h>

#include <random>

#include "tests/ci-translator/golden.h"

namespace periapt::ci {
namespace {

class Robustness : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Robustness, EveryTruncation) {
  const std::string text = readWhole(GetParam());
  const std::size_t step = 1 + text.size() / 400;
  for (std::size_t length = 0; length < text.size(); length += step) {
    const TranslateOutput output = translateFile("cut.ci", text.substr(0, length));
    EXPECT_TRUE(output.ok || !output.messages.empty()) << "cut to " << length << " bytes";
  }
}

TEST_P(Robustness, DamagedBytes) {
  const std::string text = readWhole(GetParam());
  if (text.empty()) return;
  static const std::string signs = "{}()[]<>;:,*&=#\"'/\\.\n \t\0\x80 0Da_";
  for (unsigned seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    std::string damaged = text;
    for (unsigned i = 0; i < 1 + seed % 7; ++i) {
      const std::size_t at = random() % damaged.size();
      switch (random() % 4) {
        case 0:
          damaged[at] = static_cast<char>(random());
          break;
        case 1:
          damaged[at] = signs[random() % signs.size()];
          break;
        case 2:
          damaged.erase(at, random() % 12 + 1);
          break;
        case 3:
          damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 40));
          break;
      }
      if (damaged.empty()) damaged = ";";
    }
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TranslateOutput output = translateFile("damaged.ci", damaged);
    EXPECT_TRUE(output.ok || output.messages.find("error: ") != std::string::npos);
  }
}

std::string nameOf(const testing::TestParamInfo<std::filesystem::path>& info) { return info.param.stem().string(); }
INSTANTIATE_TEST_SUITE_P(Constructs, Robustness, testing::ValuesIn(ciFiles("golden")), nameOf);
INSTANTIATE_TEST_SUITE_P(Errors, Robustness, testing::ValuesIn(ciFiles("errors")), nameOf);

TEST(Robustness, DeepNestingIsAnErrorNotAnOverflow) {
  for (const char* open :
       {"namespace n { ", "{ ", "extern { ", "chare A { entry void f() { if (x) { ", "readonly a<b<"}) {
    std::string text = "module m { ";
    for (int i = 0; i < 100000; ++i) text += open;
    const TranslateOutput output = translateFile("deep.ci", text);
    EXPECT_FALSE(output.ok) << open;
  }
  std::string sdag = "module m { chare A { entry void f() { ";
  for (int i = 0; i < 100000; ++i) sdag += "while (x) { ";
  EXPECT_FALSE(translateFile("deep.ci", sdag).ok);
  std::string types = "module m { readonly ";
  for (int i = 0; i < 100000; ++i) types += "a<";
  EXPECT_FALSE(translateFile("deep.ci", types).ok);
}

TEST(Robustness, LongFilesTakeLinearTime) {
  std::string text = "module m {\n";
  for (int i = 0; i < 20000; ++i) text += "  readonly int x" + std::to_string(i) + ";\n";
  EXPECT_TRUE(translateFile("long.ci", text + "};\n").ok);
}

}  // namespace
}  // namespace periapt::ci
