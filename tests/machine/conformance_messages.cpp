// Conformance of transports: messages, links, back-pressure, sleeping. See conformance.h.
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <span>
#include <stdexcept>
#include <thread>

#include "base/platform.h"
#include "tests/host/amount.h"
#include "tests/machine/conformance.h"

namespace periapt::conformance {
namespace {

/// Sizes at which things change: around powers of two and around what the device says it can do.
std::vector<std::size_t> sizes_up_to(const Capabilities& can, std::size_t most) {
  most = std::min(most, std::max(can.max_inline, can.max_lent));
  std::set<std::size_t> sizes = {0, 1, 7, 8, 9, 40, most};
  for (std::size_t power = 64; power <= most && power != 0; power *= 2) sizes.insert({power - 1, power, power + 1});
  for (std::size_t limit : {can.max_inline, can.max_lent})
    if (limit <= most) sizes.insert({limit, limit - 1}), sizes.insert(limit + 1);
  std::vector<std::size_t> fitting;
  for (std::size_t size : sizes)
    if (size <= most) fitting.push_back(size);
  return fitting;
}

int way_for(const Worker& worker, Capabilities can, std::size_t size, int wish) {
  if (wish == 0 && size > can.max_inline) wish = 1;
  return wish != 0 && size > can.max_lent ? 0 : wish;
}

TEST_P(Conformance, ProbeFindsAUsableDeviceOrSaysWhyNot) {
  OpenRequest request;
  request.option = [](const std::string&) { return std::string(); };
  bool usable = false;
  for (const Device& device : subject().factory->probe(request)) {
    EXPECT_EQ(device.transport, subject().factory->name);
    EXPECT_FALSE(device.name.empty());
    EXPECT_FALSE(device.detail.empty()) << "what a device is, or why it can't be used, is said in words";
    usable = usable || device.usable;
    if (device.usable) {
      EXPECT_GE(device.can.max_header, kHeaderBytes);
      EXPECT_GT(device.can.max_inline, 0u);
    }
  }
  Worker worker(subject(), 1);
  EXPECT_TRUE(worker.transport().device().usable);
}

TEST_P(Conformance, AddressesAreShortAndReachable) {
  Worker a(subject(), 1), b(subject(), 2);
  EXPECT_FALSE(a.address().empty());
  EXPECT_LE(a.address().size(), 256u);
  EXPECT_NE(a.address(), b.address());
  EXPECT_TRUE(a.transport().reaches(b.address()));
  EXPECT_TRUE(b.transport().reaches(a.address()));
}

TEST_P(Conformance, BadAddressesAreRefused) {
  Worker a(subject(), 1), b(subject(), 2);
  Bytes good = b.address();
  for (std::size_t size = 0; size < good.size(); ++size) {
    Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(a.transport().reaches(cut)) << size;
    EXPECT_FALSE(a.transport().connect(2, cut).ok()) << size;
  }
  Bytes garbage(good.size() + 1);
  fill(garbage, 1);
  EXPECT_FALSE(a.transport().connect(2, garbage).ok());
  // Changed addresses may lead nowhere, but never to a crash.
  for (std::size_t at = 0; at < good.size(); ++at) {
    Bytes changed = good;
    changed[at] ^= std::byte{0xff};
    (void)a.transport().reaches(changed);
  }
}

TEST_P(Conformance, MessagesOfAllSizesAndKindsArriveInOrder) {
  Pair pair(subject());
  std::mt19937 random(7);
  std::vector<std::size_t> sizes = sizes_up_to(pair.a.can(), 3 << 20);
  std::vector<std::size_t> all;
  for (int kind = 0; kind < 3; ++kind) all.insert(all.end(), sizes.begin(), sizes.end());
  std::shuffle(all.begin(), all.end(), random);
  for (std::size_t size : all) {
    pair.a.push(*pair.ab, size, way_for(pair.a, pair.a.can(), size, static_cast<int>(random() % 3)), {&pair.b});
    if (random() % 4 == 0)
      pair.b.push(*pair.ba, size, way_for(pair.b, pair.b.can(), size, static_cast<int>(random() % 3)), {&pair.a});
  }
  pump(pair.both(),
       [&] { return pair.b.arrived_from(1) == pair.a.sent_to(2) && pair.a.arrived_from(2) == pair.b.sent_to(1); });
  pump(pair.both(), [&] { return pair.a.lent_under_way() + pair.b.lent_under_way() == 0; });
  settle(pair.both());  // a sender may have yet to see that what it owned has been read
  EXPECT_EQ(Worker::owned_alive, 0);
  EXPECT_TRUE(pair.a.losses.empty() && pair.b.losses.empty());
}

TEST_P(Conformance, ManySmallMessagesArriveInOrder) {
  Pair pair(subject());
  std::mt19937 random(11);
  constexpr std::uint64_t kMessages = tests::amount(20000);
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    pair.a.push(*pair.ab, random() % 100, 0, {&pair.b});
    if (i % 7 == 0) pair.b.push(*pair.ba, random() % 100, 0, {&pair.a});
  }
  pump(pair.both(),
       [&] { return pair.b.arrived_from(1) == kMessages + 1 && pair.a.arrived_from(2) == pair.b.sent_to(1); });
}

TEST_P(Conformance, WhatIsSentBeforeTheConnectionArrives) {
  Worker a(subject(), 1), b(subject(), 2);
  Link& link = a.connect(b);
  for (int i = 0; i < 50; ++i) a.push(link, 100, i % 3, {&b});
  pump({&a, &b}, [&] { return b.arrived_from(1) == 50; });
}

TEST_P(Conformance, NoResourceLosesNothing) {
  Pair pair(subject());
  const std::size_t size = std::min<std::size_t>(pair.a.can().max_inline, 2000);
  // The receiver does not progress: at some point the sender is told, for each kind of message.
  std::uint64_t accepted = 0;
  while (pair.a.send_inline(*pair.ab, size) == Accepted::done) {
    ++accepted;
    if (accepted % 16 == 0) pair.a.progress();
    ASSERT_LT(accepted * size, 256u << 20) << "the sender is never told that the receiver doesn't keep up";
  }
  Ticket ticket;
  for (int i = 0; i < 3; ++i) {
    settle({&pair.a}, 10);
    (void)pair.a.send_inline(*pair.ab, size);
    (void)pair.a.send_owned(*pair.ab, size);
  }
  bool lent = pair.a.send_lent(*pair.ab, size, ticket) == Accepted::pending;
  pump(pair.both(), [&] { return pair.b.arrived_from(1) == pair.a.sent_to(2) && (!lent || ticket.ended()); });
  // And it goes on afterwards.
  for (int i = 0; i < 100; ++i) pair.a.push(*pair.ab, size, i % 3, {&pair.b});
  pump(pair.both(), [&] { return pair.b.arrived_from(1) == pair.a.sent_to(2); });
  EXPECT_EQ(Worker::owned_alive, 0);
}

TEST_P(Conformance, BothFloodEachOther) {
  Pair pair(subject());
  const std::size_t size = std::min<std::size_t>(pair.a.can().max_inline, 4000);
  for (int burst = 0; burst < 20; ++burst) {
    // Neither looks until neither can send: a transport that waits for room to answer would stand still here.
    for (int i = 0; i < 3000 && pair.a.send_inline(*pair.ab, size) == Accepted::done; ++i) pair.a.progress();
    for (int i = 0; i < 3000 && pair.b.send_inline(*pair.ba, size) == Accepted::done; ++i) {
    }
    settle(pair.both(), 5);
  }
  pump(pair.both(),
       [&] { return pair.b.arrived_from(1) == pair.a.sent_to(2) && pair.a.arrived_from(2) == pair.b.sent_to(1); });
}

TEST_P(Conformance, SimultaneousConnectGivesOneLink) {
  for (int variant = 0; variant < 24; ++variant) {
    SCOPED_TRACE(variant);
    PeerId first = variant % 2 == 0 ? 1 : 2;
    Worker a(subject(), first), b(subject(), 3 - first);
    Link& ab = a.connect(b);
    // b looks at different moments of a's connecting before it connects itself.
    for (int i = 0; i < variant / 4; ++i) a.progress();
    for (int i = 0; i < variant / 6; ++i) b.progress();
    Link& ba = b.connect(a);
    std::mt19937 random(static_cast<unsigned>(variant));
    for (int i = 0; i < 40; ++i) {
      a.push(ab, 50, i % 3, {&b});
      b.push(ba, 70, i % 3, {&a});
      if (random() % 3 == 0) a.progress();
      if (random() % 3 == 0) b.progress();
    }
    pump({&a, &b}, [&] { return a.arrived_from(b.self()) == 40 && b.arrived_from(a.self()) == 40; });
    EXPECT_EQ(a.link_to(b.self()), &ab);
    EXPECT_EQ(b.link_to(a.self()), &ba);
    settle({&a, &b});
    EXPECT_TRUE(a.losses.empty() && b.losses.empty());
  }
}

TEST_P(Conformance, ALinkThatThePeerOpenedIsTheSame) {
  Pair pair(subject());
  EXPECT_EQ(&pair.b.connect(pair.a), pair.ba);
  EXPECT_EQ(&pair.a.connect(pair.b), pair.ab);
}

TEST_P(Conformance, CallBacksMaySendConnectAndClose) {
  Worker a(subject(), 1), b(subject(), 2), c(subject(), 3);
  Link& ab = a.connect(b);
  // b answers each message from inside arrived(), and forwards to c over a link that it opens there.
  int unsent = 0;
  b.on_arrived = [&](Link& from) {
    if (from.peer() != 1) return;
    if (b.send_inline(from, 16) != Accepted::done) ++unsent;
    if (b.send_inline(b.connect(c), 24) != Accepted::done) ++unsent;
  };
  for (int i = 0; i < 20; ++i) a.push(ab, 8, 0, {&b, &c});
  pump({&a, &b, &c}, [&] { return b.arrived_from(1) == 20; });
  pump({&a, &b, &c}, [&] { return a.arrived_from(2) == b.sent_to(1) && c.arrived_from(2) == b.sent_to(3); });
  EXPECT_EQ(b.sent_to(1) + b.sent_to(3) + static_cast<std::uint64_t>(unsent), 40u);
  // b closes the link that a message comes from, inside the call that brings it.
  b.on_arrived = [&](Link& from) { b.close(from); };
  a.push(ab, 8, 0, {&b, &c});
  pump({&a, &b, &c}, [&] { return !a.losses.empty(); });
  EXPECT_EQ(a.losses[0].peer, 2u);
  settle({&a, &b, &c});
}

TEST_P(Conformance, PlacementThatIsRefusedLosesTheLink) {
  Pair pair(subject());
  const std::size_t size = std::min<std::size_t>(pair.a.can().max_lent, 4 << 20);
  pair.b.refuse_placement = true;
  pair.a.push(*pair.ab, size, 1, {&pair.b});
  settle(pair.both(), 400);
  if (pair.b.arrived_from(1) == pair.a.sent_to(2)) GTEST_SKIP() << "this device hands up whole messages only";
  pump(pair.both(), [&] { return pair.b.losses.size() == 1; });
  pair.b.close(*pair.ba);
  pump(pair.both(), [&] { return pair.a.losses.size() == 1 && pair.a.lent_under_way() == 0; });
}

TEST_P(Conformance, CloseEndsEverythingOnce) {
  for (int way = 0; way < 3; ++way) {
    Pair pair(subject());
    const std::size_t size = std::min<std::size_t>(pair.a.can().max_lent, 1 << 20);
    std::deque<Ticket> tickets;
    std::size_t accepted = 0;
    while (accepted < 64) {
      Accepted answer = pair.a.send_lent(*pair.ab, size, tickets.emplace_back());
      if (answer == Accepted::no_resource || answer == Accepted::lost) tickets.pop_back();
      if (answer == Accepted::done) tickets.pop_back();
      if (answer == Accepted::no_resource) break;
      (void)pair.a.send_owned(*pair.ab, size);
      ++accepted;
    }
    if (way == 1) settle({&pair.a}, 3);
    if (way == 2) pair.b.progress();
    pair.a.close(*pair.ab);
    pump({&pair.a}, [&] { return std::all_of(tickets.begin(), tickets.end(), [](Ticket& t) { return t.ended(); }); });
    for (Ticket& ticket : tickets) EXPECT_TRUE(ticket.outcome == Outcome::ok || ticket.outcome == Outcome::cancelled);
    pump(pair.both(), [&] { return pair.b.losses.size() == 1; });
    settle(pair.both());
    EXPECT_TRUE(pair.a.losses.empty()) << "who closes is not told of a loss";
    EXPECT_EQ(Worker::owned_alive, 0);
    // The other end still has its link, which is lost, until it closes it too.
    EXPECT_EQ(pair.b.send_inline(*pair.ba, 8), Accepted::lost);
    pair.b.close(*pair.ba);
    settle(pair.both());
  }
}

TEST_P(Conformance, AClosedPairMayConnectAgain) {
  Pair pair(subject());
  for (int round = 0; round < 5; ++round) {
    pair.a.close(*pair.ab);
    pump(pair.both(), [&] { return pair.b.losses.size() == 1; });
    pair.b.close(*pair.ba);
    pair.b.losses.clear();
    pair.ab = &pair.a.connect(pair.b);
    pair.a.push(*pair.ab, 100, 0, {&pair.b});
    pump(pair.both(), [&] { return pair.b.arrived_from(1) == 1; });
    pair.ba = pair.b.link_to(1);
  }
}

TEST_P(Conformance, BothMayCloseAtTheSameTime) {
  for (int variant = 0; variant < 4; ++variant) {
    Pair pair(subject());
    for (int i = 0; i < 5; ++i) {
      pair.a.push(*pair.ab, 1000, i % 3, {&pair.b});
      pair.b.push(*pair.ba, 1000, i % 3, {&pair.a});
    }
    pair.a.close(*pair.ab);
    if (variant % 2 == 1) pair.b.progress();
    if (pair.b.losses.empty() || variant >= 2) pair.b.close(*pair.ba);
    settle(pair.both());
    EXPECT_TRUE(pair.a.losses.empty());
    EXPECT_EQ(Worker::owned_alive, 0);
  }
}

TEST_P(Conformance, OneCompletionMayServeManyOperations) {
  struct Counter : Completion {
    int calls = 0;
  } counter;
  counter.done = [](Completion& self, Outcome outcome) {
    ++static_cast<Counter&>(self).calls;
    EXPECT_EQ(outcome, Outcome::ok);
  };
  Pair pair(subject());
  const std::size_t large = std::min<std::size_t>(pair.a.can().max_lent, 3 << 20);
  Bytes payload(large);
  int pending = 0;
  for (int i = 0; i < 40; ++i) {
    Label label{
        .from = 1, .number = pair.a.sent_to(2), .size = i % 4 == 0 ? large : std::min<std::size_t>(large, 5000)};
    fill(payload, label.from * 1'000'003 + label.number);
    Accepted answer = i % 3 == 2 ? pair.a.transport().flush(*pair.ab, counter)
                                 : pair.a.lend(*pair.ab, label, View(payload).first(label.size), counter);
    pending += answer == Accepted::pending;
    // The same payload is lent again, so the one before must have ended.
    if (answer == Accepted::no_resource || i % 3 != 2) pump(pair.both(), [&] { return counter.calls == pending; });
  }
  pump(pair.both(), [&] { return counter.calls == pending && pair.b.arrived_from(1) == pair.a.sent_to(2); });
  for (int i = 0; i < 10; ++i) pending += pair.a.transport().flush(*pair.ab, counter) == Accepted::pending;
  pump(pair.both(), [&] { return counter.calls == pending; });
  settle(pair.both());
  EXPECT_EQ(counter.calls, pending);
}

TEST_P(Conformance, ClosingGivesThePlacementBackAtOnce) {
  Pair pair(subject());
  const std::size_t size = std::min<std::size_t>(pair.a.can().max_lent, 32 << 20);
  Bytes target(size);
  bool placing = false;
  pair.b.placer = [&](std::uint64_t) { return placing = true, target.data(); };
  Ticket ticket;
  Accepted answer = pair.a.send_lent(*pair.ab, size, ticket);
  for (int i = 0; i < 100 && !placing; ++i) settle(pair.both(), 1);
  if (!placing) GTEST_SKIP() << "this device hands up whole messages only";
  if (pair.b.arrived_from(1) == 2) GTEST_SKIP() << "the largest message is placed in one piece";
  pair.b.close(*pair.ba);
  fill(target, 99);
  settle(pair.both());
  pump(pair.both(), [&] { return pair.a.losses.size() == 1; });
  EXPECT_EQ(difference(target, 99), -1) << "memory was written after its link was closed";
  EXPECT_EQ(ticket.ended(), answer == Accepted::pending);
}

TEST_P(Conformance, AWorkerThatEndsIsALossToItsPeers) {
  Pair pair(subject());
  Worker c(subject(), 3);
  Link& ac = pair.a.connect(c);
  for (int i = 0; i < 10; ++i) pair.b.push(*pair.ba, 500, i % 3, {&pair.a});
  pair.b.end();
  pump({&pair.a}, [&] { return pair.a.losses.size() == 1; });
  EXPECT_EQ(pair.a.losses[0].peer, 2u);
  EXPECT_EQ(pair.a.send_inline(*pair.ab, 8), Accepted::lost);
  // Others are not concerned.
  pair.a.push(ac, 64, 0, {&c});
  pump({&pair.a, &c}, [&] { return c.arrived_from(1) == 1; });
  EXPECT_EQ(Worker::owned_alive, 0);
}

TEST_P(Conformance, WhatWasHandedOverArrivesThoughItsWorkerEnds) {
  Pair pair(subject());
  for (int i = 0; i < 200; ++i) pair.a.push(*pair.ab, static_cast<std::size_t>(i) * 37, i % 3, {&pair.b});
  const std::uint64_t sent = pair.a.sent_to(2);
  // Some transports need the peer for it.
  pump({&pair.a, &pair.b}, [&] { return pair.a.transport().handed_over(*pair.ab); });
  pair.a.end();
  pump({&pair.b}, [&] { return pair.b.losses.size() == 1; });
  EXPECT_EQ(pair.b.arrived_from(1), sent);
}

TEST_P(Conformance, EndingWithEverythingUnderWayIsFine) {
  auto pair = std::make_unique<Pair>(subject());
  std::deque<Ticket> tickets;
  const std::size_t size = std::min<std::size_t>(pair->a.can().max_lent, 8 << 20);
  for (int i = 0; i < 8; ++i) {
    (void)pair->a.send_lent(*pair->ab, size, tickets.emplace_back());
    (void)pair->a.send_owned(*pair->ab, size);
    (void)pair->b.send_owned(*pair->ba, size);
  }
  pair->b.progress();
  pair.reset();
  EXPECT_EQ(Worker::owned_alive, 0);
}

TEST_P(Conformance, ManyPeersAllToAll) {
  std::deque<Worker> workers;
  std::vector<Worker*> all;
  const int many = std::max(8, tests::amount(subject().many));
  for (int i = 0; i < many; ++i) all.push_back(&workers.emplace_back(subject(), static_cast<PeerId>(1000 + i * 7)));
  std::map<std::pair<Worker*, Worker*>, Link*> links;
  for (int round = 0; round < 3; ++round) {
    for (Worker* from : all) {
      for (Worker* to : all) {
        if (from == to) continue;
        Link*& link = links[{from, to}];
        if (link == nullptr) link = &from->connect(*to);
        from->push(*link, 200, round, all);
      }
    }
  }
  const auto expected = static_cast<std::uint64_t>(many - 1) * 3;
  pump(all, [&] {
    return std::all_of(all.begin(), all.end(), [&](Worker* worker) {
      std::uint64_t sum = 0;
      for (Worker* from : all) sum += worker->arrived_from(from->self());
      return sum == expected;
    });
  });
  for (Worker* worker : all) EXPECT_TRUE(worker->losses.empty());
}

TEST_P(Conformance, ManySendersFloodOne) {
  Worker target(subject(), 1);
  std::deque<Worker> senders;
  std::vector<Worker*> all = {&target};
  std::vector<Link*> links;
  const std::size_t size = std::min<std::size_t>(target.can().max_inline, 1000);
  for (int i = 0; i < subject().many; ++i) {
    all.push_back(&senders.emplace_back(subject(), static_cast<PeerId>(2 + i)));
    links.push_back(&senders.back().connect(target));
  }
  std::uint64_t refused = 0;
  for (int i = 0; i < 300; ++i) {
    for (std::size_t s = 0; s < links.size(); ++s) {
      if (senders[s].send_inline(*links[s], size) != Accepted::done) ++refused;
      senders[s].progress();
    }
    if (i % 50 == 0) target.progress();
  }
  pump(all, [&] {
    return std::all_of(senders.begin(), senders.end(),
                       [&](Worker& sender) { return target.arrived_from(sender.self()) == sender.sent_to(1); });
  });
  RecordProperty("refused", static_cast<int>(refused));
}

TEST_P(Conformance, SleepersAreWoken) {
  Pair pair(subject());
  if (pair.a.transport().wait_fd() < 0) GTEST_SKIP() << "this device must be polled";
  // Waits as an idle worker does: arm, then sleep on the descriptor.
  auto wait = [](Worker& worker, auto&& done) {
    while (!done()) {
      if (worker.progress() > 0 || !worker.transport().arm()) continue;
      pollfd one{worker.transport().wait_fd(), POLLIN, 0};
      EXPECT_EQ(::poll(&one, 1, -1), 1);
    }
  };
  const std::size_t large = std::min<std::size_t>(pair.a.can().max_lent, 8 << 20);
  std::thread sleeper([&] {
    wait(pair.b, [&] { return pair.b.arrived_from(1) == 41; });
    while (pair.b.send_inline(*pair.ba, 8) != Accepted::done) pair.b.progress();
    settle({&pair.b});
    wait(pair.b, [&] { return pair.b.losses.size() == 1; });
  });
  for (int i = 0; i < 40; ++i) {
    bool sent = false;
    wait(pair.a, [&] {
      if (sent) return true;
      Accepted answer = i % 8 == 0 ? pair.a.send_owned(*pair.ab, large) : pair.a.send_inline(*pair.ab, 1000);
      return sent = answer == Accepted::done || answer == Accepted::pending;
    });
    if (i % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  wait(pair.a, [&] { return pair.a.arrived_from(2) == 2; });
  pair.a.close(*pair.ab);
  settle({&pair.a});
  sleeper.join();
}

TEST_P(Conformance, WorkersOfTwoThreadsDoNotMeet) {
  if (!subject().not_by_two_threads.empty()) GTEST_SKIP() << subject().not_by_two_threads;
  Worker a(subject(), 1), b(subject(), 2);
  Bytes address_a = a.address(), address_b = b.address();
  constexpr std::uint64_t kMessages = 3000;
  std::atomic<int> finished{0};
  auto body = [&](Worker& self, PeerId peer, const Bytes& address) {
    Link& link = self.connect(peer, address);
    std::mt19937 random(static_cast<unsigned>(peer));
    const std::size_t most = std::min<std::size_t>({self.can().max_inline, self.can().max_lent, 8000});
    for (std::uint64_t i = 0; i < kMessages; ++i) self.push(link, random() % most, static_cast<int>(i % 3), {});
    pump({&self}, [&] { return self.arrived_from(peer) == kMessages; });
    // The other may still wait for what is on its way from here.
    Ticket flushed;
    while (self.flush(link, flushed) == Accepted::no_resource) self.progress();
    pump({&self}, [&] { return flushed.ended(); });
    ++finished;
    pump({&self}, [&] { return finished == 2; });
  };
  std::thread other([&] { body(b, 1, address_a); });
  body(a, 2, address_b);
  other.join();
}

TEST_P(Conformance, AnotherJobIsRefused) {
  if (!subject().checks_secret) GTEST_SKIP() << "no connection is made by this device";
  Worker a(subject(), 1), stranger(subject(), 2, "another secret"), c(subject(), 3);
  Link& link = stranger.connect(a);
  stranger.push(link, 64, 0, {&a});
  pump({&a, &stranger}, [&] { return !stranger.losses.empty(); });
  EXPECT_EQ(a.link_to(2), nullptr) << "a stranger's messages or links never come up";
  EXPECT_EQ(a.arrived_from(2), 0u);
  Link& good = c.connect(a);
  c.push(good, 64, 0, {&a});
  pump({&a, &c}, [&] { return a.arrived_from(3) == 1; });
}

/// `size` bytes of address space in little memory: parts of 64 MiB that begin with a page of their own each, and are
/// the same pages behind it.
class Folded {
 public:
  static constexpr std::size_t kPart = 64 << 20, kPage = 4096;

  explicit Folded(std::uint64_t size) : bytes_((size + kPart - 1) / kPart * kPart) {
    const int fd = ::memfd_create("folded", MFD_CLOEXEC);
    if (fd < 0 || ::ftruncate(fd, kPart) != 0) throw std::runtime_error("no memory file");
    at_ = static_cast<std::byte*>(map(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1));
    for (std::size_t i = 0; i < bytes_; i += kPart) {
      map(at_ + i, kPart, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd);
      map(at_ + i, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
    }
    ::close(fd);
  }
  ~Folded() { ::munmap(at_, bytes_); }

  std::byte* at() const { return at_; }
  std::size_t parts() const { return bytes_ / kPart; }
  std::span<std::byte> own(std::size_t part) const { return {at_ + part * kPart, kPage}; }
  std::span<std::byte> same() const { return {at_ + kPage, kPart - kPage}; }

 private:
  static void* map(void* at, std::size_t bytes, int protection, int flags, int fd) {
    void* const mapped = ::mmap(at, bytes, protection, flags, fd, 0);
    if (mapped == MAP_FAILED) throw std::runtime_error("cannot map");
    return mapped;
  }
  std::size_t bytes_;
  std::byte* at_;
};

TEST_P(Conformance, MoreThanFourGibibytesArePlacedWhereTheyBelong) {
  if (platform::kThreadSanitizer || platform::kAddressSanitizer) {
    GTEST_SKIP() << "a sanitizer's shadow of 4 GiB would not fit";
  }
  if (!subject().beyond_4_gib) GTEST_SKIP() << "another subject of this transport shows it";
  constexpr std::uint64_t kSize = (std::uint64_t{1} << 32) + (64 << 20) + 3;  // lengths of 32 bits say 64 MiB
  constexpr int kPatience = 300;  // seconds, for as much on cores that others use too
  Pair pair(subject());
  if (pair.a.can().max_lent < kSize) GTEST_SKIP() << "the largest message of this device is smaller";
  Folded source(kSize), target(kSize);
  fill(source.same(), 5);
  for (std::size_t part = 0; part < source.parts(); ++part) fill(source.own(part), 100 + part);
  pair.b.placer = [&](std::uint64_t) { return target.at(); };
  Label label{.from = 1, .number = pair.a.sent_to(2), .size = kSize};
  Ticket ticket;
  Accepted answer = pair.a.lend(*pair.ab, label, {source.at(), kSize}, ticket);
  ASSERT_TRUE(answer == Accepted::done || answer == Accepted::pending);
  pump(
      pair.both(), [&] { return pair.b.arrived_from(1) == 2; }, kPatience);
  if (answer == Accepted::pending)
    pump(
        pair.both(), [&] { return ticket.ended(); }, kPatience);
  EXPECT_EQ(pair.b.bytes_arrived, kSize + 8);
  EXPECT_TRUE(equal(source.same(), target.same()));
  for (std::size_t part = 0; part + 1 < source.parts(); ++part)
    EXPECT_TRUE(equal(source.own(part), target.own(part))) << "part " << part;
  const std::size_t last = source.parts() - 1;  // of which three bytes are sent
  EXPECT_TRUE(equal(source.own(last).first(3), target.own(last).first(3)));
}

}  // namespace
}  // namespace periapt::conformance
