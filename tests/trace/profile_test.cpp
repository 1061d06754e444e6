// The profile of a PE, on times that are easy to follow.
#include "runtime/trace/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using periapt::trace::Profile;
using testing::HasSubstr;

namespace {

constexpr std::uint64_t ms = 1000000;

TEST(Profile, ShowsWhichPartOfAnIntervalWasBusyAndIdle) {
  Profile profile(1, 4, 3, 8, 1e-3, false);
  profile.called(2);
  profile.executed(2, ms / 2, 2 * ms + ms / 4);
  profile.idled(2 * ms + ms / 4, 3 * ms);
  EXPECT_EQ(profile.text(4 * ms - 1),
            "ver:7.1 1/4 count:4 ep:3 interval:1.000000e-03 phases:0\n"
            "  50 100  25   0\n"
            "EPExeTime: 0 0 1750 \n"
            "EPCallTime: 0 0 1 \n"
            "MaxEPTime: 0 0 1750 \n"
            "NumMarks: 0 \n"
            "IdlePercent:    0+2  75   0\n");
}

TEST(Profile, IntervalsBecomeLongerWhenTheRunOutgrowsThem) {
  Profile profile(0, 1, 1, 4, 1e-3, true);
  for (std::uint64_t i = 0; i < 4; ++i) profile.executed(0, i * ms, i * ms + ms / 2);
  profile.executed(0, 9 * ms, 10 * ms);
  const std::string text = profile.text(10 * ms);
  EXPECT_THAT(text, HasSubstr("count:3 ep:1 interval:4.000000e-03"));
  EXPECT_THAT(text, HasSubstr("\n  50   0  25\n"));
  EXPECT_THAT(text, HasSubstr("EPExeTime: 3000 \n"));
  EXPECT_THAT(profile.text_by_interval(10 * ms), HasSubstr("ExeTimePerEPperInterval 2000 0 1000\n"
                                                           "EPCallTimePerInterval 4 0 1\n"));
}

TEST(Profile, ARunWithoutAnythingIsOneInterval) {
  EXPECT_THAT(Profile(0, 1, 1, 4, 1e-3, false).text(0), HasSubstr("count:1 ep:1"));
}

}  // namespace
