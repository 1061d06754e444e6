// Peers that go away in the middle of everything: each request ends once, with the reason, and nothing is touched
// after.
#include <algorithm>

#include "machine/ucx-like/header.h"
#include "tests/host/amount.h"
#include "tests/machine/engine_fixture.h"

namespace periapt::ucx::testing {
namespace {

class Loss : public EngineTest, public ::testing::WithParamInterface<unsigned> {
 protected:
  Loss() : EngineTest(GetParam()) {
    // The seed also says how large messages go.
    if (GetParam() % 3 == 0) wire.settings.can.max_get = 50'000;
    if (GetParam() % 3 == 1) wire.settings.can.max_put = 50'000;
    wire.settings.can.needs_registration = GetParam() % 2 == 0;
    wire.settings.devices = 1 + GetParam() % 2;
    wire.settings.delay_max = 4;
  }
};

TEST_P(Loss, EndsEveryOperationOnceWhereverItIs) {
  start(3);
  struct Ends {
    unsigned sends = 0, receives = 0, lost_events = 0;
    std::string reason;
  } ends;
  worker(1).on_peer_lost([&](PeerId peer, const std::string& reason) {
    EXPECT_EQ(peer, 2u);
    ++ends.lost_events;
    ends.reason = reason;
  });
  auto sent = [](void* context, Outcome) { ++static_cast<Ends*>(context)->sends; };
  auto received = [](void* context, const Received&) { ++static_cast<Ends*>(context)->receives; };
  std::vector<std::vector<std::byte>> messages, into(60);
  for (unsigned i = 0; i < 60; ++i) messages.push_back(pattern(i % 2 == 0 ? 3000 : 200'000 + i, i));
  std::vector<std::byte> memory(100'000), local(100'000);
  MemoryPtr registered = *worker(2).register_memory(memory);
  RkeyPtr key = *endpoint(1, 2).unpack(worker(2).pack_key(registered));
  std::vector<RequestPtr> requests;
  unsigned sends = 0, receives = 0;
  for (unsigned i = 0; i < 60; ++i) {
    into[i].resize(messages[i].size());
    bool out = i % 4 < 2;  // half of them to the peer that dies, half from it
    PeerId from = out ? 1 : 2, to = out ? 2 : 1;
    RequestPtr send = endpoint(from, to).tag_send(messages[i], i, from == 1 ? +sent : nullptr, &ends);
    if (from == 1 && send != nullptr) ++sends;
    requests.push_back(std::move(send));
    if (i % 3 != 0) {
      requests.push_back(worker(to).tag_receive(into[i], i, kFullMask, to == 1 ? +received : nullptr, &ends));
      if (to == 1) ++receives;
    }
    if (i % 10 == 0) {
      for (auto& request : {0, 1, 2}) {
        RequestPtr one =
            request == 0 ? endpoint(1, 2).put(local, reinterpret_cast<std::uintptr_t>(memory.data()), key, sent, &ends)
            : request == 1
                ? endpoint(1, 2).get(local, reinterpret_cast<std::uintptr_t>(memory.data()), key, sent, &ends)
                : endpoint(1, 2).flush(sent, &ends);
        if (one != nullptr) ++sends;
        requests.push_back(std::move(one));
      }
    }
    if (wire.chance(0.3)) step();
  }
  settle(static_cast<unsigned>(wire.up_to(60)));
  wire.lose(1, 2, "cable cut");
  settle(500);
  EXPECT_EQ(ends.sends, sends) << "seed " << GetParam();
  EXPECT_EQ(ends.lost_events, 1u);
  EXPECT_EQ(ends.reason, "cable cut");
  EXPECT_EQ(endpoint_failure(1, 2), "cable cut");
  // Receives that had found their message have ended; the others may still be taken back.
  unsigned taken_back = 0;
  for (auto& request : requests) {
    if (request != nullptr && !request->ended()) {
      EXPECT_TRUE(request->cancel());
      ++taken_back;
    }
  }
  settle(10);
  EXPECT_EQ(ends.receives, receives) << "seed " << GetParam();
  // What is begun now ends at once, badly; other peers are as well as before.
  RequestPtr late = worker(1).endpoint(2)->tag_send(messages[0], 1);
  ASSERT_NE(late, nullptr);
  EXPECT_EQ(late->outcome(), Outcome::peer_lost);
  EXPECT_FALSE(worker(1).connect(worker(2).address()).ok());
  RequestPtr receive = worker(3).tag_receive(into[1], 1);
  RequestPtr send = endpoint(1, 3).tag_send(messages[1], 1);
  until([&] { return receive->ended() && send->ended(); });
  EXPECT_TRUE(into[1] == messages[1]);
  requests.clear();
  registered.reset();
  key.reset();
}

TEST_P(Loss, AnOrderlyPartingDeliversEverythingFirst) {
  wire.settings.refuse = 0.2;
  start(2);
  std::vector<std::vector<std::byte>> messages, into(20);
  std::vector<RequestPtr> requests;
  for (unsigned i = 0; i < 20; ++i) {
    messages.push_back(pattern(i % 2 == 0 ? 2000 : 300'000, i));
    into[i].resize(messages[i].size());
    requests.push_back(worker(2).tag_receive(into[i], i));
  }
  unsigned lost = 0;
  for (PeerId peer : {1, 2}) worker(peer).on_peer_lost([&](PeerId, const std::string&) { ++lost; });
  for (unsigned i = 0; i < 20; ++i) requests.push_back(endpoint(1, 2).tag_send(messages[i], i));
  RequestPtr closing = endpoint(1, 2).close();
  until([&] { return closing == nullptr || closing->ended(); });
  EXPECT_EQ(closing->outcome(), Outcome::ok);
  for (auto& request : requests)
    EXPECT_TRUE(request == nullptr || (request->ended() && request->outcome() == Outcome::ok));
  for (unsigned i = 0; i < 20; ++i) EXPECT_TRUE(into[i] == messages[i]) << i;
  settle(100);
  EXPECT_EQ(lost, 0u) << "a parting is no loss";
  EXPECT_NE(worker(2).endpoint(1)->failure(), "");
  // And they may meet again.
  for (PeerId from : {2, 1}) {
    RequestPtr receive = worker(3 - from).tag_receive(into[1], 1);
    RequestPtr send = endpoint(from, 3 - from).tag_send(messages[1], 1);
    until([&] { return receive->ended() && (send == nullptr || send->ended()); });
    EXPECT_EQ(receive->outcome(), Outcome::ok);
  }
}

TEST_P(Loss, PartingAtOnceEndsWhatIsUnderWay) {
  start(2);
  std::vector<std::byte> message = pattern(500'000);
  RequestPtr send = endpoint(1, 2).tag_send(message, 1);
  settle(20);
  endpoint(1, 2).close(true);
  settle(200);
  EXPECT_TRUE(send->ended());
  EXPECT_NE(send->outcome(), Outcome::ok);
  EXPECT_NE(worker(2).endpoint(1)->failure(), "");
}

// A parting is heard as one by a peer that was never sent to, and where links to it end in any order.
TEST_P(Loss, PartingIsNoLossForAPeerThatWasNeverSentTo) {
  const bool at_once = GetParam() % 4 < 2;
  const std::size_t size = GetParam() % 5 < 3 ? 100 : 300'000;
  start(2);
  unsigned lost = 0, disconnected = 0;
  worker(1).on_peer_lost([&](PeerId, const std::string&) { ++lost; });
  worker(1).on_peer_disconnected([&](PeerId, const std::string&) { ++disconnected; });
  std::vector<std::byte> message = pattern(size), into(size);
  RequestPtr receive = worker(2).tag_receive(into, 1);
  RequestPtr send = endpoint(1, 2).tag_send(message, 1);
  until([&] { return receive->ended() && (send == nullptr || send->ended()); });
  RequestPtr closing = worker(2).endpoint(1)->close(at_once);
  until([&] { return disconnected + lost != 0; });
  EXPECT_EQ(disconnected, 1u) << "at once: " << at_once << ", " << size << " bytes";
  EXPECT_EQ(lost, 0u);
}

// Anything may come over a wire. Whatever it is, the worker stays whole, and the peer that sent it is dropped or
// ignored.
TEST_P(Loss, MessagesFromOutsideAreReadWithCare) {
  start(2);
  credit_is_forged = true;
  std::vector<std::byte> memory(1000), into(100);
  MemoryPtr registered = *worker(2).register_memory(memory);
  worker(2).on_active(1, {nullptr, nullptr, [](void*, Endpoint&, std::span<const std::byte>, Buffer) {}});
  worker(2).on_active_short({nullptr, [](void*, PeerId, std::uint64_t, std::span<const std::byte>) {}});
  for (int round = 0; round < 300; ++round) {
    RequestPtr receive = worker(2).tag_receive(into, 5);
    Link* link = *wire.transport(1)->connect(2, wire.transport(2)->address());
    MessageHeader header;
    for (int i = 0; i < 5; ++i) {
      header.version = wire.chance(0.05) ? static_cast<std::uint8_t>(wire.up_to(255)) : kWireVersion;
      header.kind = static_cast<MessageKind>(wire.up_to(wire.chance(0.05) ? 255 : static_cast<unsigned>(kLastKind)));
      header.code = static_cast<std::uint16_t>(wire.up_to(wire.chance(0.5) ? 3 : 65535));
      header.tag = wire.chance(0.5) ? wire.up_to(8) : ~wire.up_to(1000);
      header.size = wire.chance(0.5) ? wire.up_to(200) : ~wire.up_to(1000);
      header.id = wire.chance(0.5) ? (std::uint64_t{1} << 32) + wire.up_to(4) : ~wire.up_to(5);
      header.offset =
          wire.chance(0.5) ? wire.up_to(200) : reinterpret_cast<std::uintptr_t>(memory.data()) + wire.up_to(2000);
      if (header.size > (1 << 20) && header.kind != MessageKind::data && header.kind != MessageKind::got)
        header.size = wire.up_to(1 << 20);
      std::vector<std::byte> payload(wire.up_to(200));
      std::span<const std::byte> raw(reinterpret_cast<const std::byte*>(&header), wire.chance(0.03) ? 39 : 40);
      if (wire.chance(0.5)) {
        Buffer buffer = owned(payload);
        (void)wire.transport(1)->send_owned(*link, raw, buffer);
      } else {
        (void)wire.transport(1)->send_inline(*link, raw, payload);
      }
    }
    for (int i = 0; i < 20; ++i) worker(2).progress();
    receive->cancel();
    wire.transport(1)->close(*link);
    for (int i = 0; i < 10; ++i) step();
    if (worker(2).endpoint(1)->failure().empty()) continue;
    // Lost or parted: a fresh pair.
    receive.reset();
    registered.reset();
    nodes.clear();
    start(2);
    registered = *worker(2).register_memory(memory);
    worker(2).on_active(1, {nullptr, nullptr, [](void*, Endpoint&, std::span<const std::byte>, Buffer) {}});
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Loss, ::testing::Range(1u, 1 + tests::amount(30u)));

}  // namespace
}  // namespace periapt::ucx::testing
