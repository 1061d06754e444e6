// Ports between PEs that are threads: order, exactly once, full rings, many senders, sleeping and waking.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <random>

#include "base/clock.h"
#include "tests/host/host.h"
#include "tests/host/waiting.h"

namespace periapt::host {
namespace {

constexpr std::uint64_t kForever = ~std::uint64_t{0};
const int kSlower = platform::kThreadSanitizer || platform::kAddressSanitizer ? 10 : 1;

TEST(Port, DeliversMetaBodyAndSource) {
  Host host(3);
  Slot* slot = host.port(2).claim(1);
  ASSERT_NE(slot, nullptr);
  std::memset(slot->body, 7, Slot::kBodyBytes);
  const std::uint64_t meta = (std::uint64_t{1} << 56) - 3;
  host.port(2).publish(1, slot, meta);
  int calls = 0;
  int delivered = host.port(1).poll(
      [&](std::uint64_t got, const void* body, int source) {
        ++calls;
        EXPECT_EQ(got, meta);
        EXPECT_EQ(source, 2);
        for (std::size_t i = 0; i < Slot::kBodyBytes; ++i) EXPECT_EQ(static_cast<const char*>(body)[i], 7);
      },
      10);
  EXPECT_EQ(delivered, 1);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(host.port(1).poll([](std::uint64_t, const void*, int) { FAIL(); }, 10), 0);
}

TEST(Port, AClaimThatWasNotPublishedIsGivenOutAgain) {
  Host host(2);
  Slot* slot = host.port(0).claim(1);
  EXPECT_EQ(host.port(0).claim(1), slot);
  EXPECT_FALSE(host.port(1).has_arrivals() && host.port(1).poll([](std::uint64_t, const void*, int) {}, 1) != 0);
}

TEST(Port, ReachesItself) {
  Host host(1);
  post_letter(host.port(0), {0, 0, 5, 0, 0});
  int delivered = host.port(0).poll(
      [&](std::uint64_t meta, const void* body, int source) {
        Letter letter;
        EXPECT_TRUE(read_letter(host.port(0), meta, body, source, letter));
      },
      1);
  EXPECT_EQ(delivered, 1);
}

TEST(Port, AFullRingParksMessagesInOrderAndClaimsDontOvertake) {
  Host host(2, 8);
  Port& sender = host.port(0);
  int claimed = 0;
  std::uint64_t number = 0;
  while (Slot* slot = sender.claim(1)) {
    static_cast<void>(slot);
    post_letter(sender, {0, 1, number++, 0, 0});
    ++claimed;
  }
  EXPECT_EQ(claimed, 8);
  for (unsigned i = 0; i < 20; ++i) post_letter(sender, {0, 1, number++, i % 2 * 64, 0});  // bodies and blocks
  EXPECT_EQ(sender.parked(), 20u);
  EXPECT_EQ(sender.parked(1), 20u);
  std::uint64_t expected = 0;
  auto sink = [&](std::uint64_t meta, const void* body, int source) {
    Letter letter;
    EXPECT_TRUE(read_letter(host.port(1), meta, body, source, letter));
    EXPECT_EQ(letter.number, expected++);
  };
  auto none = [](std::uint64_t, const void*, int) {};
  while (expected < 4) host.port(1).poll(sink, 1);
  EXPECT_EQ(sender.claim(1), nullptr) << "parked messages go first";
  EXPECT_LT(sender.parked(), 20u) << "who claims sends them: one that sends for long doesn't poll";
  while (expected < number) {
    host.port(1).poll(sink, 3);
    sender.poll(none, 1);
  }
  EXPECT_EQ(sender.parked(), 0u);
  EXPECT_NE(sender.claim(1), nullptr);
}

TEST(Port, APollTakesNoMoreThanItsBudget) {
  Host host(2);
  for (std::uint64_t i = 0; i < 100; ++i) post_letter(host.port(0), {0, 1, i, 0, 0});
  int total = 0;
  auto none = [](std::uint64_t, const void*, int) {};
  while (int now = host.port(1).poll(none, 7)) {
    EXPECT_LE(now, 7);
    total += now;
  }
  EXPECT_EQ(total, 100);
}

TEST(Port, ASinkMayPollItself) {
  Host host(2, 16);
  for (std::uint64_t i = 0; i < 12; ++i) post_letter(host.port(0), {0, 1, i, 0, 0});
  std::uint64_t expected = 0;
  int depth = 0;
  std::function<void(std::uint64_t, const void*, int)> sink = [&](std::uint64_t meta, const void* body, int source) {
    Letter before, after;
    EXPECT_TRUE(read_letter(host.port(1), meta, body, source, before));
    EXPECT_EQ(before.number, expected++);
    if (++depth < 6) host.port(1).poll(sink, 2);
    --depth;
    EXPECT_TRUE(read_letter(host.port(1), meta, body, source, after)) << "the body was overwritten meanwhile";
    EXPECT_EQ(after.number, before.number);
  };
  while (host.port(1).poll(sink, 4) > 0 || expected < 12) {
  }
  EXPECT_EQ(expected, 12u);
}

// All to all, inline and blocks mixed, in order for each pair and each exactly once.
void all_to_all(int pes, std::uint32_t capacity, std::uint64_t letters) {
  Host host(pes, capacity);
  std::atomic<int> finished{0};
  std::atomic<int> wrong{0};
  host.run([&](int pe) {
    Port& port = host.port(pe);
    std::mt19937_64 random(static_cast<std::uint64_t>(pe) + 17);
    std::vector<std::uint64_t> next(static_cast<std::size_t>(pes), 0);
    std::uint64_t received = 0;
    tests::Waiting waiting;
    auto sink = [&](std::uint64_t meta, const void* body, int source) {
      Letter letter;
      if (!read_letter(port, meta, body, source, letter)) wrong.fetch_add(1);
      if (letter.number != next[letter.source]++) wrong.fetch_add(1);
      ++received;
    };
    for (std::uint64_t i = 0; i < letters; ++i) {
      for (int to = 0; to < pes; ++to) {
        std::uint64_t bytes = random() % 4 == 0 ? 64 + random() % 1000 : 0;
        post_letter(port, {static_cast<unsigned>(pe), static_cast<unsigned>(to), i, bytes, 0});
      }
      port.poll(sink, 1 + static_cast<int>(random() % 20));
      while (port.parked() > 200) {
        if (port.poll(sink, 50) == 0) waiting.again();
      }
    }
    bool counted = false;
    while (finished.load() < pes) {
      if (port.poll(sink, 50) == 0) waiting.again();
      if (!counted && received == letters * static_cast<std::uint64_t>(pes) && port.parked() == 0) {
        counted = true;
        finished.fetch_add(1);
      }
    }
    if (received != letters * static_cast<std::uint64_t>(pes)) wrong.fetch_add(1);
    port.heap().flush_returns();
  });
  EXPECT_EQ(wrong.load(), 0);
  for (int pe = 0; pe < pes; ++pe) {
    host.heap(pe).take_returns();
    EXPECT_EQ(host.heap(pe).statistics().live_blocks, 0u);
  }
}

TEST(Port, AllToAllThroughRingsOfFourSlots) { all_to_all(3, 4, 20'000 / static_cast<unsigned>(kSlower)); }
TEST(Port, AllToAllThroughRingsOfDefaultSize) { all_to_all(2, 0, 100'000 / static_cast<unsigned>(kSlower)); }
TEST(Port, AllToAllOfManySendersGoesByTheBitmap) {
  all_to_all(Inbox::kDirectRings + 8, 16, 400 / static_cast<unsigned>(kSlower));
}

TEST(Port, LapNumbersWrapWithoutConfusion) {
  Host host(2, 4);
  std::uint64_t expected = 0;
  auto sink = [&](std::uint64_t meta, const void* body, int source) {
    Letter letter;
    ASSERT_TRUE(read_letter(host.port(1), meta, body, source, letter));
    ASSERT_EQ(letter.number, expected++);
  };
  // More laps than a lap number can count, with every fill of the ring.
  for (std::uint64_t number = 0; number < 4 * 128 * 6;) {
    for (std::uint64_t fill = number % 5; fill > 0 && host.port(0).claim(1) != nullptr; --fill) {
      post_letter(host.port(0), {0, 1, number++, 0, 0});
    }
    if (number % 5 == 0) post_letter(host.port(0), {0, 1, number++, 0, 0});
    while (host.port(1).poll(sink, 10) > 0) {
    }
    host.port(0).poll(sink, 0);
  }
}

// One letter to and fro; the one that waits sleeps after a random while, with no deadline: a lost wake-up would hang.
TEST(Port, NoWakeUpIsLost) {
  const int kRounds = 50'000 / kSlower;
  Host host(2);
  host.run([&](int pe) {
    Port& port = host.port(pe);
    std::mt19937_64 random(static_cast<std::uint64_t>(pe) + 3);
    auto sink = [](std::uint64_t, const void*, int) {};
    for (int i = 0; i < kRounds; ++i) {
      if (pe == 0) post_letter(port, {0, 1, 0, 0, 0});
      for (std::uint64_t spins = random() % 3 == 0 ? 0 : random() % 200;; --spins) {
        if (port.poll(sink, 1) > 0) break;
        if (spins == 0) {
          port.sleep(kForever);
          ++spins;
        }
      }
      if (pe == 1) post_letter(port, {1, 0, 0, 0, 0});
    }
  });
}

// The same with a full ring: the sender sleeps on parked blocks, the receiver on an empty ring.
TEST(Port, ASenderThatSleepsOnAFullRingIsWoken) {
  const std::uint64_t kLetters = 20'000 / static_cast<unsigned>(kSlower);
  Host host(2, 4);
  host.run([&](int pe) {
    Port& port = host.port(pe);
    std::mt19937_64 random(static_cast<std::uint64_t>(pe) + 5);
    std::uint64_t expected = 0;
    auto sink = [&](std::uint64_t meta, const void* body, int source) {
      Letter letter;
      EXPECT_TRUE(read_letter(port, meta, body, source, letter));
      EXPECT_EQ(letter.number, expected++);
    };
    if (pe == 0) {
      for (std::uint64_t i = 0; i < kLetters; ++i) {
        post_letter(port, {0, 1, i, 64, 0});
        while (port.parked() > 8) {
          port.poll(sink, 1);
          if (port.parked() > 8) port.sleep(kForever);
        }
      }
      while (port.parked() > 0) {
        port.poll(sink, 1);
        if (port.parked() > 0) port.sleep(kForever);
      }
      return;
    }
    while (expected < kLetters) {
      if (port.poll(sink, 1 + static_cast<int>(random() % 4)) == 0 && random() % 4 == 0) port.sleep(kForever);
    }
    port.heap().flush_returns();
  });
}

TEST(Port, WakeEndsASleepEvenIfItComesFirst) {
  Host host(2);
  host.port(1).wake(0);
  host.port(0).sleep(kForever);
  std::atomic<bool> news{false};
  const int kRounds = 5'000 / kSlower;
  std::atomic<int> round{0};
  host.run([&](int pe) {
    for (int i = 0; i < kRounds; ++i) {
      if (pe == 1) {
        while (round.load() != i) {
        }
        news.store(true);
        host.port(1).wake(0);
      } else {
        while (!news.exchange(false)) host.port(0).sleep(kForever);
        round.store(i + 1);
      }
    }
  });
}

TEST(Port, ASleepEndsAtItsDeadline) {
  Host host(1);
  std::uint64_t begin = clock::now_ns();
  host.port(0).sleep(begin + 3'000'000);
  EXPECT_GE(clock::now_ns() + 10'000, begin + 3'000'000);
  host.port(0).sleep(begin);  // already past
}

TEST(Port, ACarrierWakesForAnyOfItsPes) {
  Host host(4, 0, 2);
  const int kRounds = 5'000 / kSlower;
  auto carrier = [&](int first) {
    std::uint64_t got[2] = {0, 0};
    for (int i = 0; i < kRounds; ++i) {
      int rank = i % 2;
      if (first == 0)
        post_letter(host.port(rank), {static_cast<unsigned>(rank), static_cast<unsigned>(2 + rank),
                                      static_cast<std::uint64_t>(i), 0, 0});
      auto sink = [&](std::uint64_t, const void*, int) { ++got[rank]; };
      std::uint64_t before = got[rank];
      while (host.port(first + rank).poll(sink, 1), got[rank] == before) host.port(first + 1 - rank).sleep(kForever);
      if (first == 2)
        post_letter(host.port(2 + rank), {static_cast<unsigned>(2 + rank), static_cast<unsigned>(rank),
                                          static_cast<std::uint64_t>(i), 0, 0});
    }
  };
  std::thread other([&] { carrier(2); });
  carrier(0);
  other.join();
}

}  // namespace
}  // namespace periapt::host
