// The message memory of a PE: classes, reuse, references, blocks that come home from other PEs, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>

#include "tests/host/host.h"
#include "tests/host/waiting.h"

namespace periapt::host {
namespace {

TEST(SizeClass, EverySizeFitsItsClassAndWastesLittle) {
  for (unsigned c = 0; c < size_class::kCount; ++c) {
    EXPECT_EQ(size_class::of(size_class::bytes(c)), c);
    EXPECT_EQ(size_class::bytes(c) % 64, 0u);
    if (c > 0) {
      EXPECT_EQ(size_class::of(size_class::bytes(c - 1) + 1), c);
      EXPECT_GT(size_class::bytes(c), size_class::bytes(c - 1));
    }
    if (c > size_class::kLinear) {
      EXPECT_LE(size_class::bytes(c) * 8, size_class::bytes(c - 1) * 9);
    }
    if (size_class::bytes(c) > size_class::kBig) {
      EXPECT_EQ(size_class::bytes(c) % platform::kPage, 0u);
    }
  }
  EXPECT_EQ(size_class::kLargest, std::size_t{64} << 30);
}

TEST(Heap, PlacesBytesBehindTheHeaderOfALine) {
  Host host(1);
  for (std::size_t bytes : {0, 1, 48, 49, 1000, 5000, 300'000, 10'000'000}) {
    void* block = host.heap(0).allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 16u);
    EXPECT_GE(Heap::capacity(block), bytes);
    EXPECT_EQ(Heap::owner(block), 0);
    EXPECT_TRUE(host.arena().contains(block));
    std::memset(block, 1, bytes);
  }
}

TEST(Heap, ReusesTheLastReleasedBlockFirst) {
  Host host(1);
  Heap& heap = host.heap(0);
  for (std::size_t bytes : {100, 1'000'000}) {
    void* a = heap.allocate(bytes);
    void* b = heap.allocate(bytes);
    heap.release(a);
    heap.release(b);
    EXPECT_EQ(heap.allocate(bytes), b);
    EXPECT_EQ(heap.allocate(bytes), a);
  }
}

TEST(Heap, LiveBlocksNeverOverlap) {
  Host host(1);
  Heap& heap = host.heap(0);
  std::mt19937_64 random(2);
  struct Live {
    unsigned char* bytes;
    std::size_t size;
    unsigned char mark;
  };
  std::vector<Live> live;
  for (int i = 0; i < 20'000; ++i) {
    if (live.size() < 200 && random() % 3 != 0) {
      std::size_t size = std::size_t{1} << (random() % 17);
      size += random() % size;
      Live block{static_cast<unsigned char*>(heap.allocate(size)), size, static_cast<unsigned char>(i)};
      std::memset(block.bytes, block.mark, block.size);
      live.push_back(block);
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      Live block = live.back();
      live.pop_back();
      ASSERT_EQ(block.bytes[0], block.mark);
      ASSERT_EQ(block.bytes[block.size / 2], block.mark);
      ASSERT_EQ(block.bytes[block.size - 1], block.mark);
      heap.release(block.bytes);
    }
  }
  for (Live& block : live) heap.release(block.bytes);
  EXPECT_EQ(heap.statistics().live_blocks, 0u);
  EXPECT_EQ(heap.statistics().live_bytes, 0u);
}

TEST(Heap, ABlockGoesBackWithItsLastReference) {
  Host host(1);
  Heap& heap = host.heap(0);
  void* block = heap.allocate(100);
  EXPECT_FALSE(Heap::is_shared(block));
  Heap::add_reference(block, 2);
  EXPECT_TRUE(Heap::is_shared(block));
  heap.release(block);
  heap.release(block);
  EXPECT_FALSE(Heap::is_shared(block));
  EXPECT_EQ(heap.statistics().live_blocks, 1u);
  heap.release(block);
  EXPECT_EQ(heap.statistics().live_blocks, 0u);
  void* again = heap.allocate(100);
  EXPECT_EQ(again, block);
  EXPECT_FALSE(Heap::is_shared(again));
}

TEST(Heap, UniqueCopiesOnlyWhatIsShared) {
  Host host(1);
  Heap& heap = host.heap(0);
  char* block = static_cast<char*>(heap.allocate(100));
  std::strcpy(block, "text");
  EXPECT_EQ(heap.unique(block, 5), block);
  Heap::add_reference(block);
  char* copy = static_cast<char*>(heap.unique(block, 5));
  EXPECT_NE(copy, block);
  EXPECT_STREQ(copy, "text");
  EXPECT_FALSE(Heap::is_shared(block));
  heap.release(copy);
  heap.release(block);
}

TEST(Heap, BlocksComeHomeInBatches) {
  Host host(2);
  for (std::size_t bytes : {20, 100, 200, 1000}) {
    std::set<void*> blocks;
    for (int i = 0; i < 100; ++i) blocks.insert(host.heap(0).allocate(bytes));
    for (void* block : blocks) host.heap(1).release(block);
    host.heap(1).flush_returns();
    EXPECT_EQ(host.heap(1).statistics().pending_returns, 0u);
    host.heap(0).take_returns();
    EXPECT_EQ(host.heap(0).statistics().live_blocks, 0u);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(blocks.count(host.heap(0).allocate(bytes)), 1u);
    for (void* block : blocks) host.heap(0).release(block);
  }
  HeapStatistics statistics = host.heap(0).statistics();
  EXPECT_EQ(statistics.returned_blocks, 400u);
  EXPECT_LE(statistics.return_batches, 9u);
}

TEST(Heap, AFewReturnsWaitForTheFlush) {
  Host host(2);
  void* block = host.heap(0).allocate(100);
  host.heap(1).release(block);
  host.heap(0).take_returns();
  EXPECT_EQ(host.heap(0).statistics().live_blocks, 1u);
  EXPECT_EQ(host.heap(1).statistics().pending_returns, 1u);
  host.heap(1).flush_returns();
  host.heap(1).flush_returns();
  host.heap(0).take_returns();
  EXPECT_EQ(host.heap(0).statistics().live_blocks, 0u);
}

TEST(Heap, LargeBlocksThatComeBackAreUsedInTurn) {
  Host host(2);
  std::map<void*, int> uses;
  for (int i = 0; i < 40; ++i) {
    void* block = host.heap(0).allocate(100'000);
    ++uses[block];
    host.heap(1).release(block);
    host.heap(1).flush_returns();
  }
  EXPECT_EQ(uses.size(), 8u);
  for (const auto& [block, times] : uses) EXPECT_EQ(times, 5);
}

TEST(Heap, BigBlocksComeHomeAtOnce) {
  Host host(2);
  void* block = host.heap(0).allocate(1'000'000);
  host.heap(1).release(block);
  EXPECT_EQ(host.heap(0).allocate(1'000'000), block);
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * platform::kPage;
}

TEST(Heap, PagesOfFreeBigBlocksGoBackBeyondTheLimit) {
  if (platform::kThreadSanitizer || platform::kAddressSanitizer) GTEST_SKIP() << "sanitizers keep memory of their own";
  Host host(1);
  Heap& heap = host.heap(0);
  constexpr std::size_t kSize = std::size_t{40} << 20;
  heap.set_cache_limit(kSize + (kSize >> 1));
  void* blocks[4];
  for (void*& block : blocks) std::memset(block = heap.allocate(kSize), 1, kSize);
  std::size_t full = resident_bytes();
  for (void* block : blocks) heap.release(block);
  EXPECT_LT(resident_bytes(), full - 2 * kSize);
  EXPECT_LE(heap.statistics().cached_big_bytes, kSize + (kSize >> 1));
  for (void*& block : blocks) std::memset(block = heap.allocate(kSize), 2, kSize);
  for (void* block : blocks) heap.release(block);
}

// Messages that are all under way at once, and have been released.
void flood(Heap& heap, std::size_t count, std::size_t bytes) {
  std::vector<void*> blocks(count);
  for (void*& block : blocks) std::memset(block = heap.allocate(bytes), 1, bytes);
  for (void* block : blocks) heap.release(block);
}

TEST(Heap, AStreamOfBigBlocksKeepsItsPages) {
  Host host(1);
  Heap& heap = host.heap(0);
  constexpr std::size_t kSize = std::size_t{1} << 20, kCount = 40;
  heap.set_cache_limit(~std::size_t{0});
  flood(heap, kCount, kSize);
  EXPECT_FALSE(heap.trim());
  const std::uint64_t calls = heap.statistics().page_calls;
  for (int round = 0; round < 10; ++round) {
    flood(heap, kCount, kSize);
    EXPECT_FALSE(heap.trim());
  }
  EXPECT_EQ(heap.statistics().page_calls, calls);
}

TEST(Heap, BigBlocksThatNothingHasNeededGiveTheirPagesBack) {
  Host host(1);
  Heap& heap = host.heap(0);
  constexpr std::size_t kSize = std::size_t{1} << 20, kCount = 100, kNeeded = 10;
  heap.set_cache_limit(~std::size_t{0});
  flood(heap, kCount, kSize);
  flood(heap, 3, 5 * kSize);
  const std::size_t resident = resident_bytes();
  const std::size_t flooded = heap.statistics().cached_big_bytes;
  EXPECT_FALSE(heap.trim());  // all have been needed since the last one
  EXPECT_EQ(heap.statistics().cached_big_bytes, flooded);
  flood(heap, kNeeded, kSize);
  while (heap.trim()) {  // bit by bit
  }
  EXPECT_LT(heap.statistics().cached_big_bytes, (kNeeded + 1) * kSize * 5 / 4);
  EXPECT_GE(heap.statistics().cached_big_bytes, kNeeded * kSize);
  EXPECT_TRUE(heap.trimmable());
  while (heap.trim()) {
  }
  EXPECT_EQ(heap.statistics().cached_big_bytes, 0u);
  EXPECT_FALSE(heap.trimmable());
  if (!platform::kThreadSanitizer && !platform::kAddressSanitizer) {
    EXPECT_LT(resident_bytes(), resident - 90 * kSize);
  }
  flood(heap, kCount, kSize);  // as good as new
}

TEST(Heap, AFloodOfSmallBlocksGivesItsPagesBack) {
  Host host(1);
  Heap& heap = host.heap(0);
  constexpr std::size_t kCount = 200000, kEvery = 1000;
  std::mt19937 chance(4);
  const auto size = [&] { return std::size_t{40} + chance() % 700; };
  std::vector<void*> blocks(kCount), kept;
  for (int round = 0; round < 3; ++round) {
    const std::size_t before = resident_bytes();
    std::size_t bytes = 0;
    for (void*& block : blocks) {
      const std::size_t one = size();
      std::memset(block = heap.allocate(one), 1, one);
      bytes += one;
    }
    const std::size_t full = resident_bytes();
    for (std::size_t i = 0; i < kCount; ++i) {
      if (i % kEvery != 0) {
        heap.release(blocks[i]);
        continue;
      }
      std::memset(blocks[i], 'k', 40);
      kept.push_back(blocks[i]);
    }
    int calls = 0;
    for (; heap.trimmable(); ++calls) heap.trim();
    EXPECT_GT(calls, 3);  // a little at a time
    if (!platform::kThreadSanitizer && !platform::kAddressSanitizer) {
      if (round == 0) {
        EXPECT_GT(full, before + bytes * 9 / 10);
      }
      EXPECT_LT(resident_bytes(), full - bytes / 2);
    }
    for (void* block : kept)
      for (std::size_t i = 0; i < 40; ++i) ASSERT_EQ(static_cast<char*>(block)[i], 'k');
    // Blocks of all classes can be carved of what came back.
    const std::uint64_t carved = heap.statistics().carved_bytes;
    flood(heap, 100, 200 << 10);
    EXPECT_EQ(heap.statistics().carved_bytes, carved);
  }
  for (void* block : kept) heap.release(block);
  EXPECT_EQ(heap.statistics().live_blocks, 0u);
}

TEST(Heap, SmallBlocksThatAreNeededAgainAndAgainKeepTheirPages) {
  Host host(1);
  Heap& heap = host.heap(0);
  flood(heap, 100000, 200);
  heap.trim();
  const std::uint64_t calls = heap.statistics().page_calls;
  for (int round = 0; round < 10; ++round) {
    flood(heap, 100000, 200);
    EXPECT_FALSE(heap.trim());
  }
  EXPECT_EQ(heap.statistics().page_calls, calls);
}

TEST(Heap, PermanentMemoryIsZeroAndAligned) {
  Host host(1);
  std::memset(host.heap(0).allocate(1000), 1, 1000);
  auto* memory = static_cast<unsigned char*>(host.heap(0).allocate_permanent(10'000, 4096));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 4096, 0u);
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(memory[i], 0);
}

// Every thread allocates, passes on, shares and releases; at the end every block is home.
TEST(Heap, NothingIsLostOrDoubledWhenAllReleaseEachOthersBlocks) {
  constexpr int kPes = 4;
  const int kRounds = platform::kThreadSanitizer ? 3'000 : 30'000;
  Host host(kPes, 64);
  std::atomic<long> sent{0}, received{0};
  std::atomic<int> done{0};
  host.run([&](int pe) {
    Port& port = host.port(pe);
    Heap& heap = host.heap(pe);
    std::mt19937_64 random(static_cast<std::uint64_t>(pe));
    tests::Waiting waiting;
    auto sink = [&](std::uint64_t, const void* body, int) {
      std::uint64_t* block;
      std::memcpy(&block, body, sizeof(block));
      if (block[0] != (reinterpret_cast<std::uintptr_t>(block) ^ 0xABCD)) ADD_FAILURE() << "a damaged block";
      received.fetch_add(1);
      heap.release(block);
    };
    for (int i = 0; i < kRounds; ++i) {
      auto* block = static_cast<std::uint64_t*>(heap.allocate(64 << random() % 6));
      block[0] = reinterpret_cast<std::uintptr_t>(block) ^ 0xABCD;
      // To some of the others; one of them gets our own reference.
      unsigned holders = 1 + static_cast<unsigned>(random() % (kPes - 1));
      if (holders > 1) Heap::add_reference(block, holders - 1);
      for (unsigned h = 0; h < holders; ++h) port.send((pe + 1 + static_cast<int>(h)) % kPes, 1, block);
      sent.fetch_add(holders);
      while (port.poll(sink, 16) > 0 || port.parked() > 100) waiting.again();
    }
    while (port.parked() > 0) port.poll(sink, 16);
    done.fetch_add(1);
    while (done.load() < kPes || received.load() < sent.load()) {
      if (port.poll(sink, 16) == 0) waiting.again();
    }
    heap.flush_returns();
  });
  EXPECT_EQ(sent.load(), received.load());
  for (int pe = 0; pe < kPes; ++pe) {
    host.heap(pe).take_returns();
    EXPECT_EQ(host.heap(pe).statistics().live_blocks, 0u) << "of PE " << pe;
  }
}

using HeapDeathTest = ::testing::Test;

TEST(HeapDeathTest, RefusesASecondRelease) {
  Host host(1);
  void* block = host.heap(0).allocate(100);
  host.heap(0).release(block);
  EXPECT_EXIT(host.heap(0).release(block), ::testing::ExitedWithCode(1), "released twice");
}

TEST(HeapDeathTest, RefusesABlockWhoseHeaderWasOverwritten) {
  if (platform::kAddressSanitizer) GTEST_SKIP() << "AddressSanitizer reports the write itself";
  Host host(1);
  char* block = static_cast<char*>(host.heap(0).allocate(100));
  std::memset(block - 16, 0, 16);
  EXPECT_EXIT(host.heap(0).release(block), ::testing::ExitedWithCode(1), "overwritten");
}

TEST(HeapDeathTest, RefusesASizeThatIsNone) {
  Host host(1);
  EXPECT_EXIT(host.heap(0).allocate(static_cast<std::size_t>(-5)), ::testing::ExitedWithCode(1),
              "largest possible is 64 GiB");
}

TEST(HeapDeathTest, SaysWhoHoldsTheMemoryWhenItIsUsedUp) {
  Host host(1);
  ReturnStack returns{};
  ReturnStack* stack = &returns;
  HeapConfig config;
  config.pes = 1;
  config.begin = host.arena().slice(0) + (std::size_t{1} << 30);
  config.end = config.begin + (std::size_t{32} << 20);
  config.return_stacks = &stack;
  Heap heap(config);
  void* large = heap.allocate(std::size_t{20} << 20);
  heap.release(large);
  EXPECT_EQ(heap.allocate(std::size_t{16} << 20), large) << "a free block of a larger class serves too";
  EXPECT_EXIT(for (;;) heap.allocate(1000), ::testing::ExitedWithCode(1),
              "no room for a message of 1024 bytes in the 32 MiB");
}

}  // namespace
}  // namespace periapt::host
