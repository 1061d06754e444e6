// The priority queue against the simplest model of it: a list sorted by (priority as a string of words, arrival).
#include "runtime/scheduler/priority_queue.h"

#include <gtest/gtest.h>

#include <climits>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

using periapt::scheduler::Order;
using periapt::scheduler::PriorityKey;
using periapt::scheduler::PriorityQueue;
using periapt::scheduler::Ring;

using Words = std::vector<std::uint32_t>;  // std::vector compares like a priority: word by word, prefix first

TEST(Ring, KeepsOrderAtBothEndsWhileItGrows) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Ring<int, 2> ring;
  std::deque<int> model;
  for (int i = 0; i < 100000; ++i) {
    const bool filling = i % 2000 < 1000;
    switch (random() % (filling ? 3 : 5)) {
      case 0:
        ring.push_back(i), model.push_back(i);
        break;
      case 1:
        ring.push_front(i), model.push_front(i);
        break;
      default:
        if (model.empty()) break;
        ASSERT_EQ(ring.front(), model.front());
        ASSERT_EQ(ring[model.size() - 1], model.back());
        ASSERT_EQ(ring.pop_front(), model.front());
        model.pop_front();
    }
    ASSERT_EQ(ring.size(), model.size());
  }
  ring.release();
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.capacity(), 2u);
}

std::string drain(PriorityQueue<char>& queue) {
  std::string order;
  while (!queue.empty()) {
    const char next = *queue.next();
    order += queue.pop();
    EXPECT_EQ(order.back(), next);
  }
  EXPECT_EQ(queue.next(), nullptr);
  return order;
}

TEST(PriorityQueue, SmallerIntsFirstNoPriorityInTheMiddle) {
  PriorityQueue<char> queue;
  queue.push_int('e', 7);
  queue.push('c');
  queue.push_int('b', -110000000);
  queue.push_int('f', INT_MAX);
  queue.push_int('d', 0);
  queue.push_int('a', INT_MIN);
  EXPECT_EQ(drain(queue), "abcdef");
}

TEST(PriorityQueue, FifoOrLifoWithinOnePriority) {
  PriorityQueue<char> queue;
  queue.push_int('3', 5);
  queue.push_int('4', 5);
  queue.push_int('2', 5, Order::lifo);
  queue.push_int('1', 5, Order::lifo);
  queue.push('b');
  queue.push('a', Order::lifo);
  EXPECT_EQ(drain(queue), "ab1234");
}

TEST(PriorityQueue, BitVectorsCompareAsStrings) {
  PriorityQueue<char> queue;
  const Words low{0x10000000}, low_longer{0x10000000, 0}, deep{0x10000000, 0, 0, 1}, deeper{0x10000000, 0, 0, 2},
      high{0xf0000000};
  queue.push_bits('g', high.data(), 32);
  queue.push_bits('e', deeper.data(), 128);
  queue.push_bits('d', deep.data(), 128);
  queue.push_bits('c', low_longer.data(), 64);
  queue.push_bits('b', low.data(), 20);  // counted in whole words
  queue.push('f');
  queue.push_bits('a', nullptr, 0);  // the empty string is before all
  EXPECT_EQ(drain(queue), "abcdefg");
}

TEST(PriorityQueue, LongsAreSixtyFourBits) {
  PriorityQueue<char> queue;
  queue.push_long('e', LLONG_MAX);
  queue.push_long('d', 3'000'000'000);
  queue.push_long('c', 0);
  queue.push_long('b', -3'000'000'000);
  queue.push_long('a', LLONG_MIN);
  EXPECT_EQ(drain(queue), "abcde");
}

TEST(PriorityQueue, SaysWhatComesNext) {
  PriorityQueue<int> a, b;
  a.push_int(1, 5);
  b.push(2);
  EXPECT_TRUE(b.next_key() < a.next_key());
  a.push_int(3, -5);
  EXPECT_TRUE(a.next_key() < b.next_key());
  EXPECT_TRUE(a.next_key() == PriorityKey::of_int(-5));
  int sum = 0;
  a.for_each([&](int item) { sum += item; });
  EXPECT_EQ(sum, 4);
}

// One bucket of the model for each string, front is next.
struct Model {
  std::map<Words, std::deque<int>> buckets;
  std::size_t size = 0;
  void push(const Words& key, int item, Order order) {
    auto& bucket = buckets[key];
    order == Order::fifo ? bucket.push_back(item) : bucket.push_front(item);
    ++size;
  }
  int pop() {
    const auto first = buckets.begin();
    const int item = first->second.front();
    first->second.pop_front();
    if (first->second.empty()) buckets.erase(first);
    --size;
    return item;
  }
};

TEST(PriorityQueue, BehavesLikeASortedListUnderRandomUse) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const int distinct : {1, 3, 50, 100000}) {
    PriorityQueue<int> queue;
    Model model;
    for (int i = 0; i < 200000; ++i) {
      const bool filling = i / 5000 % 2 == 0;
      if (model.size > 0 && random() % 5 >= (filling ? 4u : 2u)) {
        ASSERT_EQ(queue.pop(), model.pop());
        continue;
      }
      const Order order = random() % 4 == 0 ? Order::lifo : Order::fifo;
      const auto small = [&] { return static_cast<int>(random() % distinct) - distinct / 2; };
      switch (random() % 5) {
        case 0:
          queue.push(i, order);
          model.push({0x80000000u}, i, order);
          break;
        case 1:
        case 2: {
          const int p = small();
          queue.push_int(i, p, order);
          model.push({static_cast<std::uint32_t>(p) + 0x80000000u}, i, order);
          break;
        }
        case 3: {
          const long long p = static_cast<long long>(small()) * (random() % 2 ? 1 : 5'000'000'000);
          queue.push_long(i, p, order);
          const auto u = static_cast<std::uint64_t>(p) + (1ull << 63);
          if (p == 0)
            model.push({0x80000000u}, i, order);
          else
            model.push({static_cast<std::uint32_t>(u >> 32), static_cast<std::uint32_t>(u)}, i, order);
          break;
        }
        default: {
          Words words(random() % 6);
          for (auto& word : words) word = random() % 2 ? 0x80000000u : static_cast<std::uint32_t>(small());
          queue.push_bits(i, words.data(), static_cast<unsigned>(32 * words.size()), order);
          model.push(words, i, order);
        }
      }
      ASSERT_EQ(queue.size(), model.size);
    }
    while (model.size > 0) ASSERT_EQ(queue.pop(), model.pop());
    EXPECT_TRUE(queue.empty());
  }
}

}  // namespace
