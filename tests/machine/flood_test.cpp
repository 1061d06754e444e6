// Credit: a receiver that is flooded keeps its bound, slows its senders down, and loses nothing.
#include <algorithm>
#include <map>

#include "tests/machine/engine_fixture.h"

namespace periapt::ucx::testing {
namespace {

class Flood : public EngineTest {
 protected:
  Flood() : EngineTest(21) {}
};

TEST_F(Flood, AThousandSendersKeepTheReceiverInItsBound) {
  constexpr unsigned kSenders = 1000, kEach = 60;
  constexpr std::size_t kSize = 1000;
  Limits limits;
  limits.unexpected_bytes = 10 << 20;  // 60 MB are sent
  wire.settings.burst_max = 32;
  start(kSenders + 1, limits);
  const PeerId receiver = kSenders + 1;
  std::vector<std::byte> message = pattern(kSize);
  for (PeerId sender = 1; sender <= kSenders; ++sender) {
    for (unsigned i = 0; i < kEach; ++i) {
      std::memcpy(message.data(), &i, 4);
      endpoint(sender, receiver).tag_send_owned(owned(message), 5);
    }
  }
  auto round = [&] {
    for (PeerId sender = 1; sender <= kSenders; ++sender) worker(sender).progress();
    worker(receiver).progress();
  };
  // Nothing is received for a while: what has arrived stays within the bound, the rest waits at its senders.
  for (unsigned i = 0; i < 100; ++i) round();
  EXPECT_EQ(wire.in_flight(), 0u);
  std::uint64_t held = worker(receiver).counters().unexpected * (kSize + 128);
  EXPECT_LE(held, limits.unexpected_bytes);
  EXPECT_GE(held, limits.unexpected_bytes / 4) << "the bound is not used";
  std::uint64_t waiting = 0;
  for (PeerId sender = 1; sender <= kSenders; ++sender) waiting += endpoint(sender, receiver).waiting_messages();
  EXPECT_EQ(waiting + worker(receiver).counters().unexpected, kSenders * kEach);

  struct Taken {
    std::map<PeerId, unsigned> next;
    std::uint64_t count = 0;
  } taken;
  worker(receiver).post_persistent({5, kFullMask, &taken,
                                    [](void*, std::uint64_t size) { return owned(std::vector<std::byte>(size)); },
                                    [](void* context, Buffer bytes, const Received& received) {
                                      auto& all = *static_cast<Taken*>(context);
                                      unsigned number = 0;
                                      std::memcpy(&number, bytes.data(), 4);
                                      EXPECT_EQ(number, all.next[received.from]++) << "from " << received.from;
                                      ++all.count;
                                    }});
  for (unsigned i = 0; i < 20'000 && taken.count != kSenders * kEach; ++i) round();
  EXPECT_EQ(taken.count, kSenders * kEach);
}

TEST_F(Flood, OneSenderIsSlowedAndGoesOnWhenItsMessagesAreTaken) {
  Limits limits;
  limits.credit_bytes = 32 << 10;
  start(2, limits);
  std::vector<std::byte> message = pattern(3000);
  for (unsigned i = 0; i < 200; ++i) endpoint(1, 2).tag_send_owned(owned(message), i);
  settle();
  EXPECT_LE(worker(2).counters().unexpected * 3128, 32u << 10);
  EXPECT_GT(endpoint(1, 2).waiting_bytes(), 500'000u);
  EXPECT_GT(worker(1).counters().credit_waits, 0u);
  std::vector<std::byte> into(3000);
  for (unsigned i = 0; i < 200; ++i) {
    RequestPtr receive = worker(2).tag_receive(into, i);
    until([&] { return receive->ended(); });
    EXPECT_TRUE(into == message) << i;
  }
  EXPECT_EQ(endpoint(1, 2).waiting_messages(), 0u);
}

// What MPI allows: the message that a receive waits for lies behind more than the window holds.
TEST_F(Flood, TheMessageThatIsWaitedForComesThroughThoseThatAreNot) {
  start(2);
  std::vector<std::byte> message = pattern(3000), into(3000);
  for (unsigned i = 0; i < 100; ++i) endpoint(1, 2).tag_send_owned(owned(message), 1);
  endpoint(1, 2).tag_send_owned(owned(pattern(3000, 2)), 2);
  settle();
  RequestPtr last = worker(2).tag_receive(into, 2);
  until([&] { return last->ended(); });
  EXPECT_TRUE(into == pattern(3000, 2));
  for (unsigned i = 0; i < 100; ++i) {
    RequestPtr receive = worker(2).tag_receive(into, 1);
    until([&] { return receive->ended(); });
    EXPECT_TRUE(into == message);
  }
}

// A ping-pong of messages as large as the first window: one is on its way at a time, so the window is never used up.
TEST_F(Flood, AMessageLargerThanTheWindowIsAnnouncedOnlyUntilTheWindowHasGrown) {
  start(2);
  for (std::uint64_t size : {std::uint64_t{8} << 10, std::uint64_t{30} << 10}) {
    std::vector<std::byte> message = pattern(size), into(size);
    std::uint64_t announced = 0;
    for (unsigned i = 0; i < 50; ++i) {
      announced = worker(1).counters().rendezvous;
      RequestPtr receive = worker(2).tag_receive(into, 3), send = endpoint(1, 2).tag_send(message, 3);
      until([&] { return receive->ended() && (!send || send->ended()); });
      ASSERT_TRUE(into == message) << i;
    }
    EXPECT_EQ(worker(1).counters().rendezvous, announced) << size << " B: the last one still was announced";
  }
}

TEST_F(Flood, AWindowDoesNotGrowBeyondTheBoundForALargerMessage) {
  Limits limits;
  limits.unexpected_bytes = 20 << 10;
  start(3, limits);
  std::vector<std::byte> message = pattern(30 << 10), into(30 << 10);
  for (unsigned i = 0; i < 50; ++i) {
    for (PeerId sender : {1, 2}) {
      RequestPtr receive = worker(3).tag_receive(into, 3), send = endpoint(sender, 3).tag_send(message, 3);
      until([&] { return receive->ended() && (!send || send->ended()); });
      ASSERT_TRUE(into == message) << i;
    }
  }
  EXPECT_EQ(worker(1).counters().rendezvous, 50u);
  EXPECT_EQ(worker(2).counters().rendezvous, 50u);
}

TEST_F(Flood, WindowsGrowForThoseWhoUseThemAndShrinkWhenItGetsTight) {
  Limits limits;
  limits.unexpected_bytes = 300 << 10;
  start(20, limits);
  struct Taken {
    unsigned count = 0;
  } taken;
  worker(20).post_persistent({0, 0, &taken,
                              [](void*, std::uint64_t size) { return owned(std::vector<std::byte>(size)); },
                              [](void* context, Buffer, const Received&) { ++static_cast<Taken*>(context)->count; }});
  std::vector<std::byte> message = pattern(4000);
  unsigned sent = 0;
  for (; sent < 500; ++sent) endpoint(1, 20).tag_send_owned(owned(message), 1);
  until([&] { return taken.count == sent; });
  for (PeerId sender = 2; sender < 20; ++sender) {
    for (unsigned i = 0; i < 100; ++i, ++sent) endpoint(sender, 20).tag_send_owned(owned(message), 1);
  }
  for (unsigned i = 0; i < 300; ++i, ++sent) endpoint(1, 20).tag_send_owned(owned(message), 1);
  until([&] { return taken.count == sent; });
}

// Whose credit comes back with each answer never uses the window up; it grows all the same, for what does not fit it.
TEST_F(Flood, AWindowGrowsForMessagesThatAreLargerThanIt) {
  start(2);
  std::vector<std::byte> message = pattern(9000), into(9000);
  for (unsigned i = 0; i < 50; ++i) {
    for (PeerId from : {1, 2}) {
      RequestPtr receive = worker(3 - from).tag_receive(into, i);
      RequestPtr send = endpoint(from, 3 - from).tag_send(message, i);
      until([&] { return receive->ended() && (send == nullptr || send->ended()); });
      ASSERT_TRUE(into == message);
    }
  }
  EXPECT_LE(worker(1).counters().rendezvous + worker(2).counters().rendezvous, 8u) << "most go at once";
}

TEST_F(Flood, WindowsThatHaveGrownStayWithinTheBoundTogether) {
  Limits limits;
  limits.unexpected_bytes = 256 << 10;
  constexpr unsigned kSenders = 8;
  start(kSenders + 1, limits);
  const PeerId receiver = kSenders + 1;
  unsigned taken = 0;
  worker(receiver).post_persistent(
      {1, kFullMask, &taken, [](void*, std::uint64_t size) { return owned(std::vector<std::byte>(size)); },
       [](void* context, Buffer, const Received&) { ++*static_cast<unsigned*>(context); }});
  std::vector<std::byte> message = pattern(4000);
  const auto from_all = [&](Tag tag, unsigned each) {
    for (unsigned i = 0; i < each; ++i)
      for (PeerId sender = 1; sender <= kSenders; ++sender)
        endpoint(sender, receiver).tag_send_owned(owned(message), tag);
  };
  from_all(1, 200);
  std::int64_t granted_most = 0;
  until([&] {
    std::int64_t granted = 0;
    for (PeerId sender = 1; sender <= kSenders; ++sender)
      granted += static_cast<EndpointImpl&>(endpoint(receiver, sender)).credit_book().granted;
    granted_most = std::max(granted_most, granted);
    return taken == 200 * kSenders;
  });
  EXPECT_GT(granted_most, kSenders * kFirstWindow) << "no window has grown";
  EXPECT_LE(granted_most, static_cast<std::int64_t>(limits.unexpected_bytes));
  from_all(2, 200);  // which are not received
  settle(20'000);
  EXPECT_LE(worker(receiver).counters().unexpected * 4128, limits.unexpected_bytes);
}

// Each message takes credit along that is owed to its receiver; one that is refused takes it back.
TEST_F(Flood, NoCreditIsLostWhereTransportsRefuse) {
  wire.settings.refuse = 0.4;
  wire.settings.can.max_inline = 500;
  wire.settings.delay_max = 3;
  start(2);
  for (PeerId peer : {1, 2}) {
    worker(peer).on_active(3, {nullptr, nullptr, [](void*, Endpoint&, std::span<const std::byte>, Buffer) {}});
    worker(peer).post_persistent({0, 0, nullptr,
                                  [](void*, std::uint64_t size) { return owned(std::vector<std::byte>(size)); },
                                  [](void*, Buffer, const Received&) {}});
  }
  const std::vector<std::byte> bytes = pattern(200'000);
  const std::string long_header(100, 'h');
  std::vector<RequestPtr> requests;
  for (unsigned i = 0; i < 3000; ++i) {
    const PeerId from = 1 + wire.up_to(1);
    Endpoint& to = endpoint(from, 3 - from);
    const std::uint64_t size = wire.up_to(wire.chance(0.5) ? 400 : wire.chance(0.9) ? 5000 : bytes.size());
    const std::span<const std::byte> message = std::span(bytes).first(size);
    const auto how = wire.up_to(4);
    if (how == 0) {
      to.tag_send_owned(owned(message), 1);
    } else if (how == 1) {
      requests.push_back(to.active_send(3, bytes_of(wire.chance(0.5) ? std::string("short") : long_header), message));
    } else if (how == 2) {
      requests.push_back(to.tag_send_sync(message, 2));
    } else {
      requests.push_back(to.tag_send(message, 2));
    }
    for (auto steps = wire.up_to(6); steps > 0; --steps) step();
  }
  until([&] {
    return std::all_of(requests.begin(), requests.end(), [](auto& r) { return r == nullptr || r->ended(); }) &&
           endpoint(1, 2).waiting_messages() + endpoint(2, 1).waiting_messages() == 0;
  });
}

TEST_F(Flood, LargeMessagesAreFetchedIntoBoundedMemory) {
  Limits limits;
  limits.unexpected_bytes = 4 << 20;
  start(30, limits);
  struct State {
    std::uint64_t out = 0, most = 0;
    unsigned count = 0;
  };
  static State state;
  state = {};
  worker(30).post_persistent({0, 0, nullptr,
                              [](void*, std::uint64_t size) {
                                state.most = std::max(state.most, state.out += size);
                                return owned(std::vector<std::byte>(size));
                              },
                              [](void*, Buffer bytes, const Received&) {
                                state.out -= bytes.size();
                                ++state.count;
                              }});
  std::vector<std::byte> message = pattern(1 << 20);
  for (PeerId sender = 1; sender < 30; ++sender) {
    for (unsigned i = 0; i < 3; ++i) endpoint(sender, 30).tag_send(message, 1);
  }
  until([&] { return state.count == 87; });
  EXPECT_LE(state.most, limits.unexpected_bytes);
}

}  // namespace
}  // namespace periapt::ucx::testing
