// Conformance of transports: a peer's process is killed in the middle of each kind of operation. See conformance.h.
// Whatever was accepted ends once, then the loss is told, once and with a reason; everything else goes on.
#include <algorithm>

#include "tests/machine/conformance.h"

namespace periapt::conformance {
namespace {

class Death {
 public:
  /// `body` is what the peer does before it is killed; by then it has told `ready` what it wants to tell.
  Death(const Subject& subject, const Process::Body& body)
      : process(subject, 2, body), bystander(subject, 3), a(subject, 1), link(a.connect(2, process.address)) {
    a.push(link, 8, 0, {});
    to_bystander = &a.connect(bystander);
  }

  /// Kills the peer; checks that all ends as it should, and that the bystander is still reached.
  void strike() {
    process.kill();
    pump({&a, &bystander}, [&] { return a.losses.size() == 1; });
    EXPECT_EQ(a.losses[0].peer, 2u);
    for (Ticket& ticket : tickets) EXPECT_TRUE(ticket.ended()) << "the loss was told before an operation had ended";
    EXPECT_EQ(a.lent_under_way(), 0u);
    EXPECT_EQ(Worker::owned_alive, 0);
    EXPECT_EQ(a.send_inline(link, 8), Accepted::lost);
    Ticket late;
    EXPECT_EQ(a.flush(link, late), Accepted::lost);
    a.push(*to_bystander, 100, 0, {&bystander});
    pump({&a, &bystander}, [&] { return bystander.arrived_from(1) == 1; });
    a.close(link);
    settle({&a, &bystander});
    EXPECT_EQ(late.calls, 0);
  }

  Ticket& ticket() { return tickets.emplace_back(); }
  /// Keeps the ticket if something is pending for it.
  bool keep(Accepted answer) {
    if (answer != Accepted::pending) tickets.pop_back();
    return answer == Accepted::pending || answer == Accepted::done;
  }

  std::deque<Ticket> tickets;
  Process process;  // forked before the sockets of this process are there
  Worker bystander, a;
  Link& link;
  Link* to_bystander = nullptr;
};

/// Looks at the world for a while, and says so, until it is killed.
void live(Worker& worker, Process& self) {
  pump({&worker}, [&] { return worker.arrived_from(1) >= 1; });
  self.tell(1);
  for (;;) worker.progress();
}
/// The same, but it stops looking: what is sent to it stays under way.
void stare(Worker& worker, Process& self) {
  pump({&worker}, [&] { return worker.arrived_from(1) >= 1; });
  self.tell(1);
  self.hear();
}

/// Waits for the peer's word, which comes by pipe, while this worker goes on.
void await(Death& death) {
  std::uint64_t word = 0;
  pump({&death.a}, [&] { return death.process.heard(&word); });
}

TEST_P(Conformance, PeerDiesWhileNothingHappens) {
  if (!subject().outlives_peer) GTEST_SKIP() << "peers of this device die together";
  if (!subject().dies_anywhere) GTEST_SKIP() << "a peer may leave a lock of its library taken";
  Death death(subject(), live);
  await(death);
  death.strike();
}

TEST_P(Conformance, PeerDiesWhileMessagesAreSent) {
  if (!subject().outlives_peer) GTEST_SKIP() << "peers of this device die together";
  for (const std::size_t wanted : {std::size_t{16}, std::size_t{5000}, std::size_t{16} << 20}) {
    // A link that is still on its way from one device to another may refuse them all, as its peer stares: once more.
    int accepted = 0;
    for (int attempt = 0; accepted == 0; ++attempt) {
      ASSERT_LT(attempt, 20) << "nothing of " << wanted << " bytes is ever accepted";
      Death death(subject(), stare);
      const std::size_t size = std::min(wanted, death.a.can().max_lent);
      await(death);
      for (std::size_t i = 0; i < std::min<std::size_t>(200, 8 + (1 << 20) / size); ++i) {
        accepted += death.keep(death.a.send_lent(death.link, size, death.ticket()));
        (void)death.a.send_owned(death.link, size);
        if (size <= death.a.can().max_inline) (void)death.a.send_inline(death.link, size);
        if (i % 16 == 0) death.a.progress();
      }
      death.strike();
    }
  }
}

TEST_P(Conformance, PeerDiesInTheMiddleOfItsMessage) {
  if (!subject().outlives_peer) GTEST_SKIP() << "peers of this device die together";
  if (!subject().dies_anywhere) GTEST_SKIP() << "a peer may leave a lock of its library taken";
  Death death(subject(), [](Worker& worker, Process& self) {
    pump({&worker}, [&] { return worker.arrived_from(1) >= 1; });
    Link& link = *worker.link_to(1);
    const std::size_t size = std::min<std::size_t>(worker.can().max_lent, 64 << 20);
    while (worker.push(link, size, 2, {})) self.tell(1);
  });
  await(death);
  // Some of it arrives, and it goes on sending: wherever it is killed, it is in the middle of something.
  for (int i = 0; i < 20; ++i) death.a.progress();
  death.strike();
}

TEST_P(Conformance, PeerDiesWhileAFlushIsUnderWay) {
  if (!subject().outlives_peer) GTEST_SKIP() << "peers of this device die together";
  Death death(subject(), stare);
  await(death);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(death.keep(death.a.flush(death.link, death.ticket())));
  settle({&death.a});
  for (Ticket& ticket : death.tickets) EXPECT_FALSE(ticket.ended());
  death.strike();
  for (Ticket& ticket : death.tickets) EXPECT_EQ(ticket.outcome, Outcome::peer_lost);
}

TEST_P(Conformance, PeerDiesWhilePutsAndGetsAreUnderWay) {
  if (!subject().outlives_peer) GTEST_SKIP() << "peers of this device die together";
  if (Worker(subject(), 9).can().max_put == 0) GTEST_SKIP() << "this device has no put";
  for (bool reads : {false, true}) {
    // The key comes as bytes by pipe, a word each.
    Death death(subject(), [](Worker& worker, Process& self) {
      Shared memory(worker, 1 << 16);
      Bytes key = worker.transport().pack_key(memory.handle);
      pump({&worker}, [&] { return worker.arrived_from(1) >= 1; });
      self.tell(memory.at());
      self.tell(key.size());
      for (std::byte byte : key) self.tell(static_cast<std::uint64_t>(byte));
      self.hear();
    });
    std::uint64_t at = 0;
    pump({&death.a}, [&] { return death.process.heard(&at); });
    Bytes packed(death.process.hear());
    for (std::byte& byte : packed) byte = static_cast<std::byte>(death.process.hear());
    auto key = death.a.transport().unpack_key(death.link, packed);
    ASSERT_TRUE(key.ok()) << key.message();
    Shared local(death.a, 1 << 16);
    int accepted = 0;
    for (int i = 0; i < 100; ++i) {
      Ticket& ticket = death.ticket();
      auto memory = std::span(local.bytes).first(16384);
      accepted += death.keep(reads ? death.a.get(death.link, memory, &local.handle, at, *key, ticket)
                                   : death.a.put(death.link, memory, &local.handle, at, *key, ticket));
      death.a.progress();
    }
    EXPECT_GT(accepted, 0);
    death.a.transport().release_key(*key);
    death.strike();
  }
}

TEST_P(Conformance, ConnectingToADeadPeerIsALoss) {
  if (!subject().outlives_peer) GTEST_SKIP() << "peers of this device die together";
  Process process(subject(), 2, [](Worker&, Process& self) { self.hear(); });
  Worker a(subject(), 1);
  process.kill();
  auto link = a.transport().connect(2, process.address);
  if (!link) return;  // said at once
  (*link)->user = &a;
  Ticket ticket;
  Accepted answer = a.send_lent(**link, 100, ticket);
  pump({&a}, [&] { return a.losses.size() == 1; });
  if (answer == Accepted::pending) {
    EXPECT_EQ(ticket.outcome, Outcome::peer_lost);
  }
}

}  // namespace
}  // namespace periapt::conformance
