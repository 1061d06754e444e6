// Two workers with several adapters of the fake libibverbs, driven by a test: numbered messages, each looked at where
// it arrives (whole, in its order, once), and large ones.
#pragma once

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
#include "tests/host/pattern.h"
#include "tests/machine/standstill.h"
#include "tests/verbs/fake_verbs.h"

namespace periapt::ucx {

inline fake_verbs::InPlace in_place;
inline fake_verbs::Faults& faults() { return fake_verbs::faults(); }

class RailsTest : public testing::Test {
 protected:
  void SetUp() override {
    faults() = {};
    faults().devices = 2;
  }
  void TearDown() override {
    end();
    faults() = {};
  }
  void drop_sends() { sends_.clear(); }
  void end() {
    drop_sends();
    for (Node& node : nodes) {
      node.worker.reset();
      node = {};
    }
    faults().ports_down = faults().ports_inactive = 0;
    sent_.clear();
    count_[0] = count_[1] = 0;
  }

  struct Node {
    std::unique_ptr<Context> context;
    std::unique_ptr<Worker> worker;
    std::vector<std::uint64_t> numbers;  ///< of the messages that have come
  };

  void open(std::size_t i) { open(nodes[i], i + 1); }
  void open(Node& node, PeerId self) {
    ContextRequest request;
    request.factories = {&verbs::factory};
    request.self = self;
    request.host = "here";
    request.secret.assign(16, std::byte{7});
    request.option = [this](const std::string& name) {
      const auto given = options.find(name);
      return given == options.end() ? std::string() : given->second;
    };
    auto context = Context::create(std::move(request));
    ASSERT_TRUE(context.ok()) << context.message();
    node.context = std::move(*context);
    auto worker = Worker::create(*node.context);
    ASSERT_TRUE(worker.ok()) << worker.message();
    node.worker = std::move(*worker);
    node.worker->on_peer_lost([this](PeerId, const std::string& reason) {
      ++losses;
      if (!loses) ADD_FAILURE() << reason;
    });
    node.worker->post_persistent(
        {0, 0xff, &node,
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
  /// Numbered messages from each to the other, in turn lent and the engine's own.
  void send_some(int count) {
    for (int i = 0; i < count; ++i) {
      for (std::size_t from : {0u, 1u}) send_one(from);
    }
  }
  void send_one(std::size_t from) {
    sent_.push_back(bytes_of(count_[from]++));
    if (count_[from] % 2 == 0) {
      auto* owned = new std::vector<std::byte>(sent_.back());
      to[from]->tag_send_owned(
          Buffer(
              owned->data(), owned->size(),
              [](void* whole, void*) { delete static_cast<std::vector<std::byte>*>(whole); }, owned),
          0);
    } else {
      sends_.push_back(to[from]->tag_send(sent_.back(), 0));
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
  /// A cable is pulled, and plugged back in.
  static void pull(int device) {
    faults().ports_down |= 1u << device;
    faults().ports_inactive |= 1u << device;
    fake_verbs::raise(IBV_EVENT_PORT_ERR, device);
  }
  static void plug_in(int device) {
    faults().ports_down &= ~(1u << device);
    faults().ports_inactive &= ~(1u << device);
    fake_verbs::raise(IBV_EVENT_PORT_ACTIVE, device);
  }
  static std::uint64_t sent_by(std::size_t device) { return std::exchange(faults().sent[device], 0); }
  static std::uint64_t put_or_got_by(std::size_t device) { return std::exchange(faults().one_sided[device], 0); }

  std::map<std::string, std::string> options = {{"+net-devices", "127.0.0.1"}};
  Node nodes[2];
  Endpoint* to[2] = {};
  bool loses = false;  ///< a peer may be lost
  int losses = 0;

 private:
  std::uint64_t count_[2] = {};
  std::deque<std::vector<std::byte>> sent_;
  std::vector<RequestPtr> sends_;
};

}  // namespace periapt::ucx
