// The queue of work that waits for its turn by priority: smaller first, FIFO or LIFO within one priority.
//
// A priority is a string of 32-bit words, compared word by word; a string comes before the longer ones it begins. What
// programs give is brought to that form: an int p is the word p + 2^31, a long the two words of p + 2^63, a bit vector
// is itself. No priority is the middle, int 0. These are the rules of Charm++'s queue, with one difference: int 0 and
// no priority are the same there in one of its two queues, here always.
//
//   no priority     a ring: O(1), and one compare more than a ring alone when nothing has a priority
//   any other       a bucket (a small ring) for each priority that is present, found by hash; a heap of buckets.
//                   O(1) while priorities repeat, O(log of the number of different priorities) otherwise
//
// Buckets are used again, so a queue in steady state doesn't allocate.
// C++17: reachable from a program's headers.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "runtime/scheduler/ring.h"

namespace periapt {
namespace scheduler {

enum class Order : std::uint8_t { fifo, lifo };

// A priority in comparable form. The first two words are kept as one number: they decide nearly always.
struct PriorityKey {
  std::uint64_t head = 0;               // words 0 and 1, missing ones as 0
  std::uint32_t words = 0;              // length of the whole string
  const std::uint32_t* tail = nullptr;  // words 2 and on; belongs to the maker of the key

  static PriorityKey none() { return of_int(0); }
  static PriorityKey just_behind_none() { return {1ull << 63, 2, nullptr}; }
  static PriorityKey of_int(std::int32_t p) {
    return {std::uint64_t{static_cast<std::uint32_t>(p) ^ 0x80000000u} << 32, 1, nullptr};
  }
  static PriorityKey of_long(std::int64_t p) {
    if (p == 0) return none();
    return {static_cast<std::uint64_t>(p) ^ (1ull << 63), 2, nullptr};
  }
  // `bits` is rounded up to whole words.
  static PriorityKey of_bits(const std::uint32_t* words, unsigned bits) {
    const std::uint32_t count = (bits + 31) / 32;
    const std::uint64_t first = count > 0 ? words[0] : 0, second = count > 1 ? words[1] : 0;
    return {first << 32 | second, count, count > 2 ? words + 2 : nullptr};
  }

  bool is_none() const { return words == 1 && head == 1ull << 63; }
  friend bool operator==(const PriorityKey& a, const PriorityKey& b) {
    return a.head == b.head && a.words == b.words && (a.words <= 2 || compare_tails(a, b) == 0);
  }
  friend bool operator<(const PriorityKey& a, const PriorityKey& b) {
    if (a.head != b.head) return a.head < b.head;
    if (a.words <= 2 || b.words <= 2) return a.words < b.words;
    return compare_tails(a, b) < 0;
  }

 private:
  static int compare_tails(const PriorityKey& a, const PriorityKey& b) {
    const std::uint32_t common = std::min(a.words, b.words);
    for (std::uint32_t i = 2; i < common; ++i)
      if (a.tail[i - 2] != b.tail[i - 2]) return a.tail[i - 2] < b.tail[i - 2] ? -1 : 1;
    return a.words == b.words ? 0 : a.words < b.words ? -1 : 1;
  }
};

template <class T>
class PriorityQueue {
 public:
  PriorityQueue() = default;
  PriorityQueue(const PriorityQueue&) = delete;
  PriorityQueue& operator=(const PriorityQueue&) = delete;

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  void push(T item, Order order = Order::fifo) {
    ++size_;
    put(middle_, item, order);
  }
  void push_int(T item, std::int32_t priority, Order order = Order::fifo) {
    push(item, PriorityKey::of_int(priority), order);
  }
  void push_long(T item, std::int64_t priority, Order order = Order::fifo) {
    push(item, PriorityKey::of_long(priority), order);
  }
  // Copies the words.
  void push_bits(T item, const std::uint32_t* words, unsigned bits, Order order = Order::fifo) {
    push(item, PriorityKey::of_bits(words, bits), order);
  }
  void push(T item, const PriorityKey& key, Order order) {
    if (key.is_none()) return push(item, order);
    ++size_;
    put(buckets_[find_or_add(key)].items, item, order);
  }

  // The next item. Requires !empty().
  T pop() {
    assert(!empty());
    --size_;
    if (middle_is_next()) return middle_.pop_front();
    const std::uint32_t at = heap_.front().bucket;
    Bucket& bucket = buckets_[at];
    T item = bucket.items.pop_front();
    if (bucket.items.empty()) remove_first_bucket();
    return item;
  }

  // What pop() would give, or null.
  const T* next() const {
    if (empty()) return nullptr;
    return middle_is_next() ? &middle_.front() : &buckets_[heap_.front().bucket].items.front();
  }

  // The priority of the next item, to compare two queues; holds until the queue changes. Requires !empty().
  PriorityKey next_key() const {
    assert(!empty());
    return middle_is_next() ? PriorityKey::none() : buckets_[heap_.front().bucket].key;
  }

  // Every item, in no particular order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < middle_.size(); ++i) visit(middle_[i]);
    for (const Entry& entry : heap_) {
      const auto& items = buckets_[entry.bucket].items;
      for (std::size_t i = 0; i < items.size(); ++i) visit(items[i]);
    }
  }

 private:
  struct Bucket {
    PriorityKey key;
    std::vector<std::uint32_t> tail;  // what key.tail points to
    Ring<T, 4> items;
  };
  struct Entry {
    std::uint64_t head;  // of the bucket's key, at hand
    std::uint32_t bucket;
  };
  static constexpr std::uint32_t nothing = ~0u;
  static constexpr std::size_t kept_ring = 64;  // a longer one is given back with its bucket

  template <class Queue>
  static void put(Queue& queue, T item, Order order) {
    if (order == Order::fifo)
      queue.push_back(item);
    else
      queue.push_front(item);
  }

  // Of a queue that is not empty.
  bool middle_is_next() const { return heap_.empty() || (!middle_.empty() && heap_.front().head >= 1ull << 63); }

  // The heap has its largest first, so "less" is "comes later".
  struct Later {
    const std::deque<Bucket>* buckets;
    bool operator()(const Entry& a, const Entry& b) const {
      if (a.head != b.head) return a.head > b.head;
      return (*buckets)[b.bucket].key < (*buckets)[a.bucket].key;
    }
  };

  static std::size_t hash(const PriorityKey& key) {
    std::uint64_t h = (key.head + key.words) * 0x9e3779b97f4a7c15ull;
    for (std::uint32_t i = 2; i < key.words; ++i) h = (h ^ key.tail[i - 2] ^ h >> 32) * 0xbf58476d1ce4e5b9ull;
    return static_cast<std::size_t>(h ^ h >> 32);
  }

  std::uint32_t find_or_add(const PriorityKey& key) {
    if (2 * (heap_.size() + 1) > table_.size()) grow_table();
    const std::size_t mask = table_.size() - 1;
    std::size_t at = hash(key) & mask;
    for (; table_[at] != nothing; at = (at + 1) & mask)
      if (buckets_[table_[at]].key == key) return table_[at];
    const std::uint32_t fresh = new_bucket(key);
    table_[at] = fresh;
    heap_.push_back({key.head, fresh});
    std::push_heap(heap_.begin(), heap_.end(), Later{&buckets_});
    return fresh;
  }

  std::uint32_t new_bucket(const PriorityKey& key) {
    std::uint32_t fresh;
    if (!unused_.empty()) {
      fresh = unused_.back();
      unused_.pop_back();
    } else {
      fresh = static_cast<std::uint32_t>(buckets_.size());
      buckets_.emplace_back();
    }
    Bucket& bucket = buckets_[fresh];
    bucket.key = key;
    if (key.words > 2) {
      bucket.tail.assign(key.tail, key.tail + key.words - 2);
      bucket.key.tail = bucket.tail.data();
    }
    return fresh;
  }

  void remove_first_bucket() {
    const std::uint32_t gone = heap_.front().bucket;
    std::pop_heap(heap_.begin(), heap_.end(), Later{&buckets_});
    heap_.pop_back();
    forget(gone);
    if (buckets_[gone].items.capacity() > kept_ring) buckets_[gone].items.release();
    unused_.push_back(gone);
  }

  // Takes a bucket out of the hash table. Those behind it that its place kept apart from theirs move up (linear probing
  // without tombstones: Knuth, TAOCP 3, 6.4, algorithm R).
  void forget(std::uint32_t bucket) {
    const std::size_t mask = table_.size() - 1;
    std::size_t hole = hash(buckets_[bucket].key) & mask;
    while (table_[hole] != bucket) hole = (hole + 1) & mask;
    for (std::size_t at = (hole + 1) & mask; table_[at] != nothing; at = (at + 1) & mask) {
      const std::size_t wanted = hash(buckets_[table_[at]].key) & mask;
      if (((at - wanted) & mask) < ((at - hole) & mask)) continue;  // reachable without passing the hole
      table_[hole] = table_[at];
      hole = at;
    }
    table_[hole] = nothing;
  }

  void grow_table() {
    table_.assign(std::max<std::size_t>(16, table_.size() * 2), nothing);
    const std::size_t mask = table_.size() - 1;
    for (const Entry& entry : heap_) {
      std::size_t at = hash(buckets_[entry.bucket].key) & mask;
      while (table_[at] != nothing) at = (at + 1) & mask;
      table_[at] = entry.bucket;
    }
  }

  std::size_t size_ = 0;
  Ring<T, 16> middle_;
  std::vector<Entry> heap_;           // buckets that aren't empty, the next one first
  std::deque<Bucket> buckets_;        // stays put: keys point into tails
  std::vector<std::uint32_t> table_;  // key -> bucket, open addressing, at most half full
  std::vector<std::uint32_t> unused_;
};

}  // namespace scheduler
}  // namespace periapt
