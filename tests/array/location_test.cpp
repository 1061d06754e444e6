// Where the elements of an array are: they are made anywhere, claim their index, are told to migrate before that is
// answered, die, and are made again; whatever was late, all PEs find each of them in the end.
#include "runtime/array/location.h"

#include <gtest/gtest.h>

#include "tests/array/world.h"
#include "tests/host/amount.h"

namespace periapt {
namespace {

using test::Options;
using test::World;

class LocationFromSeeds : public testing::TestWithParam<unsigned> {
 protected:
  void TearDown() override { Location::hints_kept = 1 << 14; }

  void run(int arrays) {
    for (unsigned round = 0; round < tests::amount(40u) && !HasFailure(); ++round) {
      const unsigned seed = 1000 * GetParam() + round;
      SCOPED_TRACE("seed " + std::to_string(seed));
      {
        World world({static_cast<int>(1 + seed % 7), seed, arrays});
        Location::hints_kept = round % 2 ? 1 << 14 : 2;
        world.make_everywhere();
        for (int phase = 0; phase < 6 && !HasFailure(); ++phase) {
          for (int event = 0; event < 40 && !HasFailure(); ++event) {
            world.disturb(10, 0, 20);
            for (int steps = world.pick(8); steps > 0 && world.step(); --steps) continue;
          }
          world.drain();
          world.check_places();
        }
        world.come_to_an_end();
      }
      ASSERT_EQ(test::messages_alive, 0);
    }
  }
};

TEST_P(LocationFromSeeds, FindsElementsThatAreMadeMoveAndDie) { run(1); }
TEST_P(LocationFromSeeds, KeepsBoundElementsTogether) { run(2); }
TEST_P(LocationFromSeeds, KeepsElementsOfThreeArraysTogether) { run(3); }
INSTANTIATE_TEST_SUITE_P(Seeds, LocationFromSeeds, testing::Range(0u, 8u));

TEST(Location, RefusesASecondElementOfAnIndex) {
  for (unsigned seed = 0; seed < tests::amount(60u); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world({5, seed});
    world.make_everywhere();
    const int first = world.pick(5), second = world.pick(5);
    world.insert(0, 1, first);
    if (seed % 2) world.drain();
    world.insert_again(0, 1, second);
    try {
      world.drain();
      FAIL() << "on PE " << first << " and on PE " << second;
    } catch (const test::Refused& refused) {
      EXPECT_EQ(refused.index, 1);
      EXPECT_EQ(refused.first + refused.second, first + second);
    }
  }
}

TEST(Location, MigratesAsSoonAsItsHomeHasAnswered) {
  for (unsigned seed = 0; seed < tests::amount(40u); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world({6, seed});
    world.make_everywhere();
    const int pe = world.pick(6);
    world.insert(0, 3, pe);
    while (world.place_of(0, 3) < 0) ASSERT_TRUE(world.step());
    for (int times = world.pick(3); times >= 0; --times) world.order_migration(0, 3, pe, world.pick(6));
    const int last = world.pick(6);
    if (world.place_of(0, 3) == pe) world.order_migration(0, 3, pe, last);
    world.come_to_an_end();
  }
}

// The claim is of an element that dies meanwhile, and is made again elsewhere; one that is bound to it stays.
TEST(Location, TakesNoElementForASecondOneWhenTheFirstHasDied) {
  for (unsigned seed = 0; seed < tests::amount(200u); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world({4, seed, 2});
    world.make_everywhere();
    const int pe = world.pick(4), other = world.pick(4);
    for (int array = 0; array < 2; ++array) {
      world.insert(array, 3, pe);
      while (world.place_of(array, 3) < 0 && world.step()) continue;
    }
    world.order_destruction(0, 3, pe);
    world.insert(0, 3, other);
    world.come_to_an_end();
  }
}

// An index whose element has died is asked for by the home of the next one.
TEST(Location, BeginsALaterLifeThanAnyThatHasEnded) {
  World world({4, 1});
  world.make_everywhere();
  Age before;
  for (int life = 0; life < 20; ++life) {
    world.insert(0, 2, world.pick(4));
    world.drain();
    const int pe = world.place_of(0, 2);
    ASSERT_GE(pe, 0);
    const Age age = world.host(pe, 0).age_of(World::id_of(2));
    if (life > 0) {
      EXPECT_TRUE(age.younger_than(before));
    }
    world.order_migration(0, 2, pe, world.pick(4));
    world.drain();
    before = world.host(world.place_of(0, 2), 0).age_of(World::id_of(2));
    world.order_destruction(0, 2, world.pick(4));
    world.drain();
    ASSERT_EQ(world.place_of(0, 2), -1);
  }
  world.check_places();
}

TEST(Location, ReleasesWhatWaitsWhenItBeginsALifeElsewhere) {
  World world({4, 0, 2});
  world.make_everywhere();
  const std::uint64_t id = World::id_of(2);
  const int home = world.home(CkArrayIndex1D(2)), elsewhere = (home + 1) % 4;
  world.call(0, 2, elsewhere);
  world.drain();
  ASSERT_EQ(world.host(home, 0).routing.waiting().count(id), 1u);
  const Age age = world.location(home).begin_life(id, elsewhere);
  EXPECT_EQ(world.host(home, 0).routing.waiting().count(id), 0u);
  ASSERT_NE(world.location(home).find(id), nullptr);
  EXPECT_EQ(world.location(home).find(id)->pe, elsewhere);
  EXPECT_EQ(world.location(home).find(id)->age, age);
}

TEST(Location, ForgetsTheOldestHintsThatTheHomesKnowToo) {
  Location::hints_kept = 32;
  Options options{3, 0};
  options.indices = 200;
  World world(options);
  world.make_everywhere();
  for (int index = 0; index < options.indices; ++index) world.insert(0, index, world.home(CkArrayIndex1D(index)));
  world.drain();
  for (int index = 0; index < options.indices; ++index)
    for (int to = 0; to < 3; ++to) world.order_migration(0, index, world.pick(3), to), world.drain();
  for (int pe = 0; pe < 3; ++pe)
    EXPECT_LE(world.location(pe).hints_of_others(), Location::hints_kept + Location::hints_slack()) << "PE " << pe;
  world.come_to_an_end();
  Location::hints_kept = 1 << 14;
}

}  // namespace
}  // namespace periapt
