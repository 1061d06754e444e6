// Several adapters as rails of the engine: what is split over them, and what becomes of it when one of them goes. Each
// message is looked at where it arrives: whole, in its order, once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "machine/ucx-like/worker.h"
#include "machine/verbs/transport.h"
#include "tests/machine/standstill.h"
#include "tests/verbs/fake_verbs.h"

namespace periapt::ucx {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

fake_verbs::InPlace in_place;
fake_verbs::Faults& faults() { return fake_verbs::faults(); }

std::vector<std::byte> pattern(std::size_t size, std::uint64_t seed) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes)
    byte = static_cast<std::byte>((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 56);
  return bytes;
}

class VerbsRails : public testing::Test {
 protected:
  void SetUp() override {
    faults() = {};
    faults().devices = 2;
  }
  void TearDown() override {
    end();
    faults() = {};
  }
  void end() {
    sends_.clear();
    for (Node& node : nodes) {
      node.worker.reset();
      node = {};
    }
    faults().ports_down = 0;
    sent_.clear();
    count_[0] = count_[1] = 0;
  }

  struct Node {
    std::unique_ptr<Context> context;
    std::unique_ptr<Worker> worker;
    std::vector<std::uint64_t> numbers;  ///< of the messages that have come
  };

  void open(std::size_t i) {
    ContextRequest request;
    request.factories = {&verbs::factory};
    request.self = i + 1;
    request.host = "here";
    request.secret.assign(16, std::byte{7});
    request.option = [this](const std::string& name) {
      const auto given = options.find(name);
      return given == options.end() ? std::string() : given->second;
    };
    auto context = Context::create(std::move(request));
    ASSERT_TRUE(context.ok()) << context.message();
    nodes[i].context = std::move(*context);
    auto worker = Worker::create(*nodes[i].context);
    ASSERT_TRUE(worker.ok()) << worker.message();
    nodes[i].worker = std::move(*worker);
    nodes[i].worker->on_peer_lost([](PeerId, const std::string& reason) { ADD_FAILURE() << reason; });
    nodes[i].worker->post_persistent(
        {0, 0xff, &nodes[i],
         [](void*, std::uint64_t size) {
           return Buffer(
               static_cast<std::byte*>(std::malloc(size + 1)), size, [](void*, void* bytes) { std::free(bytes); },
               nullptr);
         },
         [](void* self, Buffer message, const Received&) {
           std::uint64_t number = 0;
           std::memcpy(&number, message.data(), sizeof number);
           auto& numbers = static_cast<Node*>(self)->numbers;
           EXPECT_EQ(number, numbers.size()) << "a message came twice, or not in its order";
           EXPECT_TRUE(std::equal(message.data(), message.data() + message.size(), bytes_of(number).begin()));
           numbers.push_back(number);
         }});
  }
  void start() {
    open(0);
    open(1);
    connect();
  }
  void connect() {
    for (std::size_t i : {0u, 1u}) {
      auto endpoint = nodes[i].worker->connect(nodes[1 - i].worker->address());
      ASSERT_TRUE(endpoint.ok()) << endpoint.message();
      to[i] = *endpoint;
    }
  }
  static std::vector<std::byte> bytes_of(std::uint64_t number) {
    std::vector<std::byte> bytes = pattern(8 + number * 977 % 8185, number);
    std::memcpy(bytes.data(), &number, sizeof number);
    return bytes;
  }
  /// Numbered messages from each to the other.
  void send_some(int count) {
    for (int i = 0; i < count; ++i) {
      for (std::size_t from : {0u, 1u}) {
        sent_.push_back(bytes_of(count_[from]++));
        sends_.push_back(to[from]->tag_send(sent_.back(), 0));
      }
    }
  }
  void progress() {
    for (Node& node : nodes) node.worker->progress();
  }
  template <class Condition>
  void until(Condition&& condition) {
    test::Standstill standstill([this] { return nodes[0].worker->explain() + nodes[1].worker->explain(); });
    while (!condition()) {
      int moved = 0;
      for (Node& node : nodes) moved += node.worker->progress();
      standstill.look(moved > 0);
    }
  }
  void all_come() {
    until([&] { return nodes[0].numbers.size() == count_[1] && nodes[1].numbers.size() == count_[0]; });
  }
  /// Large messages, and what they wait for.
  struct Large {
    Large(std::size_t size, std::uint64_t seed) : message(pattern(size, seed)), into(size) {}
    bool ended() const { return receive->ended() && (send == nullptr || send->ended()); }
    std::vector<std::byte> message, into;
    RequestPtr send, receive;
  };
  std::unique_ptr<Large> begin_large(std::size_t size, std::uint64_t seed, std::size_t from = 0) {
    auto large = std::make_unique<Large>(size, seed);
    large->receive = nodes[1 - from].worker->tag_receive(large->into, 1 + seed * 256);
    large->send = to[from]->tag_send(large->message, 1 + seed * 256);
    return large;
  }
  void send_large(std::size_t size, std::uint64_t seed, std::size_t from = 0) {
    auto large = begin_large(size, seed, from);
    until([&] { return large->ended(); });
    EXPECT_EQ(large->receive->outcome(), Outcome::ok);
    EXPECT_TRUE(large->into == large->message);
  }
  /// An adapter goes: nothing passes it any more, and it says so.
  static void lose(int device) {
    faults().ports_down |= 1u << device;
    fake_verbs::raise(IBV_EVENT_DEVICE_FATAL, device);
  }
  static std::uint64_t sent_by(std::size_t device) { return std::exchange(faults().sent[device], 0); }
  static std::uint64_t put_or_got_by(std::size_t device) { return std::exchange(faults().one_sided[device], 0); }

  std::map<std::string, std::string> options = {{"+net-devices", "127.0.0.1"}};
  Node nodes[2];
  Endpoint* to[2] = {};

 private:
  std::uint64_t count_[2] = {};
  std::deque<std::vector<std::byte>> sent_;
  std::vector<RequestPtr> sends_;
};

TEST_F(VerbsRails, SmallMessagesGoOverTheFirstAndLargeOnesOverBothByBandwidth) {
  faults().speed[1] = 4;  // 40 Gb/s, where the other has 100
  for (const char* way : {"get", "put"}) {
    options["+rendezvous"] = way;
    start();
    send_some(100);
    all_come();
    EXPECT_GT(sent_by(0), 100'000u) << way;
    EXPECT_EQ(sent_by(1), 0u) << way;
    send_large(32 << 20, 1);
    const auto first = static_cast<double>(sent_by(0)), second = static_cast<double>(sent_by(1));
    EXPECT_NEAR(second / (first + second), 40.0 / 140, 0.03) << way;
    EXPECT_THAT(nodes[0].worker->explain(),
                HasSubstr("over verbs/fake0:1, and for messages from 262144 B beside it verbs/fake1:1"));
    end();
  }
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
