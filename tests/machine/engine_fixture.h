// A few workers on a Wire, driven by a test: step() makes one call of progress() on one of them, chosen by the seed.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "machine/ucx-like/worker.h"
#include "tests/machine/wire.h"

namespace periapt::ucx::testing {

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
inline std::span<const std::byte> bytes_of(const std::vector<std::byte>& bytes) { return bytes; }
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::vector<std::byte> pattern(std::size_t size, unsigned seed = 1) {
  std::vector<std::byte> bytes(size);
  std::uint64_t state = seed * 0x9E37'79B9u + 1;
  for (std::byte& byte : bytes)
    byte = static_cast<std::byte>((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
  return bytes;
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

  Wire wire;
  std::vector<Node> nodes;
};

}  // namespace periapt::ucx::testing
