// All schedules of the lock-free code of machine/host and machine/shm, with few threads and few messages: ports that
// sleep, rings that fill up, senders that begin, blocks that come back, half cells. It is the code itself that runs
// (explore.h says how); scripts/mutate takes out, one after the other, the things that make it right, and these tests
// fail.
#include "tests/shm/explore.h"

// Now, behind explore.h.
#include "machine/host/heap.cpp"
#include "machine/host/heap_sweep.cpp"
#include "machine/host/inbox.cpp"
#include "machine/shm/channel.h"
#include "tests/host/host.h"

namespace periapt {

// What sleeps have asked of the system, and what happens during them, where no explorer runs.
struct System {
  int barriers = 0;
  std::vector<std::uint64_t> sleeps;  // their limits
  std::function<void(std::uint64_t limit_ns)> meanwhile;
};
static System the_system;

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint64_t limit_ns, bool) {
  if (explore::Explorer::current() == nullptr) {
    the_system.sleeps.push_back(limit_ns);
    return the_system.meanwhile(limit_ns);
  }
  if (limit_ns != kNoLimit) return;  // its time is up before another thread comes on, the worst that can be
  explore::Explorer::current()->sleep_while(word.address(), expected);
}
void futex_wake_one(std::atomic<std::uint32_t>& word, bool) {
  if (explore::Explorer* explorer = explore::Explorer::current()) explorer->wake_one(word.address());
}

namespace host {

bool register_membarrier(bool) { return true; }
void membarrier(bool) {
  ++the_system.barriers;
  if (explore::Explorer* explorer = explore::Explorer::current()) explorer->fence_all();
}

}  // namespace host

namespace shm {

namespace {

using explore::Explorer;
using host::HeapStatistics;
using host::Host;
using host::Letter;
using host::post_letter;
using host::read_letter;
constexpr std::uint64_t kForever = ~std::uint64_t{0};

// ---- the explorer finds what it is for

struct Words {
  std::atomic<std::uint32_t> mine{0}, theirs{0};
};

// Two that each write a word and read the other's: without a fence both may read the old one.
Explorer::Findings store_then_load(bool with_fence) {
  return explore::explore(2, [with_fence](Explorer& threads) {
    auto words = std::make_shared<Words>();
    auto seen = std::make_shared<std::pair<std::uint32_t, std::uint32_t>>();
    threads.add([=] {
      words->mine.store(1, std::memory_order_relaxed);
      if (with_fence) std::atomic_thread_fence(std::memory_order_seq_cst);
      seen->first = words->theirs.load(std::memory_order_relaxed);
    });
    threads.add([=] {
      words->theirs.store(1, std::memory_order_relaxed);
      if (with_fence) std::atomic_thread_fence(std::memory_order_seq_cst);
      seen->second = words->mine.load(std::memory_order_relaxed);
    });
    threads.at_end([=] { return seen->first + seen->second != 0; });
  });
}

TEST(Explorer, AStoreMayBeLaterThanTheNextLoadUnlessAFenceLiesBetween) {
  EXPECT_GT(store_then_load(false).wrong, 0u);
  EXPECT_EQ(store_then_load(true).wrong, 0u);
}

TEST(Explorer, ASleeperThatNobodyWakesIsFound) {
  Explorer::Findings found = explore::explore(1, [](Explorer& threads) {
    auto words = std::make_shared<Words>();
    threads.add([=] { futex_wait(words->mine, 0, kForever, false); });
    threads.add([=] { words->mine.store(1); });
  });
  EXPECT_GT(found.stuck, 0u);
}

void expect_clean(const Explorer::Findings& found, unsigned runs_least) {
  EXPECT_EQ(found.wrong, 0u) << "in run " << found.runs;
  EXPECT_EQ(found.stuck, 0u) << "in run " << found.runs;
  EXPECT_GE(found.runs, std::min(runs_least, explore::kRunsMost)) << "nothing was explored";
}

// ---- ports

struct Ports {
  Ports(Explorer& threads, int pes, std::uint32_t slots) : threads(threads), host(pes, slots), next(pes) {}
  Explorer& threads;
  Host host;
  std::vector<std::uint64_t> next;  // letter that is due at PE 0, by sender
  int taken = 0;

  void send(int pe, std::uint64_t count) {
    for (std::uint64_t n = 0; n < count; ++n) post_letter(host.port(pe), {static_cast<std::uint32_t>(pe), 0, n, 0, 0});
  }
  // As a PE does it that has parked something and nothing else to do.
  void send_all(int pe, std::uint64_t count) {
    send(pe, count);
    host::Port& port = host.port(pe);
    while (port.parked() != 0) {
      port.poll([](std::uint64_t, const void*, int) {}, 10);
      if (port.parked() != 0) port.sleep(kForever);
    }
  }
  int take() {
    return host.port(0).poll(
        [&](std::uint64_t meta, const void* body, int source) {
          Letter letter{};
          threads.expect(read_letter(host.port(0), meta, body, source, letter));
          threads.expect(letter.number == next[static_cast<std::size_t>(source)]++);
          ++taken;
        },
        10);
  }
  void take_all(int count) {
    while (taken < count)
      if (take() == 0) host.port(0).sleep(kForever);
  }
};

// The ring is made, announced and adopted, too.
TEST(Schedules, ASleepingReceiverIsAlwaysWoken) {
  expect_clean(explore::explore(3,
                                [](Explorer& threads) {
                                  auto ports = std::make_shared<Ports>(threads, 2, 4);
                                  threads.add([=] { ports->take_all(2); });
                                  threads.add([=] { ports->send(1, 2); });
                                }),
               1000);
}

TEST(Schedules, TwoSendersWakeOneReceiver) {
  expect_clean(explore::explore(2,
                                [](Explorer& threads) {
                                  auto ports = std::make_shared<Ports>(threads, 3, 4);
                                  threads.add([=] { ports->take_all(2); });
                                  threads.add([=] { ports->send(1, 1); });
                                  threads.add([=] { ports->send(2, 1); });
                                }),
               1000);
}

TEST(Schedules, ASenderThatWaitsForRoomIsAlwaysWoken) {
  expect_clean(explore::explore(2,
                                [](Explorer& threads) {
                                  auto ports = std::make_shared<Ports>(threads, 2, 2);
                                  threads.add([=] { ports->send_all(1, 4); });
                                  threads.add([=] { ports->take_all(4); });
                                }),
               1000);
}

TEST(Schedules, NewsEndASleepThatIsJustBeginning) {
  expect_clean(explore::explore(3,
                                [](Explorer& threads) {
                                  auto ports = std::make_shared<Ports>(threads, 2, 4);
                                  threads.add([=] { ports->host.port(0).sleep(kForever); });
                                  threads.add([=] { ports->host.port(1).wake(0); });
                                }),
               10);
}

// On a host of 64 cpus whose PEs went idle and were woken all the time, each barrier took milliseconds.
TEST(Sleep, AShortOneNeedsNoBarrierAndALongOneHasOne) {
  Host host(2, 4);
  std::uint64_t sent = 0;
  for (const bool in_time : {true, false}) {
    the_system = {};
    the_system.meanwhile = [&](std::uint64_t limit_ns) {
      if (in_time || limit_ns == kNoLimit) post_letter(host.port(1), {1, 0, sent++, 0, 0});
    };
    host.port(0).sleep(kForever);
    EXPECT_EQ(the_system.barriers, in_time ? 0 : 1);
    ASSERT_EQ(the_system.sleeps.size(), in_time ? 1u : 3u);
    EXPECT_GE(the_system.sleeps.front(), 100'000u);
    EXPECT_LE(the_system.sleeps.front(), 10'000'000u);
    EXPECT_EQ(the_system.sleeps.back() == kNoLimit, !in_time);
    EXPECT_EQ(host.port(0).poll([](std::uint64_t, const void*, int) {}, 10), 1);
  }
  // None behind a deadline that passes during the short ones.
  the_system = {};
  the_system.meanwhile = [](std::uint64_t limit_ns) { ::usleep(static_cast<useconds_t>(limit_ns / 1000 + 1)); };
  host.port(0).sleep(clock::now_ns() + 2'000'000);
  EXPECT_EQ(the_system.barriers, 0);
}

// ---- heaps

struct Heaps {
  explicit Heaps(int pes) : host(pes) {}
  Host host;
  std::vector<void*> blocks;
  bool whole(std::uint64_t returned) {
    host.heap(0).take_returns();
    const HeapStatistics now = host.heap(0).statistics();
    return now.returned_blocks == returned && now.live_blocks == 0;
  }
};

TEST(Schedules, BlocksThatTwoGiveBackAreAllTakenBackOnce) {
  expect_clean(
      explore::explore(3,
                       [](Explorer& threads) {
                         auto heaps = std::make_shared<Heaps>(3);
                         for (int i = 0; i < 4; ++i) heaps->blocks.push_back(heaps->host.heap(0).allocate(40));
                         threads.add([=] {
                           heaps->host.heap(0).take_returns();
                           heaps->host.heap(0).take_returns();
                         });
                         for (int pe : {1, 2}) {
                           threads.add([=] {
                             for (int i : {0, 1})
                               heaps->host.heap(pe).release(heaps->blocks[static_cast<std::size_t>(2 * pe - 2 + i)]);
                             heaps->host.heap(pe).flush_returns();
                           });
                         }
                         threads.at_end([=] { return heaps->whole(4); });
                       }),
      100);
}

TEST(Schedules, ABlockThatThreeHoldComesBackOnce) {
  expect_clean(explore::explore(3,
                                [](Explorer& threads) {
                                  auto heaps = std::make_shared<Heaps>(3);
                                  void* block = heaps->host.heap(0).allocate(40);
                                  host::Heap::add_reference(block, 2);
                                  for (int pe : {0, 1, 2}) {
                                    threads.add([=] {
                                      heaps->host.heap(pe).release(block);
                                      heaps->host.heap(pe).flush_returns();
                                    });
                                  }
                                  threads.at_end([=] {
                                    heaps->host.heap(0).take_returns();
                                    return heaps->host.heap(0).statistics().live_blocks == 0;
                                  });
                                }),
               100);
}

// ---- channels

struct Pipe {
  explicit Pipe(Channel& channel) : writer(channel), reader(channel) {}
  ChannelWriter writer;
  ChannelReader reader;
};

// A channel is made once, and is as new for each run.
Channel& fresh_channel() {
  static Channel& channel = *new Channel;
  std::memset(static_cast<void*>(&channel.head), 0, sizeof channel.head);
  for (unsigned i = 0; i < 8; ++i) std::memset(static_cast<void*>(&channel.cells[i]), 0, sizeof(host::Slot));
  return channel;
}

// Numbers in halves of lines and in whole ones, in every mixture of four: 0, a half; 1, a whole one.
TEST(Schedules, NoHalfOfALineIsLeftOut) {
  for (unsigned kinds = 0; kinds < 16; ++kinds) {
    expect_clean(explore::explore(2,
                                  [kinds](Explorer& threads) {
                                    auto pipe = std::make_shared<Pipe>(fresh_channel());
                                    threads.add([=] {
                                      for (unsigned i = 0; i < 4; ++i) {
                                        if (kinds >> i & 1)
                                          pipe->writer.publish(pipe->writer.claim(), 2 * i + 1, false);
                                        else
                                          pipe->writer.publish(pipe->writer.claim_half(), 2 * i, false);
                                      }
                                    });
                                    threads.add([=, &threads] {
                                      for (unsigned due = 0; due < 4;) {
                                        const HalfCell* cell = pipe->reader.peek();
                                        if (!cell) {
                                          threads.give_way();
                                          continue;
                                        }
                                        const std::uint64_t meta = ChannelReader::meta(*cell);
                                        threads.expect(meta / 2 == due++ && meta % 2 == (kinds >> (meta / 2) & 1));
                                        meta % 2 ? pipe->reader.consume() : pipe->reader.consume_half();
                                      }
                                    });
                                  }),
                 20);
  }
}

}  // namespace
}  // namespace shm
}  // namespace periapt
