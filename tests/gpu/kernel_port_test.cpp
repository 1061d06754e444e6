// Messages that kernels send: on fake GPUs, with threads of the host in place of a kernel's. They run what a kernel
// would (machine/gpu/device_send.h); the counts, which lie in a fake GPU's memory, they find by the fake driver.
#include "machine/gpu/kernel_port.h"

#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/gpu/gpu_fixture.h"

namespace periapt::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Closing = KernelPort::Closing;

struct Sent {
  unsigned thread, number;
  unsigned char rest[52];
};

class KernelPortTest : public GpuTest {
 protected:
  std::unique_ptr<KernelPort> open(std::uint64_t places, std::uint64_t bytes, int gpu = 0) {
    Result<std::unique_ptr<KernelPort>> opened = KernelPort::open(driver, gpu, places, bytes);
    EXPECT_TRUE(opened.ok()) << opened.message();
    if (!opened) std::abort();
    return std::move(*opened);
  }
  std::unique_ptr<KernelCounter> counted() {
    Result<std::unique_ptr<KernelCounter>> made = KernelCounter::make(driver, 0);
    EXPECT_TRUE(made.ok()) << made.message();
    return made ? std::move(*made) : nullptr;
  }
  /// As a thread of a kernel has it.
  ck_kernel_port there(const KernelPort& port) const {
    ck_kernel_port handle = port.handle();
    void* const counts = fake_gpu::function<void*(const void*)>(GetParam(), "periapt_fake_gpu_bytes")(handle.counts);
    EXPECT_NE(counts, nullptr);
    handle.counts = static_cast<ck_port_counts*>(counts);
    return handle;
  }
  static std::vector<unsigned> take_all(KernelPort& port) {
    std::vector<unsigned> taken;
    port.take(1000, [&](std::span<const std::byte> bytes) {
      unsigned value = 0;
      EXPECT_EQ(bytes.size(), sizeof value);
      std::memcpy(&value, bytes.data(), sizeof value);
      taken.push_back(value);
    });
    return taken;
  }
  void free_what_is_kept() {
    constexpr std::int64_t kAll = 1LL << 50;
    settings.pinned -= kAll;
    EXPECT_FALSE(KernelPort::open(driver, 0, 2048, 1).ok());  // as none is
    settings.pinned += kAll;
  }
  /// By a clock of the test's.
  Closing close(KernelPort& port, std::uint64_t now_ns = 0) {
    EXPECT_TRUE(port.begin_close(now_ns).ok());
    Closing closing = Closing::under_way;
    while (closing == Closing::under_way) {
      take_all(port);
      closing = port.close_on(now_ns += 100'000);
    }
    return closing;
  }
};

// To free waits for all kernels of the GPU, of which one may wait for the PE that frees. (These are first:
// once a port is given up nothing is freed.)
TEST_P(KernelPortTest, FreesMemoryWhereNoneIsOpen) {
  constexpr std::int64_t kOfOne = sizeof(ck_port_counts);
  free_what_is_kept();
  const std::int64_t before = settings.memory;
  const auto taken = [&] { return (before - settings.memory) / kOfOne; };
  auto first = open(1, 8);
  for (std::uint64_t i = 1; i <= 20; ++i) EXPECT_EQ(close(*open(1, 64 * i)), Closing::done);
  EXPECT_EQ(taken(), 21) << "a kernel that sends by the first may wait";
  EXPECT_EQ(close(*first), Closing::done);
  first.reset();
  EXPECT_EQ(close(*open(1, 8)), Closing::done);
  EXPECT_EQ(taken(), 17);

  // Bytes have a bound too.
  free_what_is_kept();
  EXPECT_EQ(taken(), 0);
  for (const std::uint64_t bytes : {(1 << 20) - 100, 1 << 20}) EXPECT_EQ(close(*open(128, bytes)), Closing::done);
  EXPECT_EQ(taken(), 2);
  EXPECT_EQ(close(*open(1, 8)), Closing::done);
  EXPECT_EQ(taken(), 2) << "the older one goes";
  free_what_is_kept();
}

TEST_P(KernelPortTest, FreesWhatIsKeptWhereMemoryIsScarce) {
  free_what_is_kept();
  EXPECT_EQ(close(*open(64, 64)), Closing::done);
  settings.pinned = 10'000;
  EXPECT_EQ(close(*open(64, 128)), Closing::done);
}

TEST_P(KernelPortTest, BringsEachMessageOnceAndInOrder) {
  const auto port = open(4, 4);
  const ck_kernel_port there = this->there(*port);
  EXPECT_THAT(take_all(*port), ElementsAre());
  for (unsigned round = 0; round < 20; ++round) {  // places come round
    for (unsigned i = 0; i < 3; ++i) {
      const unsigned value = 10 * round + i;
      EXPECT_EQ(ck_device_send(there, &value, sizeof value), ck_device_sent);
    }
    EXPECT_THAT(take_all(*port), ElementsAre(10 * round, 10 * round + 1, 10 * round + 2));
    EXPECT_THAT(take_all(*port), ElementsAre());
  }
  EXPECT_EQ(close(*port), Closing::done);
}

TEST_P(KernelPortTest, SaysThatItIsFull) {
  const auto port = open(3, 4);  // which are four
  const ck_kernel_port there = this->there(*port);
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(ck_device_send(there, &i, sizeof i), ck_device_sent);
  const unsigned more = 4;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ck_device_send(there, &more, sizeof more), ck_device_full);
  EXPECT_EQ(port->take(1, [](auto) {}), 1);
  EXPECT_EQ(ck_device_send(there, &more, sizeof more), ck_device_sent);
  EXPECT_EQ(ck_device_send(there, &more, sizeof more), ck_device_full);
  EXPECT_THAT(take_all(*port), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(close(*port), Closing::done);
}

TEST_P(KernelPortTest, TakesMessagesOfAllLengthsFromAnyAddress) {
  constexpr unsigned kMost = 100;
  const auto port = open(1, kMost);
  const ck_kernel_port there = this->there(*port);
  alignas(16) unsigned char from[2 * kMost];
  std::iota(std::begin(from), std::end(from), static_cast<unsigned char>(7));
  for (unsigned bytes = 0; bytes <= kMost; ++bytes) {
    for (unsigned askew = 0; askew < 9; ++askew) {
      ASSERT_EQ(ck_device_send(there, from + askew, bytes), ck_device_sent);
      ASSERT_EQ(port->take(1,
                           [&](std::span<const std::byte> taken) {
                             ASSERT_EQ(taken.size(), bytes);
                             ASSERT_EQ(std::memcmp(taken.data(), from + askew, bytes), 0);
                           }),
                1);
    }
  }
  EXPECT_EQ(port->too_long(), 0u);
  EXPECT_EQ(ck_device_send(there, from, kMost + 1), ck_device_too_long);
  EXPECT_EQ(port->too_long(), kMost + 1);
  EXPECT_EQ(port->take(1, [](auto) {}), 0);
}

// Threads that crowd it, with few places: all come, those of one thread in its order.
TEST_P(KernelPortTest, StandsAStorm) {
  constexpr unsigned kThreads = 4, kMessages = 5000;
  const auto port = open(8, sizeof(Sent));
  const ck_kernel_port there = this->there(*port);
  std::vector<std::thread> kernel;
  std::atomic<unsigned> wrong{0};
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    kernel.emplace_back([&, thread] {
      for (unsigned i = 0; i < kMessages; ++i) {
        Sent sent{thread, i, {}};
        std::memset(sent.rest, static_cast<int>(i & 0xFF), sizeof sent.rest);
        int answer = ck_device_full;
        while ((answer = ck_device_send(there, &sent, sizeof sent)) == ck_device_full) std::this_thread::yield();
        wrong += answer != ck_device_sent;
      }
    });
  }
  std::vector<unsigned> next(kThreads, 0);
  for (unsigned taken = 0; taken < kThreads * kMessages;) {
    const int now = port->take(3, [&](std::span<const std::byte> bytes) {
      Sent sent;
      ASSERT_EQ(bytes.size(), sizeof sent);
      std::memcpy(&sent, bytes.data(), sizeof sent);
      ASSERT_LT(sent.thread, kThreads);
      ASSERT_EQ(sent.number, next[sent.thread]++);
      for (const unsigned char byte : sent.rest) ASSERT_EQ(byte, sent.number & 0xFF);
    });
    if (now == 0) std::this_thread::yield();
    taken += static_cast<unsigned>(now);
  }
  for (std::thread& thread : kernel) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(port->take(1, [](auto) {}), 0);
  EXPECT_EQ(close(*port), Closing::done);
}

TEST_P(KernelPortTest, ThatIsClosedBringsWhatWasSentAndNoMore) {
  const auto port = open(8, 4);
  const ck_kernel_port there = this->there(*port);
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(ck_device_send(there, &i, sizeof i), ck_device_sent);
  ASSERT_TRUE(port->begin_close(0).ok());
  EXPECT_EQ(port->close_on(1), Closing::under_way);
  while (ck_device_send(there, &port, 4) != ck_device_closed) EXPECT_EQ(port->close_on(2), Closing::under_way);
  EXPECT_EQ(ck_device_send_waiting(there, &port, 4), ck_device_closed);
  std::vector<unsigned> taken;
  Closing closing = Closing::under_way;
  for (std::uint64_t now_ns = 3; closing == Closing::under_way; now_ns += 500'000) {
    for (const unsigned value : take_all(*port)) taken.push_back(value);
    closing = port->close_on(now_ns);
  }
  EXPECT_EQ(closing, Closing::done);
  EXPECT_GE(taken.size(), 3u);
  EXPECT_EQ(settings.waits, 1) << "the opening alone may wait for the GPU";
}

// A PE that is in a long entry looks late, and then finds what came meanwhile.
TEST_P(KernelPortTest, ThatIsClosedWaitsForALateLook) {
  const auto port = open(8, 4);
  const ck_kernel_port there = this->there(*port);
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(ck_device_send(there, &i, sizeof i), ck_device_sent);
  ASSERT_TRUE(port->begin_close(0).ok());
  std::vector<unsigned> taken;
  Closing closing = Closing::under_way;
  for (std::uint64_t now_ns = 2 * KernelPort::kPatience_ns; closing == Closing::under_way; now_ns += 500'000) {
    port->take(1, [&](std::span<const std::byte> bytes) {
      unsigned value = 0;
      std::memcpy(&value, bytes.data(), sizeof value);
      taken.push_back(value);
    });
    closing = port->close_on(now_ns);
  }
  EXPECT_EQ(closing, Closing::done);
  EXPECT_THAT(taken, ElementsAre(0, 1, 2));
}

// The count that was asked for before its last message says nothing when the PE was in a long entry meanwhile.
TEST_P(KernelPortTest, ThatIsClosedOutlastsALongEntry) {
  constexpr std::uint64_t kMs = 1'000'000;
  const auto port = open(8, 4);
  const ck_kernel_port there = this->there(*port);
  ASSERT_TRUE(ck_port_take_place(there));
  ASSERT_TRUE(port->begin_close(kMs).ok());
  for (int looks = 0; looks < 20; ++looks) EXPECT_EQ(port->close_on(kMs + kMs / 10), Closing::under_way);
  const ck_device_word number = ck_near_add(&there.counts->next, 1);
  auto& place = *reinterpret_cast<ck_port_place*>(there.places + (number & there.place_mask) * there.place_bytes);
  place.bytes = 0;
  ck_far_store(&place.number, number);
  int taken = port->take(64, [](auto) {});
  EXPECT_EQ(port->close_on(kMs + kMs / 5), Closing::under_way);
  Closing closing = Closing::under_way;
  for (std::uint64_t now_ns = 2 * KernelPort::kPatience_ns; closing == Closing::under_way; now_ns += 2 * kMs) {
    taken += port->take(64, [](auto) {});
    closing = port->close_on(now_ns);
  }
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(closing, Closing::done);
}

// All has come, and what says so is gone.
TEST_P(KernelPortTest, IsGivenUpWhereItsCountsWereWrittenOver) {
  const auto port = open(32, 4);
  const ck_kernel_port there = this->there(*port);
  const unsigned value = 1;
  EXPECT_EQ(ck_device_send(there, &value, sizeof value), ck_device_sent);
  there.counts->next = 1;
  EXPECT_EQ(close(*port), Closing::given_up);
  EXPECT_EQ(port->failure().message(), "a kernel has written over the counts of the port");
}

// A thread that has a number and does not go on.
TEST_P(KernelPortTest, IsGivenUpWhereAMessageDoesNotCome) {
  const std::int64_t before = settings.memory;
  auto port = open(32, 4);  // as no other one has it
  const ck_kernel_port there = this->there(*port);
  EXPECT_EQ(ck_near_add(&there.counts->next, 1), 1u);
  EXPECT_EQ(close(*port), Closing::given_up);
  EXPECT_TRUE(port->failure().ok()) << "it is the message";
  port.reset();
  EXPECT_EQ(before - settings.memory, static_cast<std::int64_t>(sizeof(ck_port_counts)))
      << "a kernel may still write there";
  port = open(32, 4);
  EXPECT_NE(port->handle().places, there.places);
  EXPECT_EQ(close(*port), Closing::done);
}

// What is kept serves the next one, and an older handle does not.
TEST_P(KernelPortTest, UsesTheMemoryOfOneThatIsClosed) {
  auto port = open(8, 12);
  const ck_kernel_port old = there(*port);
  const unsigned char* const places = port->handle().places;
  const unsigned value = 1, other = 2;
  EXPECT_EQ(ck_device_send(old, &value, sizeof value), ck_device_sent);
  EXPECT_EQ(close(*port), Closing::done);
  port.reset();
  port = open(7, 4);  // as many places, and places as large
  EXPECT_EQ(port->handle().places, places);
  const unsigned char long_one[16] = {};
  EXPECT_EQ(ck_device_send(old, &value, sizeof value), ck_device_closed);
  EXPECT_EQ(ck_device_send(old, long_one, 13), ck_device_closed);
  EXPECT_EQ(port->too_long(), 0u) << "of the port that is open, which ends the run";
  EXPECT_THAT(take_all(*port), ElementsAre());
  EXPECT_EQ(ck_device_send(there(*port), &other, sizeof other), ck_device_sent);
  EXPECT_THAT(take_all(*port), ElementsAre(2));
  EXPECT_EQ(close(*port), Closing::done);
}

TEST_P(KernelPortTest, SaysWhyThereIsNone) {
  const auto why = [&](int gpu, std::uint64_t places, std::uint64_t bytes) {
    return KernelPort::open(driver, gpu, places, bytes).message();
  };
  EXPECT_THAT(why(2, 8, 8), HasSubstr("there is no GPU 2 in this process, which has 2"));
  EXPECT_THAT(why(-1, 8, 8), HasSubstr("there is no GPU -1"));
  EXPECT_THAT(why(0, 0, 8), HasSubstr("0 messages on their way: it is a number from 1 to 1048576"));
  EXPECT_THAT(why(0, 1 << 21, 8), HasSubstr("2097152 messages on their way"));
  EXPECT_THAT(why(0, 8, (1 << 20) + 1), HasSubstr("messages of 1048577 bytes: they have 1048576 at most"));
  EXPECT_THAT(why(0, 1 << 20, 1 << 20), HasSubstr("a port has 1 GiB of pinned memory at most"));
  EXPECT_THAT(KernelCounter::make(driver, 5).message(), HasSubstr("there is no GPU 5"));
  settings.pinned = 1000;
  EXPECT_THAT(why(0, 1024, 64), HasSubstr("out of memory"));
}

TEST_P(KernelPortTest, IsGivenUpWhenTheGpuIsLost) {
  const auto port = open(8, 4);
  ASSERT_TRUE(port->begin_close(0).ok());
  settings.lost = 1;
  Closing closing = Closing::under_way;
  for (int asked = 0; closing == Closing::under_way && asked < 20; ++asked) closing = port->close_on(1);
  EXPECT_EQ(closing, Closing::given_up);
  EXPECT_THAT(port->failure().message(), HasSubstr("GPU 0"));
}

TEST_P(KernelPortTest, CountersAreRaisedFromThreads) {
  std::unique_ptr<KernelCounter> counter = counted();
  const std::unique_ptr<KernelCounter> other = counted();
  EXPECT_EQ(counter->value(), 0u);
  std::vector<std::thread> kernel;
  for (int i = 0; i < 3; ++i)
    kernel.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) ck_device_signal(counter->handle(), 2);
    });
  for (std::thread& thread : kernel) thread.join();
  EXPECT_EQ(counter->value(), 6000u);
  EXPECT_EQ(other->value(), 0u);
  const ck_device_word* const word = counter->handle().count;
  counter.reset();
  counter = counted();
  EXPECT_EQ(counter->handle().count, word);
  EXPECT_EQ(counter->value(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Both, KernelPortTest, ::testing::Values("cuda", "hip"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace periapt::gpu
