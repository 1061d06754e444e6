// Calls to elements that are made, move with what they get, and die: each arrives once, at the element of its index.
#include <gtest/gtest.h>

#include "runtime/array/array_routing.h"
#include "tests/array/world.h"
#include "tests/host/amount.h"

namespace periapt {
namespace {

using test::Options;
using test::World;

class RoutingFromSeeds : public testing::TestWithParam<unsigned> {
 protected:
  void TearDown() override { Location::hints_kept = 1 << 14; }

  void run(int arrays, bool restless) {
    for (unsigned round = 0; round < tests::amount(40u) && !HasFailure(); ++round) {
      const unsigned seed = 1000 * GetParam() + round;
      SCOPED_TRACE("seed " + std::to_string(seed));
      {
        Options options{static_cast<int>(1 + seed % 7), seed, arrays};
        options.restless = restless;
        World world(options);
        Location::hints_kept = round % 2 ? 1 << 14 : 2;
        for (int event = 0; event < 200 && !HasFailure(); ++event) {
          if (world.pick(10) == 0) world.make(world.pick(options.pes));
          world.disturb(60, 0, 10);
          for (int steps = world.pick(8); steps > 0 && world.step(); --steps) continue;
        }
        world.come_to_an_end();
      }
      ASSERT_EQ(test::messages_alive, 0);
    }
  }
};

TEST_P(RoutingFromSeeds, BringsEachCallOnce) { run(1, false); }
TEST_P(RoutingFromSeeds, BringsEachCallOnceToElementsThatMoveWithIt) { run(1, true); }
TEST_P(RoutingFromSeeds, BringsEachCallOnceToBoundElements) { run(2, true); }
INSTANTIATE_TEST_SUITE_P(Seeds, RoutingFromSeeds, testing::Range(0u, 8u));

TEST(Routing, TellsSendersThatMadeADetour) {
  for (unsigned seed = 0; seed < tests::amount(40u); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    constexpr int pes = 6;
    World world({pes, seed});
    world.make_everywhere();
    world.insert(0, 1, world.pick(pes));
    world.drain();
    for (int moves = 0; moves < 5; ++moves) {
      world.order_migration(0, 1, world.pick(pes), world.pick(pes));
      world.drain();
      for (int from = 0; from < pes; ++from) {
        world.call(0, 1, from);
        world.drain();
        const int again = world.call(0, 1, from);
        world.drain();
        EXPECT_EQ(world.hops_of(again), 0) << "from PE " << from << ", after " << moves + 1 << " moves";
      }
    }
    world.come_to_an_end();
  }
}

// The element leaves as soon as the call comes: each place is younger than the one before, however many they are.
TEST(Routing, FollowsAnElementThatIsAlwaysGone) {
  for (unsigned seed = 0; seed < tests::amount(20u); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    constexpr int pes = 5;
    World world({pes, seed});
    world.make_everywhere();
    world.insert(0, 1, world.pick(pes));
    world.drain();
    world.flee(1000);
    for (int from = 0; from < pes; ++from) world.call(0, 1, from);
    world.come_to_an_end();
  }
}

}  // namespace
}  // namespace periapt
