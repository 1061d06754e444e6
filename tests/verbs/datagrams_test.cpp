// Links whose messages go as datagrams: what is lost, late or strange, and how such a link gets a queue pair. The
// worker of the suite looks at each message: whole, in its order, once.
#include <gmock/gmock.h>
#include <malloc.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "machine/verbs/transport.h"
#include "tests/machine/conformance.h"
#include "tests/verbs/fake_verbs.h"

namespace periapt::conformance {
namespace {

fake_verbs::InPlace in_place;
fake_verbs::Faults& faults() { return fake_verbs::faults(); }

class VerbsDatagrams : public testing::Test {
 protected:
  void SetUp() override { faults() = {}; }
  void TearDown() override { faults() = {}; }
  static Subject subject(const std::string& from, const std::string& after) {
    return {
        .factory = &verbs::factory,
        .options = {{"+net-devices", "127.0.0.1"}, {"+verbs-datagrams-from", from}, {"+verbs-connect-after", after}}};
  }
  const Subject always = subject("0", "1000000");
};

void send_some(Pair& pair, int count) {
  for (int i = 0; i < count; ++i) {
    pair.a.push(*pair.ab, static_cast<std::size_t>(i) * 37 % 3000, i % 3, {&pair.b});
    pair.b.push(*pair.ba, static_cast<std::size_t>(i) * 53 % 300, i % 3, {&pair.a});
  }
}
void all_come(Pair& pair) {
  pump(pair.both(),
       [&] { return pair.b.arrived_from(1) == pair.a.sent_to(2) && pair.a.arrived_from(2) == pair.b.sent_to(1); });
  EXPECT_TRUE(pair.a.losses.empty() && pair.b.losses.empty());
}

TEST_F(VerbsDatagrams, ALinkWithLittleTrafficHasNoQueuePair) {
  Pair pair(always);
  send_some(pair, 200);
  all_come(pair);
  EXPECT_EQ(faults().pairs_made, 0u);
}

TEST_F(VerbsDatagrams, WhichWayALinkGoesIsSaid) {
  Pair pair(subject("0", "20"));
  send_some(pair, 5);
  all_come(pair);
  EXPECT_EQ(pair.a.transport().describe(*pair.ab), "by datagrams, until it carries more");
  send_some(pair, 50);
  all_come(pair);
  EXPECT_EQ(pair.a.transport().describe(*pair.ab), "");
}

TEST_F(VerbsDatagrams, TheFirstLinksAreConnected) {
  const Subject second = subject("1", "1000000");
  Worker hub(second, 1), a(second, 2), b(second, 3);
  for (Worker* peer : {&a, &b}) hub.push(hub.connect(*peer), 100, 0, {peer});
  pump({&hub, &a, &b}, [&] { return a.arrived_from(1) == 1 && b.arrived_from(1) == 1; });
  // For hub the link to b is one beyond, for b its first: one side that wants a queue pair is enough.
  EXPECT_EQ(faults().pairs_made, 4u);
}

TEST_F(VerbsDatagrams, WhatIsLostLateOrDoubledComesOnceInItsOrder) {
  Pair pair(always);
  faults().datagrams_lost_one_in = 4;
  faults().datagrams_late_one_in = 3;
  faults().datagrams_twice_one_in = 3;
  for (int round = 0; round < 5; ++round) {
    send_some(pair, 60);
    all_come(pair);
  }
}

TEST_F(VerbsDatagrams, MuchTrafficGetsAQueuePairInTheMiddleOfIt) {
  struct Case {
    const char* after;
    unsigned lost_one_in;
  };
  // Traffic is what goes within a second. The window holds 32 messages; what has to wait for acknowledgements of more
  // of them than that may take longer on a busy host, so there less is lost, and more is sent until it was enough.
  for (const Case& each : {Case{"0", 5}, {"1", 5}, {"7", 5}, {"33", 20}, {"90", 50}}) {
    faults() = {};
    Pair pair(subject("0", each.after));
    faults().datagrams_lost_one_in = each.lost_one_in;
    faults().datagrams_late_one_in = 3;
    faults().datagrams_twice_one_in = 3;
    for (int round = 0; round == 0 || (faults().pairs_made == 0 && round < 50); ++round) {
      send_some(pair, 200);
      all_come(pair);
    }
    EXPECT_EQ(faults().pairs_made, 2u) << each.after;
  }
}

TEST_F(VerbsDatagrams, AMessageLargerThanAPacketGetsAQueuePair) {
  Pair pair(always);
  send_some(pair, 20);
  pair.a.push(*pair.ab, 6000, 0, {&pair.b});
  send_some(pair, 20);
  all_come(pair);
  EXPECT_EQ(faults().pairs_made, 2u);
}

TEST_F(VerbsDatagrams, NothingComingThroughGetsAQueuePair) {
  Pair pair(always);
  faults().datagrams_lost_one_in = 1;
  send_some(pair, 5);
  all_come(pair);
  EXPECT_EQ(faults().pairs_made, 2u);
}

TEST_F(VerbsDatagrams, ADeviceWithoutDatagramsConnectsItsLinks) {
  Worker a(always, 1);
  faults().without_datagrams = true;
  Worker b(always, 2);
  a.push(a.connect(b), 100, 0, {&b});
  pump({&a, &b}, [&] { return b.arrived_from(1) == 1; });
  EXPECT_EQ(faults().pairs_made, 2u);
}

TEST_F(VerbsDatagrams, AQueuePairOfDatagramsThatBreaksGetsLinksTheirOwn) {
  testing::internal::CaptureStderr();
  Pair pair(always);
  send_some(pair, 5);
  all_come(pair);
  faults().next_sends = {IBV_WC_LOC_QP_OP_ERR};
  send_some(pair, 20);
  all_come(pair);
  EXPECT_EQ(faults().pairs_made, 2u);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("sends no datagrams any more"));
  Worker later(always, 3);
  pair.a.push(pair.a.connect(later), 100, 0, {&later});
  pump({&pair.a, &later}, [&] { return later.arrived_from(1) == 1; });
  EXPECT_EQ(faults().pairs_made, 4u) << "for new links, too";
}

TEST_F(VerbsDatagrams, ADatagramThatCanNotBePostedGoesOverAQueuePair) {
  Pair pair(always);
  send_some(pair, 5);
  all_come(pair);
  settle(pair.both());  // nothing is left to be acknowledged
  faults().fails["ibv_post_send, a datagram"] = {0, EINVAL};
  send_some(pair, 20);
  all_come(pair);
  EXPECT_EQ(faults().pairs_made, 2u);
}

TEST_F(VerbsDatagrams, ADeviceThatHasNoMoreQueuePairsIsGoneAround) {
  Pair pair(always);
  send_some(pair, 5);
  all_come(pair);
  faults().fails["ibv_create_qp"] = {0, ENOMEM};
  pair.a.push(*pair.ab, 6000, 0, {&pair.b});
  send_some(pair, 20);
  all_come(pair);
  EXPECT_EQ(faults().pairs_made, 0u);
}

TEST_F(VerbsDatagrams, AWorkerSleepsWhileAPeerIsSlowToConnect) {
  Pair pair(always);
  send_some(pair, 5);
  all_come(pair);
  settle(pair.both());
  pair.a.push(*pair.ab, 6000, 0, {&pair.b});
  bool sleeps = false;
  for (int i = 0; i < 200 && !sleeps; ++i) {
    pair.a.progress();
    sleeps = pair.a.transport().arm();
  }
  EXPECT_TRUE(sleeps);
  all_come(pair);
}

TEST_F(VerbsDatagrams, WhatIsRefusedIsNoTraffic) {
  Pair pair(subject("0", "60"));
  faults().datagrams_lost_one_in = 1;  // nothing is acknowledged
  int accepted = 0;
  for (int i = 0; i < 200; ++i) accepted += pair.a.send_inline(*pair.ab, 10) == Accepted::done;
  EXPECT_EQ(accepted, 32);
  faults().datagrams_lost_one_in = 0;
  all_come(pair);
  EXPECT_EQ(faults().pairs_made, 0u);
}

TEST_F(VerbsDatagrams, AFlushEndsWhenAllHasBeenTaken) {
  Pair pair(always);
  faults().datagrams_lost_one_in = 3;
  send_some(pair, 20);
  Ticket flush;
  Accepted answer = Accepted::no_resource;
  pump(pair.both(), [&] { return (answer = pair.a.flush(*pair.ab, flush)) != Accepted::no_resource; });
  flush.then = [&] { EXPECT_EQ(pair.b.arrived_from(1), pair.a.sent_to(2)); };
  pump(pair.both(), [&] { return flush.ended(); });
  EXPECT_EQ(flush.outcome, Outcome::ok);
}

TEST_F(VerbsDatagrams, APortThatGoesDownIsGoneAround) {
  Pair pair(always);
  send_some(pair, 5);
  faults().port_down = true;
  fake_verbs::raise(IBV_EVENT_PORT_ERR);
  send_some(pair, 30);
  all_come(pair);
}

// Soft RoCE's queue pair of datagrams is silent from then on, also when the port is up again.
TEST_F(VerbsDatagrams, ASoftwarePortThatWasDownBeginsNoLinkWithDatagrams) {
  faults().soft_roce = true;
  testing::internal::CaptureStderr();
  Pair pair(always);
  send_some(pair, 5);
  all_come(pair);
  faults().port_down = true;
  send_some(pair, 5);
  fake_verbs::raise(IBV_EVENT_PORT_ERR);
  send_some(pair, 30);
  all_come(pair);
  faults().port_down = false;
  fake_verbs::raise(IBV_EVENT_PORT_ACTIVE);
  Worker later(always, 3);
  Link& link = pair.a.connect(later);
  EXPECT_EQ(pair.a.transport().describe(link), "");
  pair.a.push(link, 100, 0, {&later});
  pump({&pair.a, &pair.b, &later}, [&] { return later.arrived_from(1) == 1; });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, testing::HasSubstr("sends no datagrams any more (its network interface is down)"));
  EXPECT_THAT(said, testing::HasSubstr("is down: its links go over TCP at once"));
}

TEST_F(VerbsDatagrams, WhatAPeerHadSentComesBeforeItsLossAlsoWhenASoftwarePortGoesDownThen) {
  faults().soft_roce = true;
  Worker a(always, 1);
  auto b = std::make_unique<Worker>(always, 2);
  a.push(a.connect(*b), 100, 0, {b.get()});
  pump({&a, b.get()}, [&] { return b->arrived_from(1) == 1; });
  settle({&a, b.get()});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(b->send_inline(*b->link_to(1), 100), Accepted::done);
  EXPECT_FALSE(a.transport().arm()) << "they have come, and it hears of all else in its next look";
  b.reset();
  fake_verbs::raise(IBV_EVENT_PORT_ERR);
  pump({&a}, [&] { return a.losses.size() == 1; });
  EXPECT_EQ(a.arrived_from(2), 20u);
}

TEST_F(VerbsDatagrams, ADeviceThatGoesIsGoneAround) {
  Pair pair(always);
  send_some(pair, 5);
  faults().datagrams_lost_one_in = 2;
  send_some(pair, 20);
  fake_verbs::raise(IBV_EVENT_DEVICE_FATAL);
  send_some(pair, 20);
  all_come(pair);
}

TEST_F(VerbsDatagrams, AProcessThatGoesIsALoss) {
  Worker a(always, 1);
  auto b = std::make_unique<Worker>(always, 2);
  Link& link = a.connect(*b);
  a.push(link, 100, 0, {b.get()});
  pump({&a, b.get()}, [&] { return b->arrived_from(1) == 1; });
  EXPECT_EQ(a.send_inline(link, 100), Accepted::done);
  b.reset();
  pump({&a}, [&] { return a.losses.size() == 1; });
}

TEST_F(VerbsDatagrams, StrangeOnesAreDroppedAndSaidOnce) {
  testing::internal::CaptureStderr();
  Pair pair(always);
  faults().datagrams_mangled_one_in = 3;
  send_some(pair, 100);
  all_come(pair);
  const std::string said = testing::internal::GetCapturedStderr();
  const auto at = said.find("dropped a datagram: it ");
  EXPECT_NE(at, std::string::npos) << said;
  // Each of the two workers says it once.
  std::size_t times = 0;
  for (auto from = at; from != std::string::npos; from = said.find("dropped a datagram", from + 1)) ++times;
  EXPECT_LE(times, 2u) << said;
}

TEST_F(VerbsDatagrams, ThoseOfAnotherJobAreDropped) {
  testing::internal::CaptureStderr();
  Pair pair(always);
  faults().datagrams_mangled_one_in = 3;
  faults().mangled_at = offsetof(verbs::Datagram, token);
  send_some(pair, 30);
  all_come(pair);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("it has not the token of its link"));
}

/// What all of it costs here for each end of a link, with what the fake needs for its network: the device's queue pairs
/// come on top, and there are none.
TEST_F(VerbsDatagrams, AThousandPeersNeedLittleMemory) {
  if (::mallinfo2().uordblks == 0) GTEST_SKIP() << "this allocator doesn't count";
  constexpr std::size_t kWorkers = 12, kPeers = 1000, kMost = 20'000'000;
  std::deque<Worker> workers;
  std::vector<Worker*> all;
  for (std::size_t i = 0; i < kWorkers; ++i) all.push_back(&workers.emplace_back(always, i + 1));
  const std::size_t before = ::mallinfo2().uordblks;
  for (std::size_t i = 0; i < kWorkers; ++i) {
    for (std::size_t j = 0; j < i; ++j) workers[i].push(workers[i].connect(workers[j]), 100, 0, all);
  }
  pump(all, [&] {
    for (std::size_t i = 0; i < kWorkers; ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (workers[j].arrived_from(i + 1) != 1) return false;
    return true;
  });
  settle(all);
  EXPECT_EQ(faults().pairs_made, 0u);
  const std::size_t an_end = (::mallinfo2().uordblks - before) / (kWorkers * (kWorkers - 1));
  const std::size_t slots = (verbs::kReceives + verbs::kSendSlots) * verbs::kSlotBytes;
  RecordProperty("bytes_of_a_peer", std::to_string(an_end));
  std::printf("%zu bytes a peer, %zu for 1000\n", an_end, slots + kPeers * an_end);
  EXPECT_LE(slots + kPeers * an_end, kMost);
}

}  // namespace
}  // namespace periapt::conformance
