// Golden tests: every construct (golden/) and every error (errors/) with its expected tree, headers and messages. After
// a change on purpose:  golden_test --update  rewrites the expectations; review the difference as you would code.
#include "tests/ci-translator/golden.h"

#include <gtest/gtest.h>

#include <cstring>
#include <iostream>

namespace periapt::ci {
namespace {

const char* const suffixes[] = {".tree", ".messages", ".decl", ".def"};

class Golden : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Golden, IsAsExpected) {
  const std::map<std::string, std::string> actual = expectedFiles(GetParam());
  for (const char* suffix : suffixes) {
    std::filesystem::path expected = GetParam();
    expected.replace_extension(suffix);
    const auto found = actual.find(suffix);
    EXPECT_EQ(std::filesystem::exists(expected), found != actual.end()) << expected;
    if (found != actual.end()) {
      EXPECT_EQ(readWhole(expected), found->second) << expected;
    }
  }
}

/// An input of errors/ holds an error, and its message shows file, line, column, the line and a caret.
TEST(Errors, AreErrorsAndSayWhere) {
  for (const auto& file : ciFiles("errors")) {
    const TranslateOutput output = translateFile(file.filename().string(), readWhole(file));
    EXPECT_FALSE(output.ok) << file;
    EXPECT_TRUE(output.modules.empty()) << file;
    EXPECT_NE(output.messages.find(": error: "), std::string::npos) << file;
    EXPECT_NE(output.messages.find(" | "), std::string::npos) << file;
    EXPECT_NE(output.messages.find('^'), std::string::npos) << file;
  }
}

std::string nameOf(const testing::TestParamInfo<std::filesystem::path>& info) { return info.param.stem().string(); }
INSTANTIATE_TEST_SUITE_P(Constructs, Golden, testing::ValuesIn(ciFiles("golden")), nameOf);
INSTANTIATE_TEST_SUITE_P(Errors, Golden, testing::ValuesIn(ciFiles("errors")), nameOf);

int update() {
  for (const char* folder : {"golden", "errors"}) {
    for (const auto& file : ciFiles(folder)) {
      const std::map<std::string, std::string> actual = expectedFiles(file);
      for (const char* suffix : suffixes) {
        std::filesystem::path expected = file;
        expected.replace_extension(suffix);
        const auto found = actual.find(suffix);
        if (found == actual.end()) {
          std::filesystem::remove(expected);
        } else if (!std::filesystem::exists(expected) || readWhole(expected) != found->second) {
          std::ofstream(expected, std::ios::binary) << found->second;
          std::cout << "updated " << expected.string() << "\n";
        }
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace periapt::ci

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--update") == 0) return periapt::ci::update();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
