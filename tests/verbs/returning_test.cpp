// A port that was down comes up again: what went around comes back to it, whatever was under way and whenever the port
// goes once more. Each message is looked at where it arrives: whole, in its order, once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "machine/verbs/backoff.h"
#include "tests/host/amount.h"
#include "tests/verbs/rails_fixture.h"

namespace periapt::ucx {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Backoff, RestsTwiceAsLongEachTimeUpToAMinute) {
  constexpr std::uint64_t kSecond = 1'000'000'000, kMost = verbs::Backoff::kMost;
  verbs::Backoff rest;
  rest.set_first(kSecond);
  std::uint64_t now = 100 * kSecond;
  rest.begin(now);
  std::uint64_t wait = kSecond;
  for (int i = 0; i < 10; ++i, wait = std::min(2 * wait, kMost)) {
    EXPECT_FALSE(rest.is_due(now + wait - 1)) << i;
    EXPECT_TRUE(rest.is_due(now + wait)) << i;
    rest.put_off(now += wait);
    EXPECT_FALSE(rest.is_due(now + wait - 1)) << "of what was not tried";
    EXPECT_TRUE(rest.is_due(now + wait));
    rest.failed(now += wait);
  }
  // What breaks soon rests as long as before it worked, and twice.
  rest.worked(now);
  rest.begin(now += kSecond);
  EXPECT_FALSE(rest.is_due(now + kMost - 1));
  rest.worked(now += kMost);
  rest.begin(now += kMost + 1);
  EXPECT_TRUE(rest.is_due(now + kSecond));
}

TEST(Backoff, RestsALittleWhereItIsToldNotToAndAsLongAsToldWhereThatIsMore) {
  constexpr std::uint64_t kMost = verbs::Backoff::kMost, kLeast = verbs::Backoff::kLeast;
  verbs::Backoff none, long_one;
  std::uint64_t now = kMost;
  none.set_first(0);
  none.begin(now);
  EXPECT_TRUE(none.is_due(now));
  long_one.set_first(2 * kMost);
  long_one.begin(now);
  for (int i = 0; i < 3; ++i, now += 2 * kMost) {
    none.failed(now);
    EXPECT_FALSE(none.is_due(now + kLeast - 1));
    EXPECT_TRUE(none.is_due(now + kLeast));
    none.put_off(now);
    EXPECT_FALSE(none.is_due(now + kLeast - 1));
    EXPECT_TRUE(none.is_due(now + kLeast));
    long_one.failed(now);
    EXPECT_FALSE(long_one.is_due(now + 2 * kMost - 1));
    EXPECT_TRUE(long_one.is_due(now + 2 * kMost));
  }
}

class VerbsReturning : public RailsTest {
 protected:
  void SetUp() override {
    RailsTest::SetUp();
    options["+verbs-return-after"] = "0";
    faults().timeout_ms = 5;
  }
  std::string said() { return nodes[0].worker->explain() + nodes[1].worker->explain(); }
  /// Links of both sides that go another way, and those that have come back.
  int count(const std::string& words) {
    int found = 0;
    const std::string all = said();
    for (std::size_t at = 0; (at = all.find(words, at)) != std::string::npos; ++at) ++found;
    return found;
  }
  int around() { return count("(goes over ") + count("(is being led another way)"); }
  void until_back() {
    until([&] { return around() == 0; });
  }
  /// The link over that device goes around, at both sides.
  void until_around(int links) {
    until([&] { return count("(goes over ") == links; });
  }
  /// The port is there again, and the first step of the return is done.
  void begin_return(int device) {
    const unsigned made = faults().pairs_made;
    plug_in(device);
    test::Standstill standstill([this] { return said(); });
    while (faults().pairs_made == made) standstill.look(nodes[0].worker->progress() > 0);
  }
  /// Of links with messages: device 0 goes, and its return begins when all has gone around.
  void pull_and_begin_return() {
    pull(0);
    send_some(10);
    all_come();
    until_around(2);
    begin_return(0);
  }
  /// Both sides by turns, one more often than the other, with messages in between.
  void go_on_for(int steps, int pace) {
    for (int i = 0; i < steps; ++i) {
      nodes[static_cast<std::size_t>(i * pace / 3 % 2)].worker->progress();
      if (i % 3 == 0) send_some(1);
    }
  }
  /// So long that ports are looked at again, more than once.
  template <class Each>
  void for_a_while(Each&& each) {
    for (const std::uint64_t since = clock::now_ns(); clock::now_ns() - since < 3 * verbs::Backoff::kLeast; progress())
      each();
  }
  void all_end(const std::vector<std::unique_ptr<Large>>& all) {
    until([&] { return std::all_of(all.begin(), all.end(), [](auto& large) { return large->ended(); }); });
    for (auto& large : all) {
      EXPECT_EQ(large->receive->outcome(), Outcome::ok);
      EXPECT_TRUE(large->into == large->message);
    }
  }
};

/// Memory of the second worker that the first one reaches, and what it does there.
class Reached {
 public:
  Reached(Worker& there, Endpoint& to) : to_(to), memory_(pattern(kBytes, 1)), got_(kBytes) {
    there_ = *there.register_memory(memory_);
    key_ = *to.unpack(there.pack_key(there_));
    std::memset(memory_.data(), 0, 8);
  }
  void begin(std::uint64_t seed) {
    put_ = pattern(kBytes / 2 - 8, seed);
    keep(to_.put(put_, at(8), key_));
    got_.assign(kBytes, std::byte{0});
    keep(to_.get(std::span(got_).subspan(kBytes / 2), at(kBytes / 2), key_));
    for (int i = 0; i < kAdds; ++i) keep(to_.fetch_op(AtomicOp::add, 8, 1, 0, at(0), key_, nullptr));
    added_ += kAdds;
  }
  bool ended() const {
    return std::all_of(requests_.begin(), requests_.end(), [](auto& request) { return request->ended(); });
  }
  void check() {
    for (auto& request : requests_) EXPECT_EQ(request->outcome(), Outcome::ok);
    requests_.clear();
    EXPECT_TRUE(std::equal(put_.begin(), put_.end(), memory_.begin() + 8));
    EXPECT_TRUE(std::equal(got_.begin() + kBytes / 2, got_.end(), memory_.begin() + kBytes / 2));
    std::uint64_t sum = 0;
    std::memcpy(&sum, memory_.data(), sizeof sum);
    EXPECT_EQ(sum, added_) << "each atomic operation happens once";
  }

 private:
  static constexpr std::size_t kBytes = 1 << 20;
  static constexpr int kAdds = 20;
  std::uint64_t at(std::size_t offset) const { return reinterpret_cast<std::uint64_t>(memory_.data()) + offset; }
  void keep(RequestPtr request) {
    if (request != nullptr) requests_.push_back(std::move(request));
  }
  Endpoint& to_;
  std::vector<std::byte> memory_, put_, got_;
  std::uint64_t added_ = 0;
  MemoryPtr there_;
  RkeyPtr key_;
  std::vector<RequestPtr> requests_;
};

// ---- it is used again

TEST_F(VerbsReturning, APortThatComesUpIsUsedAgain) {
  for (const int devices : {1, 2}) {
    SCOPED_TRACE(devices);
    faults().devices = devices;
    start();
    send_some(10);
    all_come();
    testing::internal::CaptureStderr();
    pull(0);
    send_some(30);
    all_come();
    until_around(2);
    plug_in(0);
    send_some(30);
    until_back();
    send_some(30);
    all_come();
    const std::string other = devices == 1 ? "TCP" : "fake1:1";
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                HasSubstr("over fake0:1 has come back: it is used again, in place of " + other));
    EXPECT_EQ(count("over verbs/fake0:1 (is used again, came back once)"), 2);
    sent_by(0), sent_by(1);
    send_some(100);
    all_come();
    EXPECT_GT(sent_by(0), 100'000u);
    EXPECT_EQ(sent_by(1), 0u);
    // It breaks for a moment, as any queue pair may: the numbers of messages begin with the return.
    faults().next_sends = {IBV_WC_SUCCESS, IBV_WC_RETRY_EXC_ERR};
    send_some(30);
    all_come();
    end();
  }
}

// Neither side is told, or both were told that it is down: the port is asked.
TEST_F(VerbsReturning, APortWhoseEventsAreMissedIsAsked) {
  start();
  send_some(10);
  pull(0);
  send_some(30);
  all_come();
  until_around(2);
  for_a_while([] {});
  EXPECT_EQ(around(), 2) << "it is down still";
  faults().ports_down = faults().ports_inactive = 0;
  until_back();
  send_some(30);
  all_come();
}

TEST_F(VerbsReturning, ALinkRestsBeforeItsPortIsTried) {
  options["+verbs-return-after"] = "1";
  start();
  send_some(10);
  const std::uint64_t since = clock::now_ns();
  pull(0);
  send_some(30);
  all_come();
  until_around(2);
  plug_in(0);
  const unsigned made = faults().pairs_made;
  for (int i = 0; i < 200; ++i) send_some(1), progress();
  if (clock::now_ns() - since < 1'000'000'000) {
    EXPECT_EQ(faults().pairs_made, made);
  }
  until_back();
  EXPECT_EQ(faults().pairs_made, made + 2);
  all_come();
}

// The port says that it is up, and nothing passes it.
TEST_F(VerbsReturning, AReturnInVainRestsTwiceAsLong) {
  options["+verbs-return-after"] = "1";
  start();
  send_some(10);
  faults().ports_down = 1;
  send_some(30);
  all_come();
  until_around(2);
  const unsigned made = faults().pairs_made;
  const std::uint64_t since = clock::now_ns();
  while (clock::now_ns() - since < 2'200'000'000) progress();
  const double waited = static_cast<double>(clock::now_ns() - since) / 1e9;
  EXPECT_GE(faults().pairs_made, made + 2);
  EXPECT_LE(faults().pairs_made, made + 2 * (1 + static_cast<unsigned>(std::log2(waited + 1.1))));
  faults().ports_down = 0;
  until_back();
  send_some(10);
  all_come();
}

TEST_F(VerbsReturning, APeerThatLeavesLinksAroundKeepsThem) {
  for (const std::size_t without : {0u, 1u}) {
    options["+verbs-return-after"] = without == 0 ? "off" : "0";
    open(0);
    options["+verbs-return-after"] = without == 1 ? "off" : "0";
    open(1);
    connect();
    send_some(10);
    pull(0);
    send_some(30);
    all_come();
    until_around(2);
    plug_in(0);
    const unsigned made = faults().pairs_made;
    for_a_while([] {});
    send_some(30);
    all_come();
    EXPECT_EQ(count("(goes over "), 2);
    EXPECT_EQ(faults().pairs_made, made) << "nothing was tried";
    end();
  }
}

// The other side's port is down, it gives no queue pair, or cannot connect it; nor can the first side.
TEST_F(VerbsReturning, AReturnThatCannotBeIsTriedAgain) {
  for (const char* call : {"ibv_query_port", "ibv_create_qp", "ibv_modify_qp", "ibv_post_send"}) {
    int struck = 0;
    for (const int after : {0, 1, 2, 3, 4, 5, 6}) {
      if (call == std::string("ibv_post_send") && after > 1) break;  // that would be messages, which are lost with it
      SCOPED_TRACE(testing::Message() << call << " fails after " << after);
      faults().devices = 1;
      start();
      send_some(10);
      pull(0);
      send_some(30);
      all_come();
      until_around(2);
      auto& failure = faults().fails[call] = {after, EIO};
      plug_in(0);
      send_some(30);
      until([&] { return failure.struck > 0 || around() == 0; });
      struck += failure.struck > 0;
      faults().fails.clear();
      until_back();
      all_come();
      end();
    }
    EXPECT_GE(struck, 2) << call << ": at least once at either side";
  }
}

TEST_F(VerbsReturning, LargeMessagesAreSplitOverItAgainByBandwidth) {
  options["+rendezvous"] = "get";
  faults().bytes_per_us = {200, 200};  // so that they are measured to be equal
  start();
  send_large(1'000'000, 1);
  pull(1);
  for (std::uint64_t i = 0; i < 8; ++i) send_large(4'000'000, i);
  until_around(2);
  plug_in(1);
  until_back();
  sent_by(0), sent_by(1);
  send_large(16 << 20, 2);
  const auto first = static_cast<double>(sent_by(0)), second = static_cast<double>(sent_by(1));
  EXPECT_NEAR(second / (first + second), 0.5, 0.3) << "and does not get all, as if it had nothing to do meanwhile";
}

TEST_F(VerbsReturning, WhatHasComeBackCarriesTheOther) {
  start();
  send_large(1'000'000, 99);
  for (int round = 0; round < 3; ++round) {
    for (const int device : {0, 1}) {
      testing::internal::CaptureStderr();
      send_some(20);
      pull(device);
      send_some(20);
      send_large(600'000, 3);
      all_come();
      until_around(2);
      plug_in(device);
      send_some(20);
      until_back();
      all_come();
      EXPECT_THAT(testing::internal::GetCapturedStderr(), Not(HasSubstr("TCP is used"))) << round << device;
    }
  }
}

TEST_F(VerbsReturning, DatagramsComeBackAsAQueuePair) {
  options["+verbs-datagrams-from"] = "0";
  start();
  send_some(5);
  all_come();
  pull(0);
  send_some(20);
  all_come();
  until_around(2);
  plug_in(0);
  until_back();
  sent_by(0);
  send_some(100);
  all_come();
  EXPECT_GT(sent_by(0), 100'000u);
}

// ---- the wrong moment

TEST_F(VerbsReturning, WhateverIsUnderWayEndsOnce) {
  for (const char* way : {"get", "put", "data"}) {
    for (const int device : {0, 1}) {
      for (const int steps : {1, 5, 30}) {
        SCOPED_TRACE(testing::Message() << way << " " << device << " " << steps);
        options["+rendezvous"] = way;
        start();
        send_large(1'000'000, 99);
        std::vector<std::unique_ptr<Large>> all;
        auto reached = std::make_unique<Reached>(*nodes[1].worker, *to[0]);
        for (std::uint64_t round = 0; round < 2; ++round) {
          for (std::uint64_t i = 0; i < 4; ++i) all.push_back(begin_large(2'000'000, 4 * round + i, i % 2));
          reached->begin(round);
          send_some(30);
          for (int i = 0; i < steps; ++i) progress();
          round == 0 ? pull(device) : plug_in(device);
          send_some(30);
          // The second one carries nothing but large messages.
          for (std::uint64_t i = 0; round == 0 && device == 1 && around() < 2; ++i) send_large(600'000, 100 + i);
          if (round == 0) until_around(2);
          until([&] { return reached->ended(); });
          reached->check();
        }
        until_back();
        all_end(all);
        all_come();
        all.clear();
        reached.reset();
        end();
      }
    }
  }
}

// After so many steps of the return, by one side or the other; later ones find it in use.
TEST_F(VerbsReturning, AReturnThatBreaksAtAnyStepLosesNothing) {
  for (const int devices : {1, 2}) {
    for (int steps = 0; steps < 40; steps += tests::every()) {
      SCOPED_TRACE(testing::Message() << devices << " devices, " << steps << " steps");
      faults().devices = devices;
      start();
      send_some(10);
      pull_and_begin_return();
      std::vector<std::unique_ptr<Large>> all;
      for (const std::size_t from : {0u, 1u}) all.push_back(begin_large(2'000'000, from, from));
      go_on_for(steps, 7);
      pull(0);
      send_some(10);
      for (int i = 0; i < 20; ++i) progress();
      send_some(10);
      plug_in(0);
      all_come();
      until_back();
      all_end(all);
      send_some(10);
      all_come();
      all.clear();
      end();
    }
  }
}

// Soft RoCE's queue pairs are silent for good when its network interface has been down, also those of a return that is
// under way: of the side that leads it, or of the other one. Nothing but the port says so.
TEST_F(VerbsReturning, ASoftwarePortThatGoesDownAtAnyStepOfAReturnLosesNothing) {
  for (const int device : {0, 1}) {
    for (const bool stays_down : {false, true}) {
      for (int steps = 0; steps < 30; steps += tests::every()) {
        SCOPED_TRACE(testing::Message() << "device " << device << ", " << steps << " steps, " << stays_down);
        faults().soft_roce = true;
        options["+verbs-devices"] = "fake0";
        open(0);
        options["+verbs-devices"] = "fake1";
        open(1);
        connect();
        send_some(10);
        all_come();
        pull_and_begin_return();
        go_on_for(steps, 7);
        pull(device);
        nodes[static_cast<std::size_t>(device)].worker->progress();  // before anything else moves
        if (stays_down) {
          for (int i = 0; i < 20; ++i) progress();
          send_some(10);
          all_come();
        }
        plug_in(device);
        send_some(10);
        all_come();
        until_back();
        send_some(10);
        all_come();
        end();
      }
    }
  }
}

// The answer to one of the two probes is lost: the side that sent the second one finds its queue pair broken when the
// return can't be given up any more. Nothing but puts and gets is under way, and they have to end.
TEST_F(VerbsReturning, AProbeThatSeemsLostLeavesNoPutOrGetBehind) {
  for (const char* way : {"get", "put"}) {
    for (int steps = 0; steps < 30; steps += tests::every(2)) {
      SCOPED_TRACE(testing::Message() << way << " " << steps << " steps");
      faults().devices = 1;
      options["+rendezvous"] = way;
      start();
      send_some(10);
      pull_and_begin_return();
      std::vector<std::unique_ptr<Large>> all;
      for (const std::size_t from : {0u, 1u}) all.push_back(begin_large(4'000'000, from, from));
      for (int i = 0; i < steps; ++i) nodes[static_cast<std::size_t>(i * 7 / 3 % 2)].worker->progress();
      faults().answers_lost = 1;
      all_end(all);
      faults().answers_lost = 0;
      until_back();
      send_some(10);
      all_come();
      all.clear();
      end();
    }
  }
}

// All that one side waits for wakes it.
TEST_F(VerbsReturning, NoStepOfItIsSleptThrough) {
  for (const int devices : {1, 2}) {
    faults().devices = devices;
    start();
    send_some(10);
    pull_and_begin_return();
    auto large = begin_large(2'000'000, 1);
    for (;;) {
      progress();
      if (around() == 0 && large->ended()) break;
      bool sleeps = true;
      pollfd fds[2];
      for (std::size_t i : {0u, 1u}) {
        sleeps = nodes[i].worker->arm() && sleeps;
        fds[i] = {nodes[i].worker->wait_fd(), POLLIN, 0};
      }
      if (sleeps) {
        ASSERT_GT(::poll(fds, 2, 10'000), 0) << "both sleep: " << said();
      }
      for (Node& node : nodes) node.worker->disarm();
    }
    EXPECT_TRUE(large->into == large->message);
    send_some(10);
    all_come();
    large.reset();
    end();
  }
}

// They are not all tried at once.
TEST_F(VerbsReturning, ManyThatWentAroundTogetherComeBackInTurns) {
  constexpr std::size_t kPeers = 20;
  faults().devices = 1;
  open(0);
  std::vector<Node> peers(kPeers);
  std::vector<Endpoint*> to_peers;
  for (std::size_t i = 0; i < kPeers; ++i) {
    open(peers[i], 10 + i);
    auto endpoint = nodes[0].worker->connect(peers[i].worker->address());
    ASSERT_TRUE(endpoint.ok()) << endpoint.message();
    to_peers.push_back(*endpoint);
  }
  const auto here = [&](const std::string& words) {
    const std::string all = nodes[0].worker->explain();
    std::size_t found = 0;
    for (std::size_t at = 0; (at = all.find(words, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  const auto until_here = [&](const auto& condition) {
    test::Standstill standstill([&] { return nodes[0].worker->explain(); });
    unsigned most = 0;
    while (!condition()) {
      const unsigned made = faults().pairs_made;
      int moved = nodes[0].worker->progress();
      most = std::max(most, faults().pairs_made - made);
      for (Node& peer : peers) moved += peer.worker->progress();
      standstill.look(moved > 0);
    }
    return most;
  };
  std::vector<RequestPtr> sends;
  const std::vector<std::byte> messages[] = {bytes_of(0), bytes_of(1)};
  const auto send_round = [&](const std::vector<std::byte>& message) {
    for (Endpoint* to : to_peers) sends.push_back(to->tag_send(message, 0));
  };
  send_round(messages[0]);
  until_here([&] { return std::all_of(peers.begin(), peers.end(), [](Node& peer) { return !peer.numbers.empty(); }); });
  pull(0);
  send_round(messages[1]);
  until_here([&] { return here("(goes over TCP)") == kPeers; });
  plug_in(0);
  EXPECT_LE(until_here([&] { return here("(goes over ") == 0; }), 8u);
  EXPECT_EQ(here("(is used again, came back once)"), kPeers);
  sends.clear();
  nodes[0].worker.reset();
  peers.clear();
}

TEST_F(VerbsReturning, ADeviceThatGoesInTheMiddleOfItStaysAround) {
  for (int steps = 0; steps < 40; steps += tests::every()) {
    SCOPED_TRACE(testing::Message() << steps << " steps");
    start();
    send_some(10);
    pull_and_begin_return();
    go_on_for(steps, 5);
    lose(0);
    send_some(10);
    all_come();
    until_around(2);
    send_some(10);
    all_come();
    end();
  }
}

// And a worker: the other hears of it, and what it has ends.
TEST_F(VerbsReturning, APeerThatGoesInTheMiddleOfItIsALoss) {
  for (const std::size_t victim : {0u, 1u}) {
    for (int steps = 0; steps < 40; steps += tests::every(2)) {
      SCOPED_TRACE(testing::Message() << victim << " after " << steps << " steps");
      start();
      send_some(10);
      pull_and_begin_return();
      auto large = begin_large(1'000'000, 1, 1 - victim);
      for (int i = 0; i < steps; ++i) {
        nodes[static_cast<std::size_t>(i * 5 / 3 % 2)].worker->progress();
        if (i % 3 == 0) send_one(1 - victim);
      }
      loses = true;
      losses = 0;
      large->receive.reset();
      drop_sends();
      nodes[victim].worker.reset();
      test::Standstill standstill([&] { return nodes[1 - victim].worker->explain(); });
      while (losses == 0) standstill.look(nodes[1 - victim].worker->progress() > 0);
      EXPECT_EQ(losses, 1);
      large.reset();
      end();
      loses = false;
    }
  }
}

// The leader's own last word, or calls before it, may wait for room on the rail that carries them.
TEST_F(VerbsReturning, ALastWordBeforeItsTurnIsALoss) {
  bool said_it = false;
  int times = 0;
  const auto says_it_now = [&](std::vector<std::byte>& message) {
    verbs::Prefix prefix;
    verbs::Call call;
    if (message.size() < sizeof prefix + sizeof call) return;
    std::memcpy(&prefix, message.data(), sizeof prefix);
    std::memcpy(&call, message.data() + sizeof prefix, sizeof call);
    if (prefix.kind != verbs::Prefix::Kind::beside || call.kind != verbs::Call::Kind::carried) return;
    call.kind = verbs::Call::Kind::last;
    std::memcpy(message.data() + sizeof prefix, &call, sizeof call);
    said_it = true;
  };
  const auto leads_without_room = [this] {
    faults().fails["ibv_post_send"] = {0, ENOMEM};
    for (int i = 0; i < 70; ++i) nodes[0].worker->progress();  // it looks at calls over TCP now and then
    faults().fails.clear();
  };
  loses = true;
  for (int moment = 0; moment < 12; ++moment) {
    SCOPED_TRACE(moment);
    start();
    send_some(5);
    all_come();
    pull_and_begin_return();
    for (int i = 0; i < moment; ++i) nodes[1 - i % 2].worker->progress();
    leads_without_room();
    faults().rewrite = says_it_now;
    send_one(1);
    nodes[1].worker->progress();
    faults().rewrite = nullptr;
    losses = 0;
    leads_without_room();
    times += said_it;
    if (std::exchange(said_it, false)) until([&] { return losses > 0; });
    end();
  }
  EXPECT_GT(times, 0) << "none of the moments was one to say it";
}

TEST_F(VerbsReturning, PortsThatFlapLoseNothing) {
  for (unsigned seed = 1; seed <= tests::amount(8u); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::minstd_rand random(seed);
    const auto chance = [&](unsigned of) { return random() % of == 0; };
    const int devices = 1 + static_cast<int>(seed % 3);
    faults().devices = devices;
    faults().chance = seed;
    faults().seed = seed;
    options["+verbs-rails"] = "3";
    options["+rendezvous"] = seed % 2 == 0 ? "get" : "put";
    start();
    send_some(5);
    std::vector<std::unique_ptr<Large>> all;
    for (std::uint64_t i = 0; i < 400; ++i) {
      if (chance(2)) send_some(static_cast<int>(random() % 5));
      if (chance(20)) all.push_back(begin_large(100'000 + random() % 1'000'000, i, random() % 2));
      if (chance(15)) {
        const int device = static_cast<int>(random()) % devices;
        (faults().ports_down >> device & 1) != 0 ? plug_in(device) : pull(device);
      }
      if (chance(40)) faults().break_one_in = chance(2) ? 50 : 0;
      for (unsigned step = random() % 40; step > 0; --step) nodes[chance(3)].worker->progress();
      if (chance(25)) for_a_while([] {});
      if (chance(10)) {
        const std::size_t alone = random() % 2;
        for (int step = 0; step < 300; ++step) nodes[alone].worker->progress();
      }
    }
    faults().break_one_in = 0;
    for (int device = 0; device < devices; ++device) plug_in(device);
    all_end(all);
    all_come();
    until_back();
    send_some(20);
    all_come();
    EXPECT_EQ(count("(goes over "), 0);
    all.clear();
    end();
  }
}

}  // namespace
}  // namespace periapt::ucx
