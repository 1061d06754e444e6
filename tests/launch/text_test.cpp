// The texts of launchers: commands, answers, process mappings. What comes from outside may be anything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/bootstrap/pmi_text.h"
#include "machine/bootstrap/process_mapping.h"

namespace periapt::bootstrap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::vector<int> mapped(const std::string& text, int size) {
  Result<std::vector<int>> hosts = parse_process_mapping(text, size);
  EXPECT_TRUE(hosts.ok()) << hosts.message();
  return hosts.ok() ? *hosts : std::vector<int>();
}
std::string refusal(const std::string& text, int size = 4) {
  Result<std::vector<int>> hosts = parse_process_mapping(text, size);
  EXPECT_FALSE(hosts.ok()) << text;
  return hosts.message();
}

TEST(ProcessMapping, BlocksOfHydraAndSlurm) {
  EXPECT_THAT(mapped("(vector,(0,1,4))", 4), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(mapped("(vector,(0,4,2))", 8), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(mapped("(vector,(0,1,4),(1,1,2),(2,2,1))", 8), ElementsAre(0, 0, 0, 0, 1, 1, 2, 3));
  EXPECT_THAT(mapped("(vector,(0,1,3),(1,1,1))", 4), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(mapped("( vector, ( 0 , 2 , 1 ) )", 2), ElementsAre(0, 1));
}

TEST(ProcessMapping, TheBlocksAreGoneThroughAgainUntilAllRanksAreOnANode) {
  EXPECT_THAT(mapped("(vector,(0,2,1))", 5), ElementsAre(0, 1, 0, 1, 0));
  EXPECT_THAT(mapped("(vector,(0,1,1),(3,1,2))", 6), ElementsAre(0, 3, 3, 0, 3, 3));
  EXPECT_THAT(mapped("(vector,(0,4,2))", 3), ElementsAre(0, 0, 1)) << "more places than ranks";
}

TEST(ProcessMapping, WhatIsNoMappingSaysWhere) {
  EXPECT_THAT(refusal(""), HasSubstr("expected \"(vector\""));
  EXPECT_THAT(refusal("(matrix,(0,1,1))"), HasSubstr("expected \"(vector\""));
  EXPECT_THAT(refusal("(vector)"), HasSubstr("places no process"));
  EXPECT_THAT(refusal("(vector,(0,1,0))"), HasSubstr("places no process"));
  EXPECT_THAT(refusal("(vector,(0,0,7))"), HasSubstr("places no process"));
  EXPECT_THAT(refusal("(vector,(0,1))"), HasSubstr("expected (first,nodes,each) at character 12"));
  EXPECT_THAT(refusal("(vector,(0,-1,1))"), HasSubstr("expected (first,nodes,each)"));
  EXPECT_THAT(refusal("(vector,(0,1,1)"), HasSubstr("expected the end"));
  EXPECT_THAT(refusal("(vector,(0,1,1))x"), HasSubstr("expected the end"));
  EXPECT_THAT(refusal("(vector,(0,99999999999,1))"), HasSubstr("expected (first,nodes,each)"));
}

TEST(Pmi1, ALineIsWordsOfNameAndValue) {
  EXPECT_THAT(
      parse_pmi1("cmd=get_result rc=0 value=(vector,(0,1,1)) msg=a=b"),
      ElementsAre(Pair("cmd", "get_result"), Pair("msg", "a=b"), Pair("rc", "0"), Pair("value", "(vector,(0,1,1))")));
  EXPECT_THAT(parse_pmi1("  noise =x cmd=  a=1\n"), ElementsAre(Pair("a", "1"), Pair("cmd", "")));
  EXPECT_EQ(format_pmi1({{"cmd", "put"}, {"key", "k"}}), "cmd=put key=k\n");
}

TEST(Pmi2, ARecordHasALengthAndDoubledSemicolons) {
  EXPECT_EQ(format_pmi2({{"cmd", "kvs-put"}, {"value", "a;b"}}), "    23cmd=kvs-put;value=a;;b;");
  EXPECT_THAT(
      parse_pmi2("cmd=kvs-get-response;found=TRUE;value=a;;=b;rc=0;"),
      ElementsAre(Pair("cmd", "kvs-get-response"), Pair("found", "TRUE"), Pair("rc", "0"), Pair("value", "a;=b")));
  EXPECT_THAT(parse_pmi2("cut=short"), ElementsAre());
}

TEST(Pmi2, LengthsAreSixCharacters) {
  EXPECT_EQ(parse_pmi2_length("    26"), 26);
  EXPECT_EQ(parse_pmi2_length("26    "), 26);
  EXPECT_EQ(parse_pmi2_length("999999"), 999999);
  for (const char* wrong : {"      ", "2 6   ", "    -1", "26", "cmd=in", "0x1234"}) {
    EXPECT_EQ(parse_pmi2_length(wrong), -1) << wrong;
  }
}

TEST(PmiText, NumbersOrTheFallback) {
  PmiFields fields = {{"rc", "-1"}, {"empty", ""}, {"word", "12x"}};
  EXPECT_EQ(pmi_number(fields, "rc", 7), -1);
  for (const char* name : {"empty", "word", "missing"}) EXPECT_EQ(pmi_number(fields, name, 7), 7) << name;
}

TEST(PmiText, AnyBytesComeBackFromTheirText) {
  std::string bytes;
  for (int i = 0; i < 700; ++i) {
    std::string text = encode_text(bytes), back;
    EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
              std::string::npos);
    ASSERT_TRUE(decode_text(text, back));
    ASSERT_EQ(back, bytes);
    bytes += static_cast<char>(i * 37);
  }
  std::string back;
  EXPECT_FALSE(decode_text("a", back)) << "six bits are no byte";
  EXPECT_FALSE(decode_text("ab=c", back));
}

}  // namespace
}  // namespace periapt::bootstrap
