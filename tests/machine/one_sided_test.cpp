// Put, get, atomics, flush and fence: by devices that have them and by messages, with the same results.
#include <algorithm>
#include <random>

#include "machine/ucx-like/registration.h"
#include "tests/machine/engine_fixture.h"

namespace periapt::ucx::testing {
namespace {

enum class By { device, mapped, messages, put_only };

class OneSided : public EngineTest, public ::testing::WithParamInterface<By> {
 protected:
  OneSided() : EngineTest(3) {
    if (GetParam() == By::device || GetParam() == By::mapped) {
      wire.settings.can.max_get = ~std::size_t{0};
      wire.settings.can.atomics = true;
    }
    if (GetParam() == By::mapped) wire.settings.can.max_direct_put = wire.settings.can.max_direct_get = kDirect;
    if (GetParam() != By::messages) wire.settings.can.max_put = 100'000;
    wire.settings.can.needs_registration = GetParam() == By::device;
    wire.settings.refuse = 0.2;
    wire.settings.delay_max = 5;
    start(2);
    memory_ = pattern(1 << 20);
    auto registered = worker(2).register_memory(memory_);
    EXPECT_TRUE(registered.ok());
    registered_ = *registered;
    packed_ = worker(2).pack_key(registered_);
    auto key = endpoint(1, 2).unpack(packed_);
    EXPECT_TRUE(key.ok()) << key.message();
    key_ = *key;
  }
  /// Between the two sizes of what is put before a fence and behind it.
  static constexpr std::size_t kDirect = 1500;

  std::uint64_t at(std::size_t offset) { return reinterpret_cast<std::uintptr_t>(memory_.data()) + offset; }
  Outcome wait(const RequestPtr& request) {
    if (request == nullptr) return Outcome::ok;
    until([&] { return request->ended(); });
    return request->outcome();
  }

  std::vector<std::byte> memory_;
  MemoryPtr registered_;
  std::vector<std::byte> packed_;
  RkeyPtr key_;
};

TEST_P(OneSided, APutIsThereAfterAFlush) {
  for (std::size_t size : {0, 1, 8, 5000, 300'000}) {
    std::vector<std::byte> bytes = pattern(size, 9);
    RequestPtr put = endpoint(1, 2).put(bytes, at(100), key_);
    EXPECT_EQ(wait(endpoint(1, 2).flush()), Outcome::ok);
    EXPECT_EQ(wait(put), Outcome::ok);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), memory_.begin() + 100)) << size;
  }
}

TEST_P(OneSided, AGetBringsWhatIsThere) {
  for (std::size_t size : {0, 1, 8, 5000, 300'000}) {
    std::vector<std::byte> bytes(size);
    EXPECT_EQ(wait(endpoint(1, 2).get(bytes, at(77), key_)), Outcome::ok);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), memory_.begin() + 77)) << size;
  }
}

TEST_P(OneSided, AFlushOfTheWorkerFlushesAllPeers) {
  std::vector<std::byte> bytes = pattern(40'000, 4);
  endpoint(1, 2).put(bytes, at(0), key_);
  EXPECT_EQ(wait(worker(1).flush()), Outcome::ok);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), memory_.begin()));
}

TEST_P(OneSided, OperationsBehindAFenceComeAfterThoseBeforeIt) {
  for (unsigned round = 0; round < 50; ++round) {
    std::vector<std::byte> first = pattern(2000, round), second = pattern(1000, round + 1000);
    RequestPtr a = endpoint(1, 2).put(first, at(0), key_);
    endpoint(1, 2).fence();
    RequestPtr b = endpoint(1, 2).put(second, at(500), key_);
    EXPECT_EQ(wait(endpoint(1, 2).flush()), Outcome::ok);
    EXPECT_TRUE(std::equal(second.begin(), second.end(), memory_.begin() + 500)) << round;
    EXPECT_TRUE(std::equal(first.begin(), first.begin() + 500, memory_.begin())) << round;
  }
}

TEST_P(OneSided, WhatIsTakenBackBehindAFenceWasNeverCountedAsAMessage) {
  const std::vector<std::byte> before = pattern(2000, 5), never = pattern(2000, 6), after = pattern(1000, 7);
  std::vector<std::byte> got(8);
  RequestPtr first = endpoint(1, 2).put(before, at(0), key_);
  endpoint(1, 2).fence();
  RequestPtr behind[] = {endpoint(1, 2).put(never, at(0), key_), endpoint(1, 2).get(got, at(0), key_),
                         endpoint(1, 2).fetch_op(AtomicOp::add, 8, 1, 0, at(8), key_, nullptr), endpoint(1, 2).flush()};
  for (RequestPtr& request : behind) {
    ASSERT_NE(request, nullptr) << "the fence should hold it up";
    EXPECT_TRUE(request->cancel());
    EXPECT_EQ(request->outcome(), Outcome::cancelled);
  }
  EXPECT_EQ(endpoint(1, 2).waiting_messages(), 0u);
  EXPECT_EQ(endpoint(1, 2).waiting_bytes(), 0u);
  endpoint(1, 2).put(after, at(500), key_);
  EXPECT_EQ(wait(endpoint(1, 2).flush()), Outcome::ok);
  EXPECT_EQ(wait(first), Outcome::ok);
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 500, memory_.begin()));
  EXPECT_TRUE(std::equal(after.begin(), after.end(), memory_.begin() + 500));
}

// Once nothing of this side is open a flush stands in the queue of the messages, and is counted there.
TEST_P(OneSided, AFlushThatIsTakenBackAmongMessagesIsOneLess) {
  if (GetParam() != By::messages) GTEST_SKIP() << "a device's own flush is under way first";
  wire.settings.refuse = 1;
  std::vector<std::byte> bytes = pattern(300);
  RequestPtr send = endpoint(1, 2).tag_send(bytes, 4);
  ASSERT_EQ(endpoint(1, 2).waiting_messages(), 1u);
  RequestPtr flush = endpoint(1, 2).flush();
  ASSERT_EQ(endpoint(1, 2).waiting_messages(), 2u);
  EXPECT_TRUE(flush->cancel());
  EXPECT_EQ(endpoint(1, 2).waiting_messages(), 1u);
  wire.settings.refuse = 0.2;
  EXPECT_EQ(wait(send), Outcome::ok);
  until([&] { return worker(2).tag_probe(4); });
}

TEST_P(OneSided, AFlushBehindAFlushHasNothingToWaitFor) {
  std::vector<std::byte> bytes = pattern(3000), room(8);
  for (unsigned round = 0; round < 20; ++round) {
    endpoint(1, 2).put(bytes, at(round), key_);
    EXPECT_EQ(wait(endpoint(1, 2).flush()), Outcome::ok);
    EXPECT_EQ(endpoint(1, 2).flush(), nullptr);
    wait(endpoint(1, 2).get(std::span(bytes), at(round), key_));
    EXPECT_EQ(endpoint(1, 2).flush(), nullptr) << "a get that has ended leaves nothing behind";
  }
  endpoint(1, 2).tag_send(room, 5);
  EXPECT_NE(endpoint(1, 2).flush(), nullptr) << "nobody has said yet that the message has arrived";
  RequestPtr first = endpoint(1, 2).flush(), second = endpoint(1, 2).flush();
  EXPECT_NE(second, nullptr) << "the first one is still under way";
  EXPECT_EQ(wait(first), Outcome::ok);
  EXPECT_EQ(wait(second), Outcome::ok);
  EXPECT_TRUE(worker(2).tag_probe(5));
  EXPECT_EQ(endpoint(1, 2).flush(), nullptr);
}

// The peer makes no progress meanwhile: it may be waiting elsewhere, and has all that it needs of us.
TEST_P(OneSided, AFlushUntilSendsHaveLeftNeedsNoAnswer) {
  std::vector<std::byte> bytes = pattern(300);
  endpoint(1, 2).tag_send(bytes, 4);
  until([&] { return worker(2).tag_probe(4); });  // they have met
  for (Tag tag = 5; tag < 10; ++tag) endpoint(1, 2).tag_send(bytes, tag);
  auto wait_alone = [&](const RequestPtr& flush) {
    for (int i = 0; flush != nullptr && !flush->ended() && i < 100'000; ++i) worker(1).progress();
    return flush == nullptr || flush->ended();
  };
  EXPECT_TRUE(wait_alone(endpoint(1, 2).flush(nullptr, nullptr, FlushScope::local)));
  EXPECT_EQ(endpoint(1, 2).flush(nullptr, nullptr, FlushScope::local), nullptr);
  EXPECT_TRUE(wait_alone(worker(1).flush(nullptr, nullptr, FlushScope::local)));
  EXPECT_NE(endpoint(1, 2).flush(), nullptr) << "that they have arrived was not said";
  for (Tag tag = 5; tag < 10; ++tag) until([&] { return worker(2).tag_probe(tag); });
}

TEST_P(OneSided, AFlushUntilSendsHaveLeftWaitsForPuts) {
  for (std::size_t size : {8, 3000, 300'000}) {
    std::vector<std::byte> bytes = pattern(size, 11);
    RequestPtr put = endpoint(1, 2).put(bytes, at(9), key_);
    EXPECT_EQ(wait(endpoint(1, 2).flush(nullptr, nullptr, FlushScope::local)), Outcome::ok);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), memory_.begin() + 9)) << size;
    EXPECT_EQ(wait(put), Outcome::ok);
  }
}

TEST_P(OneSided, WhatIsMappedHereIsDoneWithinTheCall) {
  if (GetParam() != By::mapped) GTEST_SKIP() << "of memory that is mapped";
  std::vector<std::byte> bytes = pattern(kDirect, 5), back(kDirect);
  wait(endpoint(1, 2).flush());
  EXPECT_EQ(endpoint(1, 2).put(bytes, at(3), key_), nullptr);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), memory_.begin() + 3));
  EXPECT_EQ(endpoint(1, 2).get(back, at(3), key_), nullptr);
  EXPECT_TRUE(back == bytes);
  std::uint64_t word = 40, before = 0;
  std::memcpy(memory_.data() + 64, &word, 8);
  EXPECT_EQ(endpoint(1, 2).fetch_op(AtomicOp::add, 8, 2, 0, at(64), key_, &before), nullptr);
  std::memcpy(&word, memory_.data() + 64, 8);
  EXPECT_EQ(before, 40u);
  EXPECT_EQ(word, 42u);
  EXPECT_EQ(endpoint(1, 2).flush(), nullptr) << "there is nothing to wait for";
  EXPECT_EQ(worker(1).flush(), nullptr);
  EXPECT_EQ(wire.puts + wire.gets, 0u) << "the device's own operations were not needed";
  EXPECT_EQ(wire.directs, 3u);

  // A larger one is the device's.
  std::vector<std::byte> large = pattern(kDirect + 1, 6);
  endpoint(1, 2).put(large, at(0), key_);
  EXPECT_EQ(wait(endpoint(1, 2).flush()), Outcome::ok);
  EXPECT_EQ(wire.directs, 3u);

  registered_.reset();
  EXPECT_EQ(wait(endpoint(1, 2).put(bytes, at(3), key_)), Outcome::bad_key) << "it is told what a device would tell";
  EXPECT_EQ(wait(endpoint(1, 2).get(back, at(3), key_)), Outcome::bad_key);
  wire.lose(1, 2, "a test");
  until([&] { return !endpoint_failure(1, 2).empty(); });
  EXPECT_EQ(wait(worker(1).endpoint(2)->put(bytes, at(3), key_)), Outcome::peer_lost);
  EXPECT_EQ(wait(worker(1).endpoint(2)->flush()), Outcome::peer_lost);
}

TEST_P(OneSided, AtomicsGiveBackWhatWasThere) {
  std::uint64_t word = 100, before = 0;
  std::memcpy(memory_.data() + 64, &word, 8);
  auto now = [&] {
    std::memcpy(&word, memory_.data() + 64, 8);
    return word;
  };
  auto run = [&](AtomicOp op, std::uint64_t operand, std::uint64_t compare = 0) {
    EXPECT_EQ(wait(endpoint(1, 2).fetch_op(op, 8, operand, compare, at(64), key_, &before)), Outcome::ok);
    return before;
  };
  EXPECT_EQ(run(AtomicOp::add, 5), 100u);
  EXPECT_EQ(run(AtomicOp::bit_or, 0x10), 105u);
  EXPECT_EQ(run(AtomicOp::bit_and, 0x7F), 105u | 0x10);
  EXPECT_EQ(run(AtomicOp::bit_xor, 1), 0x79u);
  EXPECT_EQ(run(AtomicOp::swap, 7), 0x78u);
  EXPECT_EQ(run(AtomicOp::compare_swap, 9, 8), 7u);
  EXPECT_EQ(now(), 7u);
  EXPECT_EQ(run(AtomicOp::compare_swap, 9, 7), 7u);
  EXPECT_EQ(now(), 9u);
  std::uint32_t narrow = 0;
  std::uint32_t words[2] = {0xFFFF'FFFF, 3};
  std::memcpy(memory_.data() + 64, words, 8);
  EXPECT_EQ(wait(endpoint(1, 2).fetch_op(AtomicOp::add, 4, 2, 0, at(64), key_, &narrow)), Outcome::ok);
  EXPECT_EQ(narrow, 0xFFFF'FFFFu);
  std::memcpy(words, memory_.data() + 64, 8);
  EXPECT_EQ(words[0], 1u);
  EXPECT_EQ(words[1], 3u) << "the neighbour was touched";
}

TEST_P(OneSided, ManyAddsFromTwoSidesLoseNone) {
  std::memset(memory_.data(), 0, 8);
  auto own_key = endpoint(2, 2).unpack(packed_);
  ASSERT_TRUE(own_key.ok());
  std::vector<RequestPtr> adds;
  for (unsigned i = 0; i < 200; ++i) {
    adds.push_back(endpoint(1, 2).fetch_op(AtomicOp::add, 8, 1, 0, at(0), key_, nullptr));
    adds.push_back(endpoint(2, 2).fetch_op(AtomicOp::add, 8, 1, 0, at(0), *own_key, nullptr));
  }
  for (auto& add : adds) EXPECT_EQ(wait(add), Outcome::ok);
  std::uint64_t sum = 0;
  std::memcpy(&sum, memory_.data(), 8);
  EXPECT_EQ(sum, 400u);
}

TEST_P(OneSided, NothingGoesBeyondTheMemoryOfTheKey) {
  std::vector<std::byte> bytes(100);
  std::uint64_t value = 0;
  EXPECT_EQ(wait(endpoint(1, 2).put(bytes, at(memory_.size() - 99), key_)), Outcome::bad_key);
  EXPECT_EQ(wait(endpoint(1, 2).get(bytes, at(0) - 1, key_)), Outcome::bad_key);
  EXPECT_EQ(wait(endpoint(1, 2).get(bytes, ~std::uint64_t{0} - 50, key_)), Outcome::bad_key);
  EXPECT_EQ(wait(endpoint(1, 2).fetch_op(AtomicOp::add, 8, 1, 0, at(4), key_, &value)), Outcome::bad_key);
  EXPECT_EQ(wait(endpoint(1, 2).fetch_op(AtomicOp::add, 2, 1, 0, at(8), key_, &value)), Outcome::bad_key);
}

TEST_P(OneSided, AKeyFromOutsideIsReadWithCare) {
  for (std::size_t length = 0; length < packed_.size(); ++length) {
    EXPECT_FALSE(endpoint(1, 2).unpack(std::span(packed_).first(length)).ok()) << length;
  }
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> damaged = packed_;
    damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    auto key = endpoint(1, 2).unpack(damaged);  // either answer is right, as long as there is one
    EXPECT_TRUE(!key.ok() || *key != nullptr);
  }
}

// The peer's own check: the engine at this side believes in a larger memory than there is.
TEST_P(OneSided, ThePeerRefusesWhatItHasNotRegistered) {
  if (GetParam() != By::messages) GTEST_SKIP() << "devices check their keys themselves";
  std::vector<std::byte> forged = packed_, bytes(8);
  std::uint64_t large = ~std::uint64_t{0} >> 2;
  std::memcpy(forged.data() + 17, &large, 8);
  auto key = endpoint(1, 2).unpack(forged);
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(wait(endpoint(1, 2).get(bytes, at(memory_.size()), *key)), Outcome::bad_key);
  std::uint64_t value = 0, aligned = (at(memory_.size()) + 7) / 8 * 8;
  EXPECT_EQ(wait(endpoint(1, 2).fetch_op(AtomicOp::add, 8, 1, 0, aligned, *key, &value)), Outcome::bad_key);
  endpoint(1, 2).put(bytes, at(memory_.size()), *key);
  endpoint(1, 2).fence();
  settle();  // the fence has asked the peer, and heard of it first
  EXPECT_EQ(wait(endpoint(1, 2).flush()), Outcome::bad_key);
  EXPECT_EQ(worker(2).counters().dropped, 1u);
  EXPECT_EQ(wait(endpoint(1, 2).flush()), Outcome::ok) << "it is told once";
  registered_.reset();
  EXPECT_EQ(wait(endpoint(1, 2).get(bytes, at(0), key_)), Outcome::bad_key);
  std::vector<std::byte> large_put = pattern(300'000);  // its bytes are placed without a copy where they may go
  endpoint(1, 2).put(large_put, at(0), key_);
  EXPECT_EQ(wait(endpoint(1, 2).flush()), Outcome::bad_key);
}

std::string name_of(By by) {
  constexpr const char* kNames[] = {"device", "mapped", "messages", "put_only"};
  return kNames[static_cast<int>(by)];
}
INSTANTIATE_TEST_SUITE_P(By, OneSided, ::testing::Values(By::device, By::mapped, By::messages, By::put_only),
                         [](auto& info) { return name_of(info.param); });

// ---- registrations

class RegistrationTest : public EngineTest {
 protected:
  RegistrationTest() {
    wire.settings.can.max_get = ~std::size_t{0};
    wire.settings.can.needs_registration = true;
  }
  void send_large(std::vector<std::byte>& message) {
    std::vector<std::byte> into(message.size());
    RequestPtr receive = worker(2).tag_receive(into, 1);
    RequestPtr send = endpoint(1, 2).tag_send(message, 1);
    until([&] { return receive->ended() && send->ended(); });
    EXPECT_TRUE(into == message);
  }
};

TEST_F(RegistrationTest, LentMemoryIsRegisteredForItsOperationAndNoLonger) {
  start(2);
  std::vector<std::byte> message = pattern(200'000);
  send_large(message);
  std::uint64_t first = wire.registrations;
  EXPECT_TRUE(wire.regions.empty());
  send_large(message);
  EXPECT_GT(wire.registrations, first);
}

TEST_F(RegistrationTest, KeptOnesAreUsedAgainUntilTheyAreInvalidated) {
  Limits limits;
  limits.keep_registrations = true;
  limits.registrations = 3;
  start(2, limits);
  std::vector<std::byte> message = pattern(200'000);
  send_large(message);
  EXPECT_EQ(wire.regions.size(), 2u);
  for (int i = 0; i < 10; ++i) {
    std::vector<std::byte> other = pattern(100'000 + i);
    send_large(other);
    worker(1).invalidate(other);
  }
  EXPECT_LE(wire.regions.size(), 6u);
  std::uint64_t before = wire.registrations;
  worker(1).invalidate(std::span(message).subspan(100'000, 1));
  send_large(message);
  EXPECT_GT(wire.registrations, before);
}

TEST_F(RegistrationTest, OverlapsAreMergedAndNothingIsLost) {
  start(1);
  Node& node = nodes[0];
  (void)node;
  auto transport = wire.transport(1);
  Registrations registrations(*transport, 8);
  std::vector<std::byte> memory(100'000);
  std::mt19937 random(7);
  std::vector<std::pair<Registration*, std::pair<std::size_t, std::size_t>>> held;
  for (int i = 0; i < 3000; ++i) {
    std::size_t from = random() % 90'000, size = 1 + random() % 9'000;
    if (random() % 3 == 0) {
      registrations.invalidate(memory.data() + from, size);
    } else if (held.size() < 20 || random() % 2 == 0) {
      auto made = registrations.acquire(memory.data() + from, size, MemoryKind::host);
      ASSERT_TRUE(made.ok());
      held.push_back({*made, {from, size}});
    }
    if (held.size() > 10) {
      std::size_t which = random() % held.size();
      registrations.release(held[which].first);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    }
    for (auto& [registration, range] : held) {
      ASSERT_LE(registration->handle.address, memory.data() + range.first);
      ASSERT_GE(registration->handle.address + registration->handle.size, memory.data() + range.first + range.second);
      ASSERT_TRUE(wire.regions.contains(registration->handle.id)) << "a registration in use has ended";
    }
    ASSERT_LE(registrations.kept(), 8u);
    ASSERT_LE(wire.regions.size(), 8 + held.size());
  }
  for (auto& [registration, range] : held) registrations.release(registration);
}

}  // namespace
}  // namespace periapt::ucx::testing
