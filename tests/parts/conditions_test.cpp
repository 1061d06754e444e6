// Conditions and timers, in invented time.
#include "runtime/scheduler/conditions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace {

using periapt::scheduler::Conditions;
using periapt::scheduler::conditions_count;

constexpr std::uint64_t ms = 1'000'000;

// Conditions whose functions are lambdas.
struct Calls : Conditions {
  using Body = std::function<void()>;
  static void run(void* body) { (*static_cast<Body*>(body))(); }
  int once(int condition, Body body) { return call_once(condition, run, keep(std::move(body))); }
  int always(int condition, Body body) { return call_always(condition, run, keep(std::move(body))); }
  void after(std::uint64_t delay_ns, std::uint64_t now_ns, Body body) {
    call_after([](void* body, double) { run(body); }, keep(std::move(body)), delay_ns, now_ns);
  }
  Body* keep(Body body) {
    bodies.push_back(std::move(body));
    return &bodies.back();
  }
  std::deque<Body> bodies;
};

TEST(Conditions, OnceIsOnceAndAlwaysIsAlwaysInOrder) {
  Calls calls;
  std::string log;
  calls.once(CcdUSER, [&] { log += "a"; });
  calls.always(CcdUSER, [&] { log += "b"; });
  calls.once(CcdUSERMAX, [&] { log += "z"; });
  EXPECT_TRUE(calls.wanted(CcdUSER));
  EXPECT_FALSE(calls.wanted(CcdUSER + 1));
  calls.raise(CcdUSER);
  calls.raise(CcdUSER);
  EXPECT_EQ(log, "abb");
  calls.raise(CcdUSERMAX);
  EXPECT_EQ(log, "abbz");
  EXPECT_FALSE(calls.wanted(CcdUSERMAX));
}

TEST(Conditions, CancelledIsNotCalled) {
  Calls calls;
  std::string log;
  const int a = calls.once(CcdUSER, [&] { log += "a"; });
  const int b = calls.always(CcdUSER, [&] { log += "b"; });
  calls.once(CcdUSER, [&] { log += "c"; });
  calls.cancel(CcdUSER, a);
  calls.raise(CcdUSER);
  calls.cancel(CcdUSER, a);  // gone already
  calls.cancel(CcdUSER, b);
  calls.raise(CcdUSER);
  EXPECT_EQ(log, "bc");
  EXPECT_FALSE(calls.wanted(CcdUSER));
}

TEST(Conditions, MayBeChangedFromWithin) {
  Calls calls;
  std::string log;
  int victim = -1;
  calls.once(CcdUSER, [&] {
    log += "1";
    calls.cancel(CcdUSER, victim);
    calls.once(CcdUSER, [&] { log += "n"; });  // for the next raise
    calls.raise(CcdUSER);                      // calls what is left, and the new one
    log += ".";
  });
  victim = calls.once(CcdUSER, [&] { log += "v"; });
  calls.always(CcdUSER, [&] { log += "k"; });
  calls.raise(CcdUSER);
  EXPECT_EQ(log, "1kn.k");
  calls.raise(CcdUSER);
  EXPECT_EQ(log, "1kn.kk");
}

TEST(Conditions, TimersFireInOrderOfTimeThenOfStart) {
  Calls calls;
  std::string log;
  EXPECT_EQ(calls.next_deadline_ns(), Conditions::never);
  calls.after(30, 1000, [&] { log += "c"; });
  calls.after(10, 1000, [&] { log += "a"; });
  calls.after(30, 1000, [&] { log += "d"; });
  calls.after(20, 1000, [&] { log += "b"; });
  EXPECT_EQ(calls.next_deadline_ns(), 1010u);
  EXPECT_FALSE(calls.run_due(1009));
  EXPECT_TRUE(calls.run_due(1020));
  EXPECT_EQ(log, "ab");
  EXPECT_EQ(calls.next_deadline_ns(), 1030u);
  calls.run_due(99999);
  EXPECT_EQ(log, "abcd");
  EXPECT_EQ(calls.next_deadline_ns(), Conditions::never);
}

TEST(Conditions, ATimerThatStartsItselfAgainDoesNotHoldUpTheScheduler) {
  Calls calls;
  int fired = 0;
  Calls::Body again = [&] {
    ++fired;
    calls.after(0, 50, again);
  };
  calls.after(0, 50, again);
  calls.run_due(50);
  EXPECT_EQ(fired, 1);
  calls.run_due(50);
  EXPECT_EQ(fired, 2);
}

TEST(Conditions, TimersAreToldTheTimeInSeconds) {
  Conditions conditions;
  conditions.set_epoch_ns(1'000'000'000);
  double told = 0;
  conditions.call_after([](void* to, double seconds) { *static_cast<double*>(to) = seconds; }, &told, 0, 0);
  conditions.run_due(3'500'000'000);
  EXPECT_DOUBLE_EQ(told, 2.5);
}

TEST(Conditions, APeriodIsSteadyAndMissedOnesAreDropped) {
  Calls calls;
  std::vector<std::uint64_t> at;
  std::uint64_t now = 7 * ms;
  const int registration = calls.always(CcdPERIODIC_10ms, [&] { at.push_back(now); });
  EXPECT_EQ(calls.next_deadline_ns(), 0u) << "the next run_due() sets it going";
  EXPECT_FALSE(calls.run_due(now));
  EXPECT_EQ(calls.next_deadline_ns(), 17 * ms);
  for (now = 17 * ms; now < 50 * ms; now += ms) calls.run_due(now);
  EXPECT_EQ(at, (std::vector<std::uint64_t>{17 * ms, 27 * ms, 37 * ms, 47 * ms}));
  now = 100 * ms;  // four missed
  calls.run_due(now);
  EXPECT_EQ(at.size(), 5u);
  EXPECT_EQ(calls.next_deadline_ns(), 110 * ms);
  calls.cancel(CcdPERIODIC_10ms, registration);
  calls.run_due(110 * ms);
  EXPECT_EQ(at.size(), 5u);
  EXPECT_EQ(calls.next_deadline_ns(), Conditions::never);
  calls.once(CcdPERIODIC_10ms, [&] { at.push_back(now); });
  calls.run_due(200 * ms);
  calls.run_due(210 * ms);
  EXPECT_EQ(at.size(), 6u);
}

TEST(Conditions, EveryPeriodLastsAsLongAsItsName) {
  const std::uint64_t s = 1000 * ms, minute = 60 * s, hour = 60 * minute;
  const std::pair<int, std::uint64_t> periods[] = {{CcdPERIODIC, ms},
                                                   {CcdPERIODIC_10ms, 10 * ms},
                                                   {CcdPERIODIC_100ms, 100 * ms},
                                                   {CcdPERIODIC_1s, s},
                                                   {CcdPERIODIC_5s, 5 * s},
                                                   {CcdPERIODIC_10s, 10 * s},
                                                   {CcdPERIODIC_1minute, minute},
                                                   {CcdPERIODIC_2minute, 2 * minute},
                                                   {CcdPERIODIC_5minute, 5 * minute},
                                                   {CcdPERIODIC_10minute, 10 * minute},
                                                   {CcdPERIODIC_1hour, hour},
                                                   {CcdPERIODIC_12hour, 12 * hour},
                                                   {CcdPERIODIC_1day, 24 * hour}};
  for (const auto& [condition, period] : periods) {
    Calls calls;
    calls.once(condition, [] {});
    calls.run_due(5);
    EXPECT_EQ(calls.next_deadline_ns(), 5 + period) << condition;
  }
}

TEST(Conditions, RandomTimersAllFireOnceAndInOrder) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Calls calls;
  std::vector<std::uint64_t> fired;
  std::uint64_t now = 0;
  std::size_t started = 0;
  for (int round = 0; round < 3000; ++round) {
    for (unsigned n = random() % 4; n > 0; --n, ++started) {
      const std::uint64_t delay = random() % 500;
      calls.after(delay, now, [&fired, due = now + delay] { fired.push_back(due); });
    }
    now += random() % 50;
    const std::size_t before = fired.size();
    calls.run_due(now);
    EXPECT_TRUE(std::is_sorted(fired.begin() + static_cast<std::ptrdiff_t>(before), fired.end()));
    for (std::size_t i = before; i < fired.size(); ++i) ASSERT_LE(fired[i], now);
    ASSERT_GT(calls.next_deadline_ns(), now);
  }
  calls.run_due(now + 1000);
  EXPECT_EQ(fired.size(), started);
}

TEST(ConditionsDeathTest, AConditionThatDoesNotExistIsNamed) {
  Conditions conditions;
  EXPECT_DEATH(conditions.call_once(conditions_count, nullptr, nullptr), "condition 128 doesn't exist.*CcdUSER");
}

}  // namespace
