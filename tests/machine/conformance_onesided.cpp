// Conformance of transports: put, get, atomics and flush, and the keys they need. See conformance.h. It holds for
// devices that know when data have arrived as well as for those whose only sign is a marker message behind them.
#include <algorithm>

#include "tests/machine/conformance.h"

namespace periapt::conformance {
namespace {

/// Memory of `from`, a link and a key to memory of `to`: what every test here begins with.
struct OneSided : Pair {
  explicit OneSided(const Subject& subject, std::size_t size = 1 << 16)
      : Pair(subject), local(a, size), remote(b, size), key(remote.key_for(a, *ab)) {}
  ~OneSided() { a.transport().release_key(key); }

  Outcome put(std::size_t from, std::size_t size, std::uint64_t to, const RemoteKey& with) {
    return finish([&](Ticket& ticket) {
      return a.put(*ab, View(local.bytes).subspan(from, size), &local.handle, to, with, ticket);
    });
  }
  Outcome get(std::size_t into, std::size_t size, std::uint64_t from, const RemoteKey& with) {
    return finish([&](Ticket& ticket) {
      return a.get(*ab, std::span(local.bytes).subspan(into, size), &local.handle, from, with, ticket);
    });
  }
  /// The operation, repeated while there is no room for it, to its end.
  template <class Start>
  Outcome finish(Start&& start) {
    Ticket ticket;
    for (;;) {
      Accepted answer = start(ticket);
      if (answer == Accepted::done) return Outcome::ok;
      if (answer == Accepted::lost) return Outcome::peer_lost;
      if (answer == Accepted::pending) break;
      settle(both(), 1);
    }
    pump(both(), [&] { return ticket.ended(); });
    return ticket.outcome;
  }
  Outcome flush() {
    return finish([&](Ticket& ticket) { return a.flush(*ab, ticket); });
  }

  Shared local, remote;
  RemoteKey key;
};

bool offers(const Subject& subject, std::size_t Capabilities::*what) { return Worker(subject, 1).can().*what > 0; }

TEST_P(Conformance, PutWritesExactlyThere) {
  if (!offers(subject(), &Capabilities::max_put)) GTEST_SKIP() << "this device has no put";
  OneSided side(subject());
  const std::size_t most = std::min<std::size_t>(side.a.can().max_put, 60000);
  for (std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{4096}, std::size_t{4097}, most}) {
    SCOPED_TRACE(size);
    fill(side.remote.bytes, 1);
    Bytes expected = side.remote.bytes;
    fill(side.local.bytes, 100 + size);
    const std::size_t from = size % 3, to = 5;
    ASSERT_EQ(side.put(from, std::min(size, side.local.bytes.size() - from), side.remote.at(to), side.key),
              Outcome::ok);
    ASSERT_EQ(side.flush(), Outcome::ok);
    std::copy_n(side.local.bytes.begin() + static_cast<std::ptrdiff_t>(from), size,
                expected.begin() + static_cast<std::ptrdiff_t>(to));
    EXPECT_EQ(side.remote.bytes, expected);
  }
}

TEST_P(Conformance, APutThatIsDoneIsThere) {
  if (!offers(subject(), &Capabilities::max_put)) GTEST_SKIP() << "this device has no put";
  OneSided side(subject());
  fill(side.local.bytes, 7);
  unsigned done = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    Ticket ticket;
    const std::size_t size = 1 + i * 97 % 5000;
    fill(side.remote.bytes, 1);
    Accepted answer = side.a.put(*side.ab, View(side.local.bytes).subspan(i, size), &side.local.handle,
                                 side.remote.at(3), side.key, ticket);
    if (answer == Accepted::pending) pump(side.both(), [&] { return ticket.ended(); });
    if (answer != Accepted::done) continue;
    ++done;
    ASSERT_TRUE(
        std::equal(side.local.bytes.data() + i, side.local.bytes.data() + i + size, side.remote.bytes.data() + 3))
        << size;
  }
  if (done == 0) GTEST_SKIP() << "none of its puts is done when the call returns";
}

TEST_P(Conformance, WhatIsDirectlyThereIsTheMemoryItself) {
  const std::size_t most = Worker(subject(), 1).can().max_direct_get;
  if (most == 0) GTEST_SKIP() << "this device says that copying is never better";
  OneSided side(subject());
  side.put(0, 1, side.remote.at(0), side.key);  // connected by then
  const std::size_t size = 5000;
  Buffer offered = side.b.transport().allocate(size);
  ASSERT_TRUE(offered);
  auto handle = side.b.transport().register_memory(offered.data(), size, MemoryKind::host);
  ASSERT_TRUE(handle.ok()) << handle.message();
  auto key = side.a.transport().unpack_key(*side.ab, side.b.transport().pack_key(*handle));
  ASSERT_TRUE(key.ok()) << key.message();
  const auto at = reinterpret_cast<std::uintptr_t>(offered.data());
  auto direct = [&](std::uint64_t where, std::uint64_t bytes) {
    return side.a.transport().direct(*side.ab, *key, where, bytes);
  };
  std::byte* there = nullptr;
  pump(side.both(), [&] { return (there = direct(at + 10, 100)) != nullptr; });  // they may still be told of it
  there[0] = std::byte{77};
  EXPECT_EQ(offered.data()[10], std::byte{77});
  offered.data()[109] = std::byte{78};
  EXPECT_EQ(there[99], std::byte{78});
  EXPECT_NE(direct(at + size - 1, 1), nullptr);
  EXPECT_EQ(direct(at + size - 1, 2), nullptr);
  EXPECT_EQ(direct(at - 1, 1), nullptr);
  EXPECT_EQ(direct(~std::uint64_t{0}, 2), nullptr);
  side.b.transport().deregister_memory(*handle);
  EXPECT_EQ(direct(at, 1), nullptr);
  side.a.transport().release_key(*key);
}

TEST_P(Conformance, GetReadsExactlyThat) {
  if (!offers(subject(), &Capabilities::max_get)) GTEST_SKIP() << "this device has no get";
  OneSided side(subject());
  fill(side.remote.bytes, 3);
  const std::size_t most = std::min<std::size_t>(side.a.can().max_get, 60000);
  for (std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{9}, std::size_t{4096}, most}) {
    SCOPED_TRACE(size);
    fill(side.local.bytes, 200);
    Bytes expected = side.local.bytes;
    ASSERT_EQ(side.get(11, size, side.remote.at(17), side.key), Outcome::ok);
    std::copy_n(side.remote.bytes.begin() + 17, size, expected.begin() + 11);
    EXPECT_EQ(side.local.bytes, expected);
  }
}

TEST_P(Conformance, ManyOperationsAtOnceEndOnce) {
  if (!offers(subject(), &Capabilities::max_put)) GTEST_SKIP() << "this device has no put";
  OneSided side(subject());
  fill(side.local.bytes, 9);
  std::deque<Ticket> tickets;
  constexpr std::size_t kSlices = 1024, kSlice = 64;
  for (std::size_t i = 0; i < kSlices;) {
    Ticket& ticket = tickets.emplace_back();
    Accepted answer = side.a.put(*side.ab, View(side.local.bytes).subspan(i * kSlice, kSlice), &side.local.handle,
                                 side.remote.at(i * kSlice), side.key, ticket);
    if (answer != Accepted::pending) tickets.pop_back();
    if (answer == Accepted::no_resource) settle(side.both(), 1);
    if (answer != Accepted::no_resource) ++i;
    if (i % 100 == 50) side.a.push(*side.ab, 30, 0, {&side.b});  // messages go between them
  }
  pump(side.both(), [&] { return std::all_of(tickets.begin(), tickets.end(), [](Ticket& t) { return t.ended(); }); });
  for (Ticket& ticket : tickets) EXPECT_EQ(ticket.outcome, Outcome::ok);
  ASSERT_EQ(side.flush(), Outcome::ok);
  EXPECT_EQ(side.local.bytes, side.remote.bytes);
}

TEST_P(Conformance, AnOrderedPutIsThereBeforeTheMessageBehindIt) {
  if (!offers(subject(), &Capabilities::max_put)) GTEST_SKIP() << "this device has no put";
  OneSided side(subject());
  if (!side.a.can().put_ordered) GTEST_SKIP() << "this device does not order puts before messages";
  const std::size_t size = std::min<std::size_t>(side.a.can().max_put, 20000);
  int seen = 0;
  std::uint64_t round = 0;
  side.b.on_arrived = [&](Link&) {
    EXPECT_EQ(difference(View(side.remote.bytes).first(size), 1000 + round), -1);
    ++seen;
  };
  for (; round < 50; ++round) {
    fill(side.local.bytes, 1000 + round);
    Ticket ticket;
    Accepted answer = Accepted::no_resource;
    while (answer == Accepted::no_resource) {
      answer = side.a.put(*side.ab, View(side.local.bytes).first(size), &side.local.handle, side.remote.at(), side.key,
                          ticket);
      if (answer == Accepted::no_resource) settle(side.both(), 1);
    }
    side.a.push(*side.ab, 8, 0, {&side.b});
    pump(side.both(),
         [&] { return seen == static_cast<int>(round) + 1 && (answer == Accepted::done || ticket.ended()); });
  }
}

TEST_P(Conformance, FlushEndsWhenTheMessagesBeforeItAreThere) {
  Pair pair(subject());
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 30; ++i) pair.a.push(*pair.ab, 300, i % 3, {&pair.b});
    Ticket ticket;
    Accepted answer = Accepted::no_resource;
    while ((answer = pair.a.flush(*pair.ab, ticket)) == Accepted::no_resource) settle(pair.both(), 1);
    ASSERT_TRUE(answer == Accepted::pending || answer == Accepted::done);
    pump(pair.both(), [&] { return answer == Accepted::done || ticket.ended(); });
    EXPECT_EQ(pair.b.arrived_from(1), pair.a.sent_to(2));
  }
}

TEST_P(Conformance, PutOutsideTheMemoryIsRefused) {
  if (!offers(subject(), &Capabilities::max_put)) GTEST_SKIP() << "this device has no put";
  OneSided side(subject(), 4096);
  fill(side.remote.bytes, 1);
  Bytes before = side.remote.bytes;
  for (std::uint64_t at : {side.remote.at() - 1, side.remote.at(4096 - 99), side.remote.at() + 4096, std::uint64_t{0},
                           ~std::uint64_t{0}, ~std::uint64_t{0} - 50})
    EXPECT_EQ(side.put(0, 100, at, side.key), Outcome::bad_key);
  EXPECT_EQ(side.remote.bytes, before);
  EXPECT_EQ(side.put(0, 100, side.remote.at(4096 - 100), side.key), Outcome::ok) << "the link is as good as before";
}

TEST_P(Conformance, GetOutsideTheMemoryIsRefused) {
  if (!offers(subject(), &Capabilities::max_get)) GTEST_SKIP() << "this device has no get";
  OneSided side(subject(), 4096);
  fill(side.local.bytes, 1);
  Bytes before = side.local.bytes;
  for (std::uint64_t at : {side.remote.at() - 1, side.remote.at(4096 - 99), std::uint64_t{0}, ~std::uint64_t{0}})
    EXPECT_EQ(side.get(0, 100, at, side.key), Outcome::bad_key);
  EXPECT_EQ(side.local.bytes, before);
  EXPECT_EQ(side.get(0, 100, side.remote.at(4096 - 100), side.key), Outcome::ok);
}

TEST_P(Conformance, DeregisteredMemoryIsOutOfReach) {
  if (!offers(subject(), &Capabilities::max_put)) GTEST_SKIP() << "this device has no put";
  OneSided side(subject(), 4096);
  ASSERT_EQ(side.put(0, 64, side.remote.at(), side.key), Outcome::ok);
  side.b.transport().deregister_memory(side.remote.handle);
  side.remote.handle.address = nullptr;
  fill(side.remote.bytes, 77);
  EXPECT_EQ(side.put(0, 64, side.remote.at(), side.key), Outcome::bad_key);
  EXPECT_EQ(difference(side.remote.bytes, 77), -1);
  // The same memory again has another key; the old one stays dead.
  Shared again(side.b, 4096);
  RemoteKey key = again.key_for(side.a, *side.ab);
  EXPECT_EQ(side.put(0, 64, again.at(), key), Outcome::ok);
  EXPECT_EQ(side.put(0, 64, again.at(), side.key), Outcome::bad_key);
  side.a.transport().release_key(key);
}

TEST_P(Conformance, BadKeysAreRefused) {
  if (!offers(subject(), &Capabilities::max_put)) GTEST_SKIP() << "this device has no keys";
  OneSided side(subject(), 4096);
  Bytes good = side.b.transport().pack_key(side.remote.handle);
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(side.a.transport().unpack_key(*side.ab, View(good).first(size)).ok()) << "cut to " << size;
  Bytes longer = good;
  longer.resize(good.size() + 1);
  EXPECT_FALSE(side.a.transport().unpack_key(*side.ab, longer).ok());
  // A changed key is refused at once, or by the peer; it never reaches memory.
  fill(side.remote.bytes, 5);
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes changed = good;
    changed[bit / 8] ^= std::byte{1} << (bit % 8);
    auto key = side.a.transport().unpack_key(*side.ab, changed);
    if (!key) continue;
    side.put(0, 16, side.remote.at(4096 - 8), *key);
    side.a.transport().release_key(*key);
  }
  EXPECT_EQ(difference(side.remote.bytes, 5), -1);
}

TEST_P(Conformance, RegistrationsComeAndGo) {
  if (!offers(subject(), &Capabilities::max_put)) GTEST_SKIP() << "this device has no registration";
  OneSided side(subject(), 4096);
  for (int i = 0; i < 300; ++i) {
    Shared memory(side.b, 512 + static_cast<std::size_t>(i));
    RemoteKey key = memory.key_for(side.a, *side.ab);
    ASSERT_EQ(side.put(0, 512, memory.at(static_cast<std::size_t>(i)), key), Outcome::ok);
    side.a.transport().release_key(key);
  }
}

TEST_P(Conformance, AtomicsDoWhatTheySay) {
  Worker asked(subject(), 9);
  if (!asked.can().atomics) GTEST_SKIP() << "this device has no atomics";
  OneSided side(subject(), 4096);
  auto apply = [&](AtomicOp op, std::size_t width, std::uint64_t operand, std::uint64_t compare,
                   std::uint64_t* before) {
    return side.finish([&](Ticket& ticket) {
      return side.a.transport().fetch_op(*side.ab, op, width, operand, compare, side.remote.at(64), side.key, before,
                                         ticket);
    });
  };
  auto value = [&](std::size_t width) {
    std::uint64_t now = 0;
    std::memcpy(&now, side.remote.bytes.data() + 64, width);
    return now;
  };
  for (std::size_t width : {std::size_t{4}, std::size_t{8}}) {
    const std::uint64_t mask = width == 8 ? ~std::uint64_t{0} : 0xffff'ffffu;
    std::uint64_t start = 0xf0f0'1234'8765'4321 & mask, now = start;
    std::fill(side.remote.bytes.begin(), side.remote.bytes.end(), std::byte{0xaa});
    std::memcpy(side.remote.bytes.data() + 64, &start, width);
    struct Step {
      AtomicOp op;
      std::uint64_t operand, compare, after;
    };
    for (const Step& step : {Step{AtomicOp::add, ~std::uint64_t{0}, 0, start - 1},
                             Step{AtomicOp::bit_and, 0xff00'ff00'ff00'ff00, 0, (start - 1) & 0xff00'ff00'ff00'ff00},
                             Step{AtomicOp::bit_or, 0x0f, 0, ((start - 1) & 0xff00'ff00'ff00'ff00) | 0x0f},
                             Step{AtomicOp::bit_xor, 0xff, 0, (((start - 1) & 0xff00'ff00'ff00'ff00) | 0x0f) ^ 0xff},
                             Step{AtomicOp::swap, 42, 0, 42}, Step{AtomicOp::compare_swap, 7, 41, 42},
                             Step{AtomicOp::compare_swap, 7, 42, 7}}) {
      std::uint64_t before = 0;
      ASSERT_EQ(apply(step.op, width, step.operand & mask, step.compare, &before), Outcome::ok);
      ASSERT_EQ(side.flush(), Outcome::ok);
      EXPECT_EQ(before, now) << static_cast<int>(step.op);
      now = step.after & mask;
      EXPECT_EQ(value(width), now) << static_cast<int>(step.op);
    }
    EXPECT_EQ(apply(AtomicOp::add, width, 1, 0, nullptr), Outcome::ok) << "nobody need want the value before";
    EXPECT_EQ(side.remote.bytes[63], std::byte{0xaa});
    EXPECT_EQ(side.remote.bytes[64 + width], std::byte{0xaa});
  }
}

TEST_P(Conformance, ClosingEndsOneSidedOperationsOnce) {
  if (!offers(subject(), &Capabilities::max_put)) GTEST_SKIP() << "this device has no put";
  OneSided side(subject());
  std::deque<Ticket> tickets;
  for (int i = 0; i < 200; ++i) {
    Ticket& ticket = tickets.emplace_back();
    Accepted answer = i % 3 == 0   ? side.a.flush(*side.ab, ticket)
                      : i % 3 == 1 ? side.a.put(*side.ab, View(side.local.bytes).first(4096), &side.local.handle,
                                                side.remote.at(), side.key, ticket)
                                   : side.a.get(*side.ab, std::span(side.local.bytes).last(4096), &side.local.handle,
                                                side.remote.at(), side.key, ticket);
    if (answer != Accepted::pending) tickets.pop_back();
  }
  side.b.progress();
  side.a.close(*side.ab);
  pump({&side.a}, [&] { return std::all_of(tickets.begin(), tickets.end(), [](Ticket& t) { return t.ended(); }); });
  pump(side.both(), [&] { return side.b.losses.size() == 1; });
  settle(side.both());
}

}  // namespace
}  // namespace periapt::conformance
