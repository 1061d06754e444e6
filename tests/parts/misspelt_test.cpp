// Which options of ours an argument that goes to the program was probably meant to be.
#include "runtime/scheduler/misspelt.h"

#include <gtest/gtest.h>

namespace periapt {
namespace {

TEST(Misspelt, TheNearestOptionIsMeant) {
  EXPECT_EQ(meant_option("+pnn"), "ppn");
  EXPECT_EQ(meant_option("+pnn2"), "ppn");
  EXPECT_EQ(meant_option("++ppm"), "ppn");
  EXPECT_EQ(meant_option("+ppn=2"), "ppn") << "the name is right, but a value does not stand behind it like that";
  EXPECT_EQ(meant_option("+wathdog"), "watchdog");
  EXPECT_EQ(meant_option("+transport"), "transports");
  EXPECT_EQ(meant_option("+balanser"), "balancer");
  EXPECT_EQ(meant_option("+setcpuafinnity"), "setcpuaffinity");
}

TEST(Misspelt, WhatAProgramMayHaveOfItsOwnIsLeftAlone) {
  for (const char* argument : {"pnn", "-pnn", "--ppn", "+", "++", "+x", "+5", "+t4", "+iterations", "+cells", "+check",
                               "a+ppn", "", "+isomalloc_sync", "+CmiSleepOnIdle"})
    EXPECT_EQ(meant_option(argument), "") << argument;
}

}  // namespace
}  // namespace periapt
