// A wait for what cannot come ends by itself, and says what each side has; one in which anything moves does not.
#include "tests/machine/standstill.h"

namespace periapt::test {
namespace {

TEST(StandstillDeathTest, EndsWithTheNameOfTheTestAndTheStateOfBothSides) {
  const auto wait = [] {
    Standstill standstill([] { return std::string("a: sent 3\nb: arrived 2"); }, 0);
    while (true) standstill.look(false);
  };
  EXPECT_EXIT(wait(), ::testing::ExitedWithCode(1),
              "StandstillDeathTest.Ends.*: nothing has moved for 0 s\na: sent 3\nb: arrived 2");
}

TEST(Standstill, IsNoneWhileAnythingMoves) {
  Standstill standstill([] { return std::string(); }, 0);
  for (int round = 0; round < 10'000; ++round) standstill.look(round % 300 == 0);  // it sleeps, too
}

}  // namespace
}  // namespace periapt::test
