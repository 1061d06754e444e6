// Several adapters as rails of the engine: what is split over them, and what becomes of it when one of them goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "machine/verbs/speed.h"
#include "tests/verbs/rails_fixture.h"

namespace periapt::ucx {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// ---- how fast one is

constexpr std::uint64_t kMs = 1'000'000, kMiB = 1 << 20;

TEST(Speed, IsOfWhatEndsWhileItIsLookedAt) {
  verbs::Speed speed;
  const std::uint64_t from = 7 * kMs;
  EXPECT_EQ(speed.bytes_per_ns(from), 0);
  for (int i = 0; i < 4; ++i) speed.begin(kMiB, from);
  speed.end(kMiB, {from - 5 * kMs, from + kMs / 100});
  speed.end(kMiB, {from + kMs, from + kMs + kMs / 100});
  speed.end(kMiB, {from + 2 * kMs, from + 2 * kMs + kMs / 100});
  EXPECT_EQ(speed.bytes_per_ns(from + 3 * kMs), 0) << "it has not ended yet";
  speed.end(kMiB, {from + 4 * kMs - kMs / 100, from + 4 * kMs});
  EXPECT_DOUBLE_EQ(speed.bytes_per_ns(from + 4 * kMs), static_cast<double>(4 * kMiB) / (4 * kMs));
}

// The worker was busy, and saw only then that it had ended long before.
TEST(Speed, IsNotOfWhatIsSeenLate) {
  verbs::Speed speed;
  speed.begin(4 * kMiB, 0);
  speed.end(4 * kMiB, {4 * kMs - kMs / 100, 4 * kMs});
  const double known = speed.bytes_per_ns(4 * kMs);
  EXPECT_GT(known, 0);
  for (const std::uint64_t late_by : {kMs, 10 * kMs, 100 * kMs}) {
    speed.begin(4 * kMiB, 10 * kMs);
    speed.end(4 * kMiB, {14 * kMs, 14 * kMs + late_by});
    EXPECT_EQ(speed.bytes_per_ns(20 * kMs), known) << late_by;
    // In the middle of it, as well.
    speed.begin(2 * kMiB, 20 * kMs);
    speed.begin(2 * kMiB, 20 * kMs);
    speed.end(2 * kMiB, {22 * kMs, 22 * kMs + late_by});
    speed.end(2 * kMiB, {24 * kMs + late_by - kMs / 100, 24 * kMs + late_by});
    EXPECT_EQ(speed.bytes_per_ns(20 * kMs), known) << late_by;
  }
}

TEST(Speed, IsNotOfWhatIsShortAndIsForgotten) {
  verbs::Speed speed;
  speed.begin(kMiB / 4, 0);
  speed.end(kMiB / 4, {4 * kMs - 1, 4 * kMs});
  EXPECT_EQ(speed.bytes_per_ns(4 * kMs), 0);
  speed.begin(kMiB, 4 * kMs);
  speed.end(kMiB, {8 * kMs - 1, 8 * kMs});
  constexpr std::uint64_t kKnown = verbs::Speed::kKnownNs;
  EXPECT_GT(speed.bytes_per_ns(8 * kMs + kKnown - 1), 0);
  EXPECT_EQ(speed.bytes_per_ns(8 * kMs + kKnown), 0);
  // The next one is alone.
  speed.begin(kMiB, 8 * kMs + kKnown);
  speed.end(kMiB, {9 * kMs + kKnown - 1, 9 * kMs + kKnown});
  EXPECT_DOUBLE_EQ(speed.bytes_per_ns(9 * kMs + kKnown), static_cast<double>(kMiB) / kMs);
}

class VerbsRails : public RailsTest {};

TEST_F(VerbsRails, SmallMessagesGoOverTheFirstAndLargeOnesOverBothByBandwidth) {
  faults().speed[1] = 4;  // 40 Gb/s, where the other has 100
  for (const char* way : {"get", "put"}) {
    options["+rendezvous"] = way;
    start();
    send_some(100);
    all_come();
    EXPECT_GT(sent_by(0), 100'000u) << way;
    EXPECT_EQ(sent_by(1), 0u) << way;
    EXPECT_THAT(nodes[0].worker->explain(),
                HasSubstr("over verbs/fake0:1, and for messages from 262144 B beside it verbs/fake1:1"));
    send_large(32 << 20, 1);
    const auto first = static_cast<double>(sent_by(0)), second = static_cast<double>(sent_by(1));
    EXPECT_NEAR(second / (first + second), 40.0 / 140, 0.03) << way;
    end();
  }
}

// One of two that call themselves equal carries a third of the other.
TEST_F(VerbsRails, LargeMessagesAreSplitByWhatIsMeasured) {
  for (const char* way : {"get", "put"}) {
    SCOPED_TRACE(way);
    options["+rendezvous"] = way;
    faults().bytes_per_us = {60, 60};
    start();
    send_large(2'000'000, 1);
    faults().bytes_per_us = {60, 20};
    const auto part_of_second = [&](std::uint64_t seed) {
      sent_by(0), sent_by(1);
      send_large(4 << 20, seed);
      const auto first = static_cast<double>(sent_by(0)), second = static_cast<double>(sent_by(1));
      return second / (first + second);
    };
    EXPECT_NEAR(part_of_second(2), 0.5, 0.1) << "as they state, and as was so far";
    double part = 1;
    for (std::uint64_t i = 0; i < 20 && part > 0.35; ++i) part = part_of_second(3 + i);
    EXPECT_LE(part, 0.35);
    EXPECT_THAT(nodes[0].worker->explain() + nodes[1].worker->explain(),
                HasSubstr("beside it verbs/fake1:1 (measured: "));
    // And when it is as fast as it says again.
    faults().bytes_per_us = {40, 40};
    for (std::uint64_t i = 0; i < 40 && part < 0.42; ++i) part = part_of_second(30 + i);
    EXPECT_GE(part, 0.42);
    faults().bytes_per_us = {};
    end();
  }
}

// Its parts of messages of this size are too short to measure it.
TEST_F(VerbsRails, WhatWasMeasuredIsForgotten) {
  options["+rendezvous"] = "get";
  faults().bytes_per_us = {60, 10};
  start();
  std::uint64_t seed = 0;
  const auto part_of_second = [&](int messages, std::size_t size) {
    sent_by(0), sent_by(1);
    for (int i = 0; i < messages; ++i) send_large(size, ++seed % 8);
    const auto first = static_cast<double>(sent_by(0)), second = static_cast<double>(sent_by(1));
    return second / (first + second);
  };
  double part = 1;
  for (int i = 0; i < 20 && part > 0.3; ++i) part = part_of_second(1, 6 << 20);
  EXPECT_LE(part, 0.3);
  faults().bytes_per_us = {60, 60};
  for (int i = 0; i < 200 && part < 0.4; ++i) part = part_of_second(20, 300'000);
  EXPECT_GE(part, 0.4);
}

TEST_F(VerbsRails, OneAdapterOnTheOtherSideGetsOneLink) {
  for (const char* way : {"get", "put", "data"}) {
    options["+rendezvous"] = way;
    faults().devices = 2;
    open(0);
    faults().devices = 1;
    open(1);
    connect();
    send_some(20);
    send_large(3'000'000, 1, 0);
    send_large(3'000'000, 2, 1);
    all_come();
    end();
  }
}

// Two networks, and each side has an adapter of another one next to its cores.
TEST_F(VerbsRails, KeysOfOneAdapterAreNotTriedOverAnother) {
  faults().infiniband = true;
  faults().subnet = {1, 2};
  faults().bytes_per_us = {400, 400};  // so that they are measured to be equal
  options["+verbs-devices"] = "fake0,fake1";
  open(0);
  options["+verbs-devices"] = "fake1,fake0";
  open(1);
  // The second side is not told where the first is: its links come from there.
  auto endpoint = nodes[0].worker->connect(nodes[1].worker->address());
  ASSERT_TRUE(endpoint.ok()) << endpoint.message();
  to[0] = *endpoint;
  for (std::uint64_t i = 0; i < 20; ++i) send_large(2'000'000, i);  // by every way, so that it knows both
  EXPECT_GT(sent_by(0), 10'000'000u);
  EXPECT_GT(sent_by(1), 10'000'000u);
  send_large(800'000, 21);  // another size begins with get
  EXPECT_EQ(faults().pairs_made, 8u) << "none broke by a wrong key";
}

// ---- one of them goes

TEST_F(VerbsRails, AnAdapterThatGoesLeavesItsMessagesToTheOther) {
  options["+rendezvous"] = "get";
  start();
  send_some(10);
  all_come();
  testing::internal::CaptureStderr();
  send_some(40);
  lose(0);
  send_some(40);
  all_come();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("over fake0:1 stays broken (the device fake0:1 has gone or is broken: dmesg may say "
                              "why): from here on fake1:1 is used; messages sent again: "));
  EXPECT_THAT(said, Not(HasSubstr("TCP is used")));
  EXPECT_THAT(nodes[0].worker->explain(), HasSubstr("over verbs/fake0:1 (goes over fake1:1)"));
  sent_by(0), put_or_got_by(1);
  send_some(100);
  all_come();
  for (const std::size_t size : {100'000u, 3'000'000u}) {
    for (std::uint64_t i = 0; i < 6; ++i) send_large(size, i, i % 2);
    EXPECT_EQ(sent_by(0), 0u);
    EXPECT_EQ(put_or_got_by(1), 6 * size) << "they go by put and get of the other, not in pieces";
  }
}

TEST_F(VerbsRails, LargeMessagesThatAreUnderWayEndWhenAnAdapterGoes) {
  for (const char* way : {"get", "put", "data"}) {
    for (const int device : {0, 1}) {
      options["+rendezvous"] = way;
      start();
      send_large(1'000'000, 99);
      std::vector<std::unique_ptr<Large>> all;
      for (std::uint64_t i = 0; i < 8; ++i) all.push_back(begin_large(4'000'000, i, i % 2));
      send_some(30);
      for (int i = 0; i < 20; ++i) progress();
      lose(device);
      send_some(30);
      until([&] { return std::all_of(all.begin(), all.end(), [](auto& large) { return large->ended(); }); });
      for (auto& large : all) {
        EXPECT_EQ(large->receive->outcome(), Outcome::ok) << way << device;
        EXPECT_TRUE(large->into == large->message) << way << device;
      }
      all_come();
      all.clear();
      end();
    }
  }
}

TEST_F(VerbsRails, APortThatStaysDownLeavesItsMessagesToTheOtherSoon) {
  start();
  send_some(10);
  all_come();
  testing::internal::CaptureStderr();
  faults().ports_down = 1;
  fake_verbs::raise(IBV_EVENT_PORT_ERR, 0);
  send_some(50);
  faults().pairs_made = 0;
  all_come();
  EXPECT_LE(faults().pairs_made, 6u) << "one more each after the first break, and those of the other rail";
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("port fake0:1 is down: its links go over another port or TCP"));
  EXPECT_THAT(said, HasSubstr("from here on fake1:1 is used"));
  EXPECT_THAT(said, Not(HasSubstr("TCP is used")));
  send_some(200);
  all_come();
}

TEST_F(VerbsRails, WhatCarriesAnotherGoesOverTcpWhenItGoesToo) {
  for (const int first : {0, 1}) {
    start();
    send_large(1'000'000, 99);
    testing::internal::CaptureStderr();
    send_some(20);
    lose(first);
    send_some(20);
    for (int i = 0; i < 300; ++i) progress();
    lose(1 - first);
    send_some(20);
    all_come();
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("TCP is used"));
    send_large(1'000'000, 5);
    end();
  }
}

TEST_F(VerbsRails, ThreeGoOneAfterTheOther) {
  faults().devices = 3;
  options["+verbs-rails"] = "3";
  options["+rendezvous"] = "get";
  start();
  send_large(1'000'000, 99);
  for (int device = 0; device < 3; ++device) {
    send_some(20);
    lose(device);
    send_some(20);
    auto large = begin_large(700'000, static_cast<std::uint64_t>(device), 1);
    all_come();
    until([&] { return large->ended(); });
    EXPECT_TRUE(large->into == large->message);
    // The longest that is one message of the transport.
    Large longest(8192, 9);
    longest.receive = nodes[1].worker->tag_receive(longest.into, 1);
    longest.send = to[0]->tag_send_sync(longest.message, 1);
    until([&] { return longest.ended(); });
    EXPECT_TRUE(longest.into == longest.message);
  }
}

// Both at once, and at each side another one is found out first.
TEST_F(VerbsRails, BothGoAtOnce) {
  start();
  send_large(1'000'000, 99);
  for (int round = 0; round < 3; ++round) send_some(20), progress();
  faults().ports_down = 3;
  fake_verbs::raise(IBV_EVENT_PORT_ERR);
  send_some(20);
  auto large = begin_large(600'000, 4, 1);
  all_come();
  until([&] { return large->ended(); });
  EXPECT_TRUE(large->into == large->message);
}

TEST_F(VerbsRails, APeerThatComesLaterFindsTheOther) {
  open(0);
  open(1);
  lose(0);
  for (int i = 0; i < 300; ++i) progress();
  nodes[1].worker.reset();
  nodes[1] = {};  // and one whose adapter is well
  open(1);
  connect();
  send_some(50);
  all_come();
  send_large(1'000'000, 3, 0);
  send_large(1'000'000, 4, 1);
  sent_by(0), sent_by(1);
  send_some(50);
  all_come();
  EXPECT_GT(sent_by(1), 100'000u);
}

}  // namespace
}  // namespace periapt::ucx
