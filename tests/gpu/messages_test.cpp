// Messages from and into memory of GPUs, and one-sided access to it: the engine over fake GPUs and a wire. That the
// fakes' memory faults when a processor touches it is half of the test.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "machine/gpu/device_memory.h"
#include "machine/ucx-like/engine.h"
#include "tests/gpu/by_hand.h"
#include "tests/gpu/gpu_fixture.h"
#include "tests/gpu/watched_memory.h"
#include "tests/machine/wire.h"

namespace periapt::gpu {
namespace {

using ucx::Endpoint;
using ucx::MemoryKind;
using ucx::Outcome;
using ucx::PeerId;
using ucx::RequestPtr;
using ucx::Worker;

class MessagesTest : public GpuTest {
 protected:
  MessagesTest() {
    wire.settings.can.max_put = wire.settings.can.max_get = ~std::size_t{0};
    wire.device_memory = [this] { return std::make_unique<Watched>(make_device_memory(pieces), maps); };
  }
  void start(unsigned count = 2) {
    settings.waits = 0;
    for (PeerId peer = 1; peer <= count; ++peer) {
      contexts.push_back(wire.context(peer));
      workers.push_back(std::move(*Worker::create(*contexts.back())));
    }
  }
  Worker& worker(PeerId peer) { return *workers[peer - 1]; }
  Endpoint& endpoint(PeerId from, PeerId to) { return **worker(from).connect(worker(to).address()); }
  template <class Condition>
  void until(Condition&& condition) {
    for (unsigned i = 0; i < 2'000'000 && !condition(); ++i) {
      if (pieces.courier == CourierUse::on) std::this_thread::yield();  // to its kernel
      workers[wire.up_to(workers.size() - 1)]->progress();
    }
    EXPECT_TRUE(condition()) << "this has not come true after two million steps";
  }
  void finish(const RequestPtr& request) {
    until([&] { return request == nullptr || request->ended(); });
  }
  static Outcome outcome_of(const RequestPtr& request) { return request == nullptr ? Outcome::ok : request->outcome(); }

  /// As programs say it, which know less than the driver.
  MemoryKind kind_of(MemoryType kind) const {
    const bool cuda = std::string(GetParam()) == "cuda";
    if (kind == MemoryType::managed) return cuda ? MemoryKind::cuda_managed : MemoryKind::hip_managed;
    return is_on_device(kind) ? (cuda ? MemoryKind::cuda : MemoryKind::hip) : MemoryKind::host;
  }
  std::byte* memory_of(MemoryType kind, std::uint64_t bytes, int gpu = 0) {
    if (kind == MemoryType::vmm) {
      void* made = nullptr;
      EXPECT_EQ(fake_gpu::function<int(void**, std::size_t)>(GetParam(), "periapt_fake_gpu_map")(&made, bytes), 0);
      return static_cast<std::byte*>(made);
    }
    if (kind == MemoryType::host) return plain.emplace_back(bytes).data();
    const std::int64_t waits = settings.waits;
    std::byte* made = make(kind, bytes, gpu);
    settings.waits = waits;
    return made;
  }
  void put_in(MemoryType kind, std::byte* memory, const std::vector<std::byte>& bytes) {
    if (bytes.empty()) return;
    kind == MemoryType::host ? static_cast<void>(std::memcpy(memory, bytes.data(), bytes.size()))
                             : write(memory, bytes);
  }
  std::vector<std::byte> taken_from(MemoryType kind, const std::byte* memory, std::uint64_t size) {
    if (kind == MemoryType::host || size == 0) return {memory, memory + size};
    return read(memory, size);
  }

  bool maps = true;
  DeviceMemorySettings pieces{.piece_bytes = 64 << 10, .pieces = 4};
  std::vector<std::vector<std::byte>> plain;
  ucx::testing::Wire wire{1};
  std::vector<std::unique_ptr<ucx::Context>> contexts;
  std::vector<std::unique_ptr<Worker>> workers;
};

// With what a peer can map and what it cannot, from small to large, in every combination of memory.
TEST_P(MessagesTest, ContentsSurviveFromEveryKindOfMemoryToEveryKind) {
  for (const auto& [can_map, reach] : {std::pair{true, ucx::Reach::network},
                                       {false, ucx::Reach::network},
                                       {true, ucx::Reach::same_host},
                                       {false, ucx::Reach::same_host}}) {
    maps = can_map;
    wire.settings.can.reach = reach;
    workers.clear();
    contexts.clear();
    start();
    unsigned seed = 0;
    for (MemoryType from : kAll) {
      std::byte* source = memory_of(from, kLargest + kOffset);
      for (MemoryType to : kAll) {
        if (!is_on_device(from) && !is_on_device(to) && from != MemoryType::managed && to != MemoryType::managed)
          continue;
        std::byte* target = memory_of(to, kLargest + kOffset, from == MemoryType::pool ? 1 : 0);
        for (std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{13}, std::uint64_t{4097},
                                   std::uint64_t{65'537}, kLargest}) {
          SCOPED_TRACE(testing::Message() << size << " bytes, " << name_of(from) << " to " << name_of(to)
                                          << (maps ? ", mapped" : ", not mapped"));
          const std::vector<std::byte> bytes = pattern(size, ++seed);
          put_in(from, source + kOffset, bytes);
          put_in(to, target + 1, std::vector<std::byte>(size, std::byte{0x77}));
          RequestPtr receive, send;
          const auto post = [&] { receive = worker(2).tag_receive_into(kind_of(to), {target + 1, size + 1}, 7); };
          const bool expected = seed % 2 == 0;
          if (expected) post();
          send = endpoint(1, 2).tag_send_from(kind_of(from), {source + kOffset, size}, 7);
          if (!expected) {
            for (unsigned i = 0; i < 200; ++i) workers[i % 2]->progress();
            post();
          }
          finish(receive);
          finish(send);
          ASSERT_EQ(outcome_of(receive), Outcome::ok);
          ASSERT_EQ(outcome_of(send), Outcome::ok);
          ASSERT_EQ(receive->received().size, size);
          ASSERT_EQ(taken_from(to, target + 1, size), bytes);
        }
      }
    }
    EXPECT_EQ(settings.waits, 0) << "nothing may wait for a GPU";
    EXPECT_EQ(settings.pageable, 0) << "a copy from pageable memory may wait";
  }
}

TEST_P(MessagesTest, AMappedMessageIsOneCopy) {
  start();
  std::byte *from = make(MemoryType::device, 3 << 20), *to = make(MemoryType::device, 3 << 20, 1);
  RequestPtr receive = worker(2).tag_receive_into(kind_of(MemoryType::device), {to, 3 << 20}, 7);
  settings.copies = 0;
  RequestPtr send = endpoint(1, 2).tag_send_from(kind_of(MemoryType::device), {from, 3 << 20}, 7);
  finish(receive);
  finish(send);
  EXPECT_EQ(outcome_of(send), Outcome::ok);
  EXPECT_EQ(settings.copies, 1);
}

TEST_P(MessagesTest, PutsAndGetsReachEveryKindOfMemory) {
  for (bool can_map : {true, false}) {
    maps = can_map;
    workers.clear();
    contexts.clear();
    start();
    Endpoint& peer = endpoint(1, 2);
    unsigned seed = 0;
    for (MemoryType there : kAll) {
      std::byte* remote = memory_of(there, kLargest + kOffset);
      auto memory = worker(2).register_memory({remote, kLargest + kOffset}, kind_of(there));
      ASSERT_TRUE(memory.ok()) << memory.message();
      auto key = peer.unpack(worker(2).pack_key(*memory));
      ASSERT_TRUE(key.ok()) << key.message();
      for (MemoryType here : kAll) {
        if (!is_on_device(here) && !is_on_device(there) && here != MemoryType::managed && there != MemoryType::managed)
          continue;
        std::byte* local = memory_of(here, kLargest);
        for (std::uint64_t size : {std::uint64_t{0}, std::uint64_t{9}, std::uint64_t{5000}, kLargest}) {
          SCOPED_TRACE(testing::Message() << size << " bytes, " << name_of(here) << " and " << name_of(there)
                                          << (maps ? ", mapped" : ", not mapped"));
          const auto address = reinterpret_cast<std::uintptr_t>(remote + kOffset);
          const std::vector<std::byte> bytes = pattern(size, ++seed), others = pattern(size, 1000 + seed);
          put_in(here, local, bytes);
          RequestPtr put = peer.put({local, size}, address, *key, nullptr, nullptr, kind_of(here));
          finish(put);
          RequestPtr flush = peer.flush();
          finish(flush);
          ASSERT_EQ(outcome_of(put), Outcome::ok);
          ASSERT_EQ(outcome_of(flush), Outcome::ok);
          ASSERT_EQ(taken_from(there, remote + kOffset, size), bytes) << "a flush says that puts are there";
          put_in(there, remote + kOffset, others);
          RequestPtr get = peer.get({local, size}, address, *key, nullptr, nullptr, kind_of(here));
          finish(get);
          ASSERT_EQ(outcome_of(get), Outcome::ok);
          ASSERT_EQ(taken_from(here, local, size), others);
        }
      }
      key->reset();
    }
    EXPECT_EQ(settings.waits, 0);
    EXPECT_EQ(settings.pageable, 0);
  }
}

TEST_P(MessagesTest, AccessOutsideOfWhatWasRegisteredIsRefused) {
  maps = false;
  start();
  Endpoint& peer = endpoint(1, 2);
  std::byte *remote = make(MemoryType::device, 100), *local = make(MemoryType::device, 100);
  auto memory = worker(2).register_memory({remote, 100}, kind_of(MemoryType::device));
  auto key = peer.unpack(worker(2).pack_key(*memory));
  const auto address = reinterpret_cast<std::uintptr_t>(remote);
  RequestPtr get = peer.get({local, 100}, address + 1, *key, nullptr, nullptr, kind_of(MemoryType::device));
  finish(get);
  EXPECT_EQ(outcome_of(get), Outcome::bad_key);
  memory->reset();
  get = peer.get({local, 100}, address, *key, nullptr, nullptr, kind_of(MemoryType::device));
  finish(get);
  EXPECT_EQ(outcome_of(get), Outcome::bad_key) << "it was deregistered";
  RequestPtr put = peer.put({local, 100}, address, *key, nullptr, nullptr, kind_of(MemoryType::device));
  finish(put);
  RequestPtr flush = peer.flush();
  finish(flush);
  EXPECT_EQ(outcome_of(flush), Outcome::bad_key);
  key->reset();
}

// Few pinned pieces for many messages at a time, both ways.
TEST_P(MessagesTest, WithoutAPieceMessagesWait) {
  maps = false;
  pieces = {.piece_bytes = 4096, .pieces = 2};
  start();
  constexpr unsigned kMany = 12;
  constexpr std::uint64_t kSize = 100'000;
  std::vector<RequestPtr> requests;
  std::vector<std::pair<std::byte*, unsigned>> targets;
  for (unsigned i = 0; i < kMany; ++i) {
    for (PeerId from : {1, 2}) {
      const std::uint64_t size = i % 3 == 0 ? 100 : kSize;
      std::byte *source = make(MemoryType::device, size), *target = make(MemoryType::device, size);
      write(source, pattern(size, 2 * i + static_cast<unsigned>(from)));
      targets.emplace_back(target, 2 * i + static_cast<unsigned>(from));
      requests.push_back(worker(3 - from).tag_receive_into(kind_of(MemoryType::device), {target, size}, i));
      requests.push_back(endpoint(from, 3 - from).tag_send_from(kind_of(MemoryType::device), {source, size}, i));
    }
  }
  for (const RequestPtr& request : requests) {
    finish(request);
    ASSERT_EQ(outcome_of(request), Outcome::ok);
  }
  for (unsigned i = 0; i < targets.size(); ++i) {
    const std::uint64_t size = i / 2 % 3 == 0 ? 100 : kSize;
    EXPECT_EQ(read(targets[i].first, size), pattern(size, targets[i].second));
  }
  EXPECT_EQ(settings.waits, 0);
}

// What cannot be copied ends, on both sides, and the next message goes.
TEST_P(MessagesTest, WithoutAnyPinnedMemoryMessagesFailAndSayWhy) {
  maps = false;
  settings.pinned = 1000;
  start();
  for (std::uint64_t size : {std::uint64_t{100}, std::uint64_t{1'000'000}}) {
    std::byte *from = make(MemoryType::device, size), *to = make(MemoryType::device, size);
    RequestPtr receive = worker(2).tag_receive_into(kind_of(MemoryType::device), {to, size}, 7);
    RequestPtr send = endpoint(1, 2).tag_send_from(kind_of(MemoryType::device), {from, size}, 7);
    finish(send);
    EXPECT_EQ(outcome_of(send), Outcome::failed);
    EXPECT_THAT(worker(1).device_memory()->failure(), testing::HasSubstr("pinned memory"));
    if (size > 1000) finish(receive);
    EXPECT_EQ(receive->ended(), size > 1000) << "what was announced and cannot come is an end of its receive";
    receive->cancel();
    std::vector<std::byte> host(10);
    receive = worker(2).tag_receive(host, 8);
    send = endpoint(1, 2).tag_send(pattern(10, 1), 8);
    finish(receive);
    EXPECT_EQ(host, pattern(10, 1));
  }
}

TEST_P(MessagesTest, FreedMemoryIsAFailureAndNotACrash) {
  for (bool can_map : {true, false}) {
    maps = can_map;
    workers.clear();
    contexts.clear();
    start();
    std::byte *gone = make(MemoryType::device, 100'000), *to = make(MemoryType::device, 100'000);
    free(gone);
    for (std::uint64_t size : {std::uint64_t{100}, std::uint64_t{100'000}}) {
      RequestPtr receive = worker(2).tag_receive_into(kind_of(MemoryType::device), {to, size}, 7);
      RequestPtr send = endpoint(1, 2).tag_send_from(kind_of(MemoryType::device), {gone, size}, 7);
      finish(send);
      EXPECT_EQ(outcome_of(send), Outcome::failed);
      EXPECT_THAT(worker(1).device_memory()->failure(), testing::HasSubstr("may have been freed"));
      receive->cancel();
      finish(receive);
      // Into freed memory: the sender has done its part.
      receive = worker(2).tag_receive_into(kind_of(MemoryType::device), {gone, size}, 9);
      send = endpoint(1, 2).tag_send_from(kind_of(MemoryType::device), {to, size}, 9);
      finish(receive);
      finish(send);
      EXPECT_EQ(outcome_of(receive), Outcome::failed);
    }
  }
}

TEST_P(MessagesTest, MemoryThatComesBackWithOtherContentsIsReadAnew) {
  start();
  std::byte* to = make(MemoryType::device, 100'000);
  for (unsigned round = 1; round <= 10; ++round) {
    const std::uint64_t size = 10'000 * round;
    std::byte* from = make(MemoryType::device, size);
    write(from, pattern(size, round));
    RequestPtr receive = worker(2).tag_receive_into(kind_of(MemoryType::device), {to, size}, round);
    RequestPtr send = endpoint(1, 2).tag_send_from(kind_of(MemoryType::device), {from, size}, round);
    finish(receive);
    finish(send);
    EXPECT_EQ(read(to, size), pattern(size, round));
    free(from);
  }
}

TEST_P(MessagesTest, FromOneVendorsGpuToTheOthersItGoesThroughTheHost) {
  start();
  const bool cuda = std::string(GetParam()) == "cuda";
  Driver& other = driver_of(cuda ? "hip" : "cuda");
  const MemoryKind others = cuda ? MemoryKind::hip : MemoryKind::cuda;
  for (std::uint64_t size : {std::uint64_t{100}, std::uint64_t{1'000'000}}) {
    std::byte *from = make(MemoryType::device, size), *to = *other.allocate(0, MemoryType::device, size);
    std::byte* back = make(MemoryType::device, size);
    write(from, pattern(size, 1));
    RequestPtr receive = worker(2).tag_receive_into(others, {to, size}, 7);
    RequestPtr send = endpoint(1, 2).tag_send_from(kind_of(MemoryType::device), {from, size}, 7);
    finish(receive);
    finish(send);
    ASSERT_EQ(outcome_of(receive), Outcome::ok);
    if (size > 100) {
      EXPECT_THAT(worker(2).device_memory()->failure(), testing::HasSubstr("between GPUs of two vendors"));
    }
    receive = worker(1).tag_receive_into(kind_of(MemoryType::device), {back, size}, 8);
    send = endpoint(2, 1).tag_send_from(others, {to, size}, 8);
    finish(receive);
    finish(send);
    EXPECT_EQ(read(back, size), pattern(size, 1));
    EXPECT_TRUE(other.free(0, MemoryType::device, to).ok());
  }
}

TEST_P(MessagesTest, AMessageLongerThanItsRoomIsTold) {
  for (auto reach : {ucx::Reach::network, ucx::Reach::same_host}) {
    wire.settings.can.reach = reach;
    workers.clear();
    contexts.clear();
    start();
    std::byte *from = make(MemoryType::device, 100'000), *to = make(MemoryType::device, 100'000);
    for (std::uint64_t size : {std::uint64_t{12}, std::uint64_t{100}, std::uint64_t{100'000}}) {
      for (MemoryKind kind : {kind_of(MemoryType::device), MemoryKind::host}) {
        std::vector<std::byte> bytes = pattern(size, 1);
        std::byte* source = kind == MemoryKind::host ? bytes.data() : from;
        RequestPtr receive = worker(2).tag_receive_into(kind_of(MemoryType::device), {to, size - 1}, 7);
        RequestPtr send = endpoint(1, 2).tag_send_from(kind, {source, size}, 7);
        finish(receive);
        finish(send);
        EXPECT_EQ(outcome_of(receive), Outcome::too_long);
        EXPECT_EQ(receive->received().size, size);
      }
    }
  }
}

TEST_P(MessagesTest, APeerThatIsLostInTheMiddleEndsWhatWasUnderWay) {
  for (bool can_map : {true, false}) {
    for (unsigned steps = 0; steps < 60; steps += 3) {
      SCOPED_TRACE(steps);
      maps = can_map;
      workers.clear();
      contexts.clear();
      start();
      constexpr std::uint64_t kSize = 900'000;
      std::byte *from = make(MemoryType::device, kSize), *to = make(MemoryType::device, kSize);
      RequestPtr receive = worker(2).tag_receive_into(kind_of(MemoryType::device), {to, kSize}, 7);
      RequestPtr send = endpoint(1, 2).tag_send_from(kind_of(MemoryType::device), {from, kSize}, 7);
      for (unsigned i = 0; i < steps; ++i) workers[i % 2]->progress();
      wire.lose(1, 2, "cable cut");
      finish(send);
      until([&] { return !worker(2).device_memory()->is_busy(); });
      EXPECT_TRUE(receive->ended() || receive->cancel()) << "it was matched, and has not ended";
      finish(receive);
      free(from);
      free(to);
    }
  }
}

TEST_P(MessagesTest, ALostGpuEndsMessagesOnBothSides) {
  for (bool can_map : {true, false}) {
    for (std::int64_t copies : {0, 3, 8}) {
      SCOPED_TRACE(copies);
      maps = can_map;
      workers.clear();
      contexts.clear();
      start();
      constexpr std::uint64_t kSize = 900'000;
      std::byte *from = make(MemoryType::device, kSize), *to = make(MemoryType::device, kSize);
      RequestPtr receive = worker(2).tag_receive_into(kind_of(MemoryType::device), {to, kSize}, 7);
      settings.copies_until_loss = can_map ? 0 : copies;
      RequestPtr send = endpoint(1, 2).tag_send_from(kind_of(MemoryType::device), {from, kSize}, 7);
      finish(receive);
      finish(send);
      EXPECT_EQ(outcome_of(receive), Outcome::failed);
      receive.reset();
      send.reset();
      workers.clear();
      settings.copies_until_loss = -1;
      settings.lost = 0;
    }
  }
}

TEST_P(MessagesTest, TheDriverIsAskedNothingForMessagesOfTheHost) {
  bool made = false;
  wire.device_memory = [&made]() -> std::unique_ptr<ucx::DeviceMemory> {
    made = true;
    return nullptr;
  };
  start();
  for (std::uint64_t size : {std::uint64_t{8}, std::uint64_t{10'000}, std::uint64_t{1'000'000}}) {
    const std::vector<std::byte> bytes = pattern(size, 1);
    std::vector<std::byte> into(size);
    RequestPtr receive = worker(2).tag_receive(into, 7);
    RequestPtr send = endpoint(1, 2).tag_send(bytes, 7);
    finish(receive);
    finish(send);
    EXPECT_EQ(into, bytes);
  }
  EXPECT_FALSE(made);
  // And where there is no GPU, memory of one is a failure.
  std::vector<std::byte> bytes(10);
  RequestPtr receive = worker(2).tag_receive_into(MemoryKind::cuda, bytes, 8);
  RequestPtr send = endpoint(1, 2).tag_send_from(MemoryKind::cuda, bytes, 8);
  finish(receive);
  finish(send);
  EXPECT_EQ(outcome_of(receive), Outcome::failed);
  EXPECT_EQ(outcome_of(send), Outcome::failed);
}

TEST_P(MessagesTest, AStreamIsReachedWhenItHasDoneWhatItWasGiven) {
  settings.delay = 10;
  start();
  ucx::DeviceMemory& memory = *worker(1).device_memory();
  std::byte *first = make(MemoryType::device, 100), *second = make(MemoryType::device, 100);
  write(first, pattern(100, 5));
  Stream program = *driver.make_stream(0);
  struct Told : ucx::Completion {
    bool there = false;
  } told;
  told.done = [](ucx::Completion& self, Outcome outcome) { static_cast<Told&>(self).there = outcome == Outcome::ok; };
  ASSERT_TRUE(driver.copy(program, second, first, 100).ok());
  const Result<bool> waits = memory.when_reached(program.native, {second, kind_of(MemoryType::device)}, told);
  ASSERT_TRUE(waits.ok() && !*waits);
  EXPECT_TRUE(memory.is_busy());
  EXPECT_FALSE(worker(1).arm()) << "nothing would wake it";
  until([&] { return told.there; });
  EXPECT_EQ(read(second, 100), pattern(100, 5));
  told.there = false;
  const Result<bool> again = memory.when_reached(program.native, {second, kind_of(MemoryType::device)}, told);
  EXPECT_TRUE(again.ok() && *again) << "it has nothing to do";
  EXPECT_FALSE(memory.is_busy());
  memory.progress();
  EXPECT_FALSE(told.there) << "the answer was enough";
  driver.destroy(program);
}

// A stream that has got there between two waits has the first one still to be told.
TEST_P(MessagesTest, WaitsForAStreamAreToldInTheirOrder) {
  settings.delay = 10;
  start();
  ucx::DeviceMemory& memory = *worker(1).device_memory();
  std::byte *first = make(MemoryType::device, 100), *second = make(MemoryType::device, 100);
  const ucx::Place place{second, kind_of(MemoryType::device)};
  const Stream program = *driver.make_stream(0);
  struct Told : ucx::Completion {
    std::vector<int>* all;
    int number;
  };
  std::vector<int> all;
  Told one, other;
  one.all = other.all = &all, one.number = 1, other.number = 2;
  one.done = other.done = [](ucx::Completion& self, Outcome) {
    static_cast<Told&>(self).all->push_back(static_cast<Told&>(self).number);
  };
  ASSERT_TRUE(driver.copy(program, second, first, 100).ok());
  const Result<bool> waits = memory.when_reached(program.native, place, one);
  ASSERT_TRUE(waits.ok() && !*waits);
  ASSERT_TRUE(driver.finish(program).ok());
  const Result<bool> behind = memory.when_reached(program.native, place, other);
  ASSERT_TRUE(behind.ok());
  EXPECT_FALSE(*behind);
  until([&] { return all.size() == 2; });
  EXPECT_EQ(all, (std::vector<int>{1, 2}));
  driver.destroy(program);
}

// Pinned and managed memory do not say which GPU the stream is of that writes them.
TEST_P(MessagesTest, AStreamOfAnotherGpuThanTheMemorys) {
  start();
  ucx::DeviceMemory& memory = *worker(1).device_memory();
  const Stream program = *driver.make_stream(1);
  std::byte *pinned = make(MemoryType::pinned, 100), *there = make(MemoryType::device, 100, 1),
            *here = make(MemoryType::device, 100);
  write(there, pattern(100, 3));
  struct Told : ucx::Completion {
    int times = 0;
  } told;
  told.done = [](ucx::Completion& self, Outcome outcome) {
    if (outcome == Outcome::ok) ++static_cast<Told&>(self).times;
  };
  ASSERT_TRUE(driver.copy(program, pinned, there, 100).ok());
  int at_once = 0;
  const auto ask = [&](void* stream, ucx::Place place) {
    const Result<bool> reached = memory.when_reached(stream, place, told);
    EXPECT_TRUE(reached.ok());
    at_once += reached.ok() && *reached;
  };
  ask(program.native, {pinned});
  ask(program.native, {here, kind_of(MemoryType::device)});
  ask(nullptr, {here, kind_of(MemoryType::device)});
  until([&] { return told.times + at_once == 3; });
  EXPECT_EQ(std::memcmp(pinned, pattern(100, 3).data(), 100), 0);
  driver.destroy(program);
}

// A process that may not be handed the file maps it all the same.
TEST_P(MessagesTest, MemoryThatIsMappedByHandIsDescribedForTheFabric) {
  if (std::string(GetParam()) != "cuda") return;
  settings.fabric = 1;
  start();
  ucx::DeviceMemory& memory = *worker(1).device_memory();
  by_hand::Pieces pieces(0, 1);
  for (const int handles : {by_hand::Pieces::kFabric, by_hand::Pieces::kFile | by_hand::Pieces::kFabric}) {
    pieces.map(0, handles);
    write(pieces.at(0), pattern(1000, 4));
    const std::vector<std::byte> described = memory.describe({pieces.at(0), MemoryKind::cuda});
    EXPECT_LE(described.size(), 200u);
    settings.files = 0;
    in_another_process([&]() -> std::string {
      const Result<ucx::Mapping> there =
          memory.map(described, reinterpret_cast<std::uintptr_t>(pieces.at(0)), 1000, {pieces.at(0), MemoryKind::cuda});
      if (!there) return there.message();
      return read(there->at.get(), 1000) == pattern(1000, 4) ? "" : "other contents";
    });
    settings.files = 1;
    pieces.unmap(0);
  }
}

TEST_P(MessagesTest, MoreThanTheAllocationHolds) {
  start();
  ucx::DeviceMemory& memory = *worker(1).device_memory();
  std::byte *from = make(MemoryType::device, 1000), *to = make(MemoryType::device, 500);
  ucx::Completion never;
  const Status copied =
      memory.copy({to + 100, kind_of(MemoryType::device)}, {from, kind_of(MemoryType::device)}, 401, never);
  EXPECT_EQ(copied.message(), "401 bytes of an allocation that ends 400 bytes after the address");
}

// The courier's, whose kernel is run by threads here.
TEST_P(MessagesTest, SmallOnesArriveByTheCourierToo) {
  settings.clock = 1;
  settings.warps = 2;
  pieces.courier = CourierUse::on;
  start();
  for (unsigned round = 0; round < 40; ++round) {
    for (const MemoryType from : {MemoryType::device, MemoryType::pinned, MemoryType::host, MemoryType::pool}) {
      for (const MemoryType to : {MemoryType::device, MemoryType::host}) {
        const std::uint64_t size = 1 + 97 * round;
        std::byte *source = memory_of(from, size, 0), *target = memory_of(to, size, 1);
        put_in(from, source, pattern(size, round));
        const RequestPtr got = worker(2).tag_receive_into(kind_of(to), {target, size}, round);
        finish(endpoint(1, 2).tag_send_from(kind_of(from), {source, size}, round));
        finish(got);
        ASSERT_EQ(outcome_of(got), Outcome::ok);
        ASSERT_EQ(taken_from(to, target, size), pattern(size, round))
            << name_of(from) << " to " << name_of(to) << ", " << size << " bytes";
      }
    }
  }
}

// The driver waits for a copy from or to pageable memory.
TEST_P(MessagesTest, AFewBytesThatAreGivenBackGoThroughPinnedMemory) {
  const std::unique_ptr<ucx::DeviceMemory> memory = make_device_memory({.courier = CourierUse::on});
  settings.warps = 2;
  std::byte* device = make(MemoryType::device, 8);
  std::vector<std::byte> host = pattern(8, 21), back(8);
  const ucx::Place there{device, memory->kind_of(device)}, here{host.data()}, home{back.data()};
  for (const auto& [to, from] : {std::pair(there, here), {home, there}}) {
    settings.kernels = 0;
    for (unsigned i = 0; i < 2; ++i) {  // the first one launches the kernel that the second one waits for
      Told told;
      ASSERT_TRUE(memory->copy(to, from, 8, told).ok());
      while (told.count == 0) {
        memory->progress();
        ASSERT_TRUE(told.count != 0 || memory->is_busy()) << "it is lost";
      }
      EXPECT_EQ(told.outcome, ucx::Outcome::ok) << memory->failure();
    }
    settings.kernels = 1;
    ASSERT_TRUE(driver.finish_all(0).ok());
    std::this_thread::sleep_for(std::chrono::nanoseconds(2 * CourierSettings().rest_ns));
  }
  EXPECT_EQ(back, host);
  EXPECT_EQ(settings.pageable, 0);
}

INSTANTIATE_TEST_SUITE_P(Both, MessagesTest, ::testing::Values("cuda", "hip"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace periapt::gpu
