// The engine over simulated networks, good and bad: every message arrives once, whole and under its tag, and what was
// sent with one tag in order. The seed of a failure is in its name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "machine/sim/transport.h"
#include "machine/ucx-like/worker.h"

namespace periapt::sim {
namespace {

using namespace ucx;

struct Side {
  Side(const std::string& sim, PeerId self) {
    ContextRequest request;
    request.factories = {&factory};
    request.self = self;
    request.host = "host " + std::to_string(self);
    request.option = [sim](const std::string& name) { return name == "sim" ? sim : std::string(); };
    auto made = Context::create(std::move(request));
    if (!made) throw std::runtime_error(made.message());
    context = std::move(*made);
    auto opened = Worker::create(*context);
    if (!opened) throw std::runtime_error(opened.message());
    worker = std::move(*opened);
  }
  std::unique_ptr<Context> context;
  std::unique_ptr<Worker> worker;
};

std::byte byte_of(std::uint64_t message, std::size_t at) {
  return static_cast<std::byte>(message * 31 + at * 7 + at / 256);
}

class EngineOver : public testing::TestWithParam<std::string> {};

TEST_P(EngineOver, EveryMessageArrivesOnceAndWhole) {
  Side a(GetParam(), 1), b(GetParam(), 2);
  Endpoint& to_b = **a.worker->connect(b.worker->address());
  constexpr int kMessages = 300;
  constexpr Tag kTags = 3;
  std::mt19937 random(5);
  std::vector<std::vector<std::byte>> sent, got(kMessages);
  std::vector<RequestPtr> sends, receives;
  int received = 0;
  for (int i = 0; i < kMessages; ++i) {
    const std::size_t size = i % 40 == 7 ? 300'000 : random() % 3000;
    sent.emplace_back(size);
    for (std::size_t k = 0; k < size; ++k) sent.back()[k] = byte_of(static_cast<std::uint64_t>(i), k);
  }
  // Half of the receives are there before their messages, half come late.
  auto receive = [&](int i) {
    got[static_cast<std::size_t>(i)].resize(sent[static_cast<std::size_t>(i)].size());
    const auto done = [](void* count, const Received& received) {
      EXPECT_EQ(received.outcome, Outcome::ok);
      ++*static_cast<int*>(count);
    };
    receives.push_back(b.worker->tag_receive(got[static_cast<std::size_t>(i)], static_cast<Tag>(i) % kTags, kFullMask,
                                             done, &received));
  };
  for (int i = 0; i < kMessages / 2; ++i) receive(i);
  for (int i = 0; i < kMessages; ++i) {
    sends.push_back(to_b.tag_send(sent[static_cast<std::size_t>(i)], static_cast<Tag>(i) % kTags));
    a.worker->progress();
    b.worker->progress();
  }
  for (int i = kMessages / 2; i < kMessages; ++i) receive(i);
  auto all_sent = [&] {
    return std::all_of(sends.begin(), sends.end(),
                       [](const RequestPtr& request) { return !request || request->ended(); });
  };
  while (received < kMessages || !all_sent()) {
    a.worker->progress();
    b.worker->progress();
  }
  for (int i = 0; i < kMessages; ++i)
    EXPECT_EQ(got[static_cast<std::size_t>(i)], sent[static_cast<std::size_t>(i)]) << "message " << i;
}

TEST_P(EngineOver, ADeadPeerEndsWhatWaitsForIt) {
  Side a(GetParam() + ",name=deaths", 1), b(GetParam() + ",name=deaths", 2);
  Endpoint& to_b = **a.worker->connect(b.worker->address());
  PeerId lost = 0;
  a.worker->on_peer_lost([&](PeerId peer, const std::string& reason) {
    lost = peer;
    EXPECT_FALSE(reason.empty());
  });
  std::vector<std::byte> large(2 << 20);
  RequestPtr request = to_b.tag_send(large, 9);
  for (int i = 0; i < 200; ++i) a.worker->progress(), b.worker->progress();
  ASSERT_TRUE(request) << "nobody receives it, so it can't have ended";
  ASSERT_TRUE(kill_worker("deaths", 2));
  while (!request->ended() || lost == 0) a.worker->progress();
  EXPECT_EQ(request->outcome(), Outcome::peer_lost);
  EXPECT_EQ(lost, 2u);
  EXPECT_FALSE(to_b.failure().empty());
}

std::vector<std::string> networks() {
  std::vector<std::string> all = {"seed=1", "topology=torus:2x2,seed=2"};
  for (int seed = 3; seed < 9; ++seed)
    all.push_back("loss=0.15,delay=5us,dup=0.1,reorder=0.3,no-resource=0.2,rto=30us,seed=" + std::to_string(seed));
  return all;
}
INSTANTIATE_TEST_SUITE_P(Sim, EngineOver, testing::ValuesIn(networks()),
                         [](const auto& info) { return "Seed" + info.param.substr(info.param.rfind('=') + 1); });

}  // namespace
}  // namespace periapt::sim
