// A few workers on a Wire, driven by a test: step() makes one call of progress() on one of them, chosen by the seed.
// After each test the credit of all peers is looked for: none may have been lost, or paid back twice.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "machine/ucx-like/engine.h"
#include "machine/ucx-like/worker.h"
#include "tests/host/pattern.h"
#include "tests/machine/wire.h"

namespace periapt::ucx::testing {

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
inline std::span<const std::byte> bytes_of(const std::vector<std::byte>& bytes) { return bytes; }
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline Buffer owned(std::span<const std::byte> bytes) {
  auto* copy = static_cast<std::byte*>(std::malloc(bytes.size() + 1));
  if (!bytes.empty()) std::memcpy(copy, bytes.data(), bytes.size());
  return {copy, bytes.size(), [](void*, void* given) { std::free(given); }, nullptr};
}

struct Node {
  std::unique_ptr<Context> context;
  std::unique_ptr<Worker> worker;
};

class EngineTest : public ::testing::Test {
 protected:
  explicit EngineTest(std::uint64_t seed = 1) : wire(seed) {}

  /// Peers 1, 2, ... `count`.
  void start(unsigned count, Limits limits = {}) {
    for (unsigned i = 1; i <= count; ++i) {
      Node node;
      node.context = wire.context(i, limits);
      auto worker = Worker::create(*node.context);
      ASSERT_TRUE(worker.ok()) << worker.message();
      node.worker = std::move(*worker);
      nodes.push_back(std::move(node));
    }
  }
  Worker& worker(PeerId peer) { return *nodes[peer - 1].worker; }
  Endpoint& endpoint(PeerId from, PeerId to) {
    auto endpoint = worker(from).connect(worker(to).address());
    EXPECT_TRUE(endpoint.ok()) << endpoint.message();
    return **endpoint;
  }
  std::string endpoint_failure(PeerId from, PeerId to) { return worker(from).endpoint(to)->failure(); }
  void step() { nodes[wire.up_to(nodes.size() - 1)].worker->progress(); }
  /// Until it is so; a test whose condition never comes true says so instead of hanging.
  template <class Condition>
  void until(Condition&& condition) {
    for (unsigned i = 0; i < 2'000'000; ++i) {
      if (condition()) return;
      step();
    }
    FAIL() << "this has not come true after two million steps";
  }
  void settle(unsigned steps = 2000) {
    for (unsigned i = 0; i < steps; ++i) step();
  }

  void TearDown() override {
    for (PeerId to = 1; to <= nodes.size(); ++to) {
      EXPECT_TRUE(static_cast<WorkerImpl&>(worker(to)).sums_are_right()) << "worker " << to << ", of all its peers";
      for (PeerId from = 1; from <= nodes.size(); ++from)
        if (from != to && !credit_is_forged) expect_credit_to_add_up(from, to);
    }
  }
  /// What one may send to another is in its own hands, on its way, held by messages there, or about to come back.
  void expect_credit_to_add_up(PeerId from, PeerId to) {
    auto* sender = static_cast<EndpointImpl*>(worker(from).endpoint(to));
    auto* receiver = static_cast<EndpointImpl*>(worker(to).endpoint(from));
    if (sender == nullptr || !sender->failure().empty()) return;
    if (receiver != nullptr && !receiver->failure().empty()) return;
    const EndpointImpl::CreditBook unknown{kFirstWindow, kFirstWindow, 0, 0};
    const EndpointImpl::CreditBook there = receiver != nullptr ? receiver->credit_book() : unknown;
    std::int64_t spent = 0, returning = 0;
    for (const Wire::InFlight& message : wire.in_flight(from, to)) {
      const MessageHeader header = header_of(message);
      if (header.kind <= MessageKind::active_short) spent += charge_of(header, message.payload);
    }
    for (const Wire::InFlight& message : wire.in_flight(to, from)) returning += header_of(message).credit;
    const std::int64_t left = sender->credit_book().credit;
    EXPECT_EQ(left + spent + there.held + there.owed + returning, there.granted)
        << "credit of worker " << from << " at worker " << to << ": " << left << " left, " << spent
        << " in messages on their way, " << there.held << " in messages that are kept, " << there.owed << " owed, "
        << returning << " on its way back";
  }
  static MessageHeader header_of(const Wire::InFlight& message) {
    MessageHeader header;
    EXPECT_EQ(read_header(message.header, message.payload, header), nullptr);
    return header;
  }

  Wire wire;
  std::vector<Node> nodes;
  bool credit_is_forged = false;  ///< by a test that sends messages of its own making
};

}  // namespace periapt::ucx::testing
