// Credit between two sides, without a wire: what one spends, the other gives back.
#include "machine/ucx-like/credit.h"

#include <gtest/gtest.h>

#include <random>

namespace periapt::ucx {
namespace {

CreditPool pool_of(std::int64_t bound, std::int64_t window_max) { return {bound, window_max, 0, 0}; }

TEST(CreditWindow, EndsWithTheFirstWindowAndTellsThePeerOnce) {
  CreditPool pool = pool_of(1 << 20, 64 << 10);
  CreditWindow ours(pool);
  EXPECT_TRUE(ours.covers(kFirstWindow));
  ours.spend(kFirstWindow - 100);
  EXPECT_FALSE(ours.covers(101));
  EXPECT_TRUE(ours.request_credit());
  EXPECT_FALSE(ours.request_credit()) << "the peer knows";
  ours.add_credit(50);
  EXPECT_TRUE(ours.covers(150));
  EXPECT_TRUE(ours.request_credit()) << "credit has come since";
}

TEST(CreditWindow, SpentGrowsWithMessagesAndNotWithCreditThatComesBack) {
  CreditPool pool = pool_of(1 << 20, 64 << 10);
  CreditWindow ours(pool);
  const std::int64_t before = ours.spent();
  ours.spend(1000);
  EXPECT_EQ(ours.spent(), before + 1000);
  ours.add_credit(700);
  EXPECT_EQ(ours.spent(), before + 1000);
}

TEST(CreditWindow, HalfOfTheWindowIsOwedBeforeAMessageOfItsOwnGivesItBack) {
  CreditPool pool = pool_of(1 << 20, 64 << 10);
  CreditWindow window(pool);
  EXPECT_TRUE(window.consumes_quietly(1000));
  EXPECT_FALSE(window.consume_credit(kFirstWindow / 2 - 1));
  EXPECT_FALSE(window.consumes_quietly(0));
  EXPECT_TRUE(window.consume_credit(1));
  EXPECT_EQ(window.take_owed(), kFirstWindow / 2);
  EXPECT_EQ(window.owed(), 0);
  window.put_back(kFirstWindow / 2);
  EXPECT_EQ(window.owed(), kFirstWindow / 2) << "the message that should have taken it along did not leave";
}

TEST(CreditWindow, GrowsByDoublingUpToItsMostAndTheBoundOfAll) {
  CreditPool pool = pool_of(5 * kFirstWindow, 4 * kFirstWindow);
  CreditWindow one(pool), other(pool);
  EXPECT_EQ(one.adjust_window(), 2u * kFirstWindow);
  EXPECT_EQ(one.owed(), kFirstWindow) << "what it grew by goes to the peer as credit";
  EXPECT_EQ(one.adjust_window(), 4u * kFirstWindow);
  EXPECT_EQ(one.adjust_window(), 4u * kFirstWindow) << "the most for one";
  EXPECT_EQ(other.adjust_window(), 1u * kFirstWindow) << "the bound of all";
  EXPECT_EQ(pool.granted, 5 * kFirstWindow);
}

TEST(CreditWindow, ALargeOneGetsLessBackWhenAllAreBeyondTheBound) {
  CreditPool pool = pool_of(4 * kFirstWindow, 4 * kFirstWindow);
  CreditWindow large(pool);
  large.adjust_window();
  large.adjust_window();
  large.take_owed();
  CreditWindow late(pool);
  large.consume_credit(kFirstWindow);
  EXPECT_EQ(large.adjust_window(), 3u * kFirstWindow);
  EXPECT_EQ(large.owed(), 0);
  EXPECT_EQ(pool.granted, 4 * kFirstWindow);
  EXPECT_EQ(late.adjust_window(), 1u * kFirstWindow) << "no window shrinks below the first";
}

TEST(CreditWindow, APeerThatAsksGetsWhatIsOwedAtOnceAndElseInAnEmergency) {
  CreditPool pool = pool_of(kFirstWindow, kFirstWindow);
  CreditWindow window(pool);
  EXPECT_FALSE(window.peer_out_of_credit());
  EXPECT_EQ(pool.out_of_credit, 1u);
  EXPECT_TRUE(window.is_exhausted());
  EXPECT_FALSE(window.peer_out_of_credit());
  EXPECT_EQ(pool.out_of_credit, 1u) << "it is one peer";
  EXPECT_FALSE(window.consumes_quietly(0));
  window.grant_emergency_credit();
  EXPECT_FALSE(window.is_exhausted());
  EXPECT_EQ(pool.granted, 2 * kFirstWindow) << "beyond the bound";
  window.adjust_window();
  EXPECT_EQ(pool.out_of_credit, 0u);

  EXPECT_FALSE(window.consume_credit(10));
  EXPECT_TRUE(window.peer_out_of_credit()) << "10 bytes are owed";
}

TEST(CreditWindow, APeerThatIsGoneLeavesItsWindowToOthers) {
  CreditPool pool = pool_of(1 << 20, 64 << 10);
  CreditWindow window(pool), other(pool);
  window.adjust_window();
  window.spend(500);
  window.peer_out_of_credit();
  window.close();
  EXPECT_EQ(pool.granted, kFirstWindow);
  EXPECT_EQ(pool.out_of_credit, 0u);
  window.reopen();
  EXPECT_EQ(pool.granted, 2 * kFirstWindow);
  EXPECT_EQ(window.available(), kFirstWindow);
  EXPECT_EQ(window.owed(), 0);
}

// Credit that is left, in messages, held by the receiver, owed and on its way back is the window, at any time.
TEST(CreditWindow, NoneIsLostOnTheWay) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    CreditPool there = pool_of(64 << 10, 32 << 10), here = pool_of(64 << 10, 32 << 10);
    CreditWindow sender(here), receiver(there);
    std::int64_t held = 0, returning = 0;
    for (int i = 0; i < 5000; ++i) {
      const auto charge = static_cast<std::int64_t>(kMessageOverhead + random() % 2000);
      switch (random() % 4) {
        case 0:
          if (sender.covers(charge)) {
            sender.spend(charge);
            held += charge;
          } else if (sender.request_credit() && receiver.peer_out_of_credit()) {
            sender.set_window(receiver.adjust_window());
          }
          break;
        case 1:
          if (held >= charge) {
            held -= charge;
            if (receiver.consume_credit(charge)) sender.set_window(receiver.adjust_window());
          }
          break;
        case 2: {
          const std::uint32_t credit = receiver.take_owed();
          if (random() % 3 == 0) {
            receiver.put_back(credit);
          } else {
            returning += credit;
          }
          break;
        }
        default:
          sender.add_credit(static_cast<std::uint32_t>(returning));
          returning = 0;
      }
      ASSERT_EQ(sender.available() + held + receiver.owed() + returning, receiver.granted());
      ASSERT_LE(there.granted, there.bound);
    }
  }
}

}  // namespace
}  // namespace periapt::ucx
