// Broadcasts to arrays that are being made and whose elements move meanwhile: each element gets each one once, in one
// order, which keeps that of each sender; and what is kept for those under way goes when none needs it any more.
#include <gtest/gtest.h>

#include "runtime/array/array_broadcasts.h"
#include "tests/array/world.h"
#include "tests/host/amount.h"

namespace periapt {
namespace {

using test::Options;
using test::World;

class BroadcastsFromSeeds : public testing::TestWithParam<unsigned> {
 protected:
  void run(int arrays, bool restless) {
    for (unsigned round = 0; round < tests::amount(25u) && !HasFailure(); ++round) {
      const unsigned seed = 1000 * GetParam() + round;
      SCOPED_TRACE("seed " + std::to_string(seed));
      {
        Options options{static_cast<int>(1 + seed % 7), seed, arrays};
        options.restless = restless;
        World world(options);
        for (int event = 0; event < 250 && !HasFailure(); ++event) {
          if (world.pick(10) == 0) world.make(world.pick(options.pes));
          world.disturb(5, 50, 8);
          for (int steps = world.pick(12); steps > 0 && world.step(); --steps) continue;
        }
        world.come_to_an_end();
      }
      ASSERT_EQ(test::messages_alive, 0);
    }
  }
};

TEST_P(BroadcastsFromSeeds, GiveEachElementEachOnceInOrder) { run(1, false); }
TEST_P(BroadcastsFromSeeds, GiveThemToElementsThatMoveDieAndAreMadeMeanwhile) { run(1, true); }
TEST_P(BroadcastsFromSeeds, GiveThemToBoundElements) { run(2, true); }
INSTANTIATE_TEST_SUITE_P(Seeds, BroadcastsFromSeeds, testing::Range(0u, 8u));

TEST(Broadcasts, AreNotKeptWhenAllElementsHaveThem) {
  for (unsigned seed = 0; seed < tests::amount(20u); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world({5, seed});
    world.make_everywhere();
    for (int index = 0; index < 6; ++index) world.insert(0, index, world.pick(5));
    for (int i = 0; i < 150; ++i) {
      world.broadcast(0, world.pick(5));
      world.order_migration(0, world.pick(6), world.pick(5), world.pick(5));
      for (int steps = world.pick(20); steps > 0 && world.step(); --steps) continue;
    }
    world.drain();
    // The mark of one question goes along with what follows the last answer.
    for (int i = 0; i < 40; ++i) {
      world.broadcast(0, world.pick(5));
      world.drain();
    }
    EXPECT_LE(test::messages_alive, 40);
    world.come_to_an_end();
  }
}

}  // namespace
}  // namespace periapt
