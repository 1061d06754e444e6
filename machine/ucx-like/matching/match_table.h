// The table behind tag matching: queues by key, in one array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/platform.h"

namespace periapt::ucx {

/// What can lie in a MatchTable.
struct MatchNode {
  std::uint64_t key = 0;
  std::uint64_t order = 0;        ///< smaller: was there first
  MatchNode* previous = nullptr;  ///< of the first one in its queue: anything
  MatchNode* next = nullptr;
};

/// Queues by key, in an array with linear probing. A queue that has become empty keeps its place, because the same keys
/// come again; such places are given up when the array would have to grow.
class MatchTable {
 public:
  MatchTable() : queues_(kFirstQueues), mask_(kFirstQueues - 1) {}

  std::size_t size() const { return size_; }

  /// The oldest with that key; nullptr: none.
  MatchNode* first(std::uint64_t key) const { return queues_[place(key)].first; }
  /// The same, taken out.
  PERIAPT_INLINE MatchNode* take(std::uint64_t key) {
    Queue& queue = queues_[place(key)];
    MatchNode* node = queue.first;
    if (node == nullptr) return nullptr;
    --size_;
    queue.first = node->next;
    return node;
  }

  PERIAPT_INLINE void append(MatchNode* node) {
    Queue* queue = &queues_[place(node->key)];
    if (PERIAPT_UNLIKELY(!queue->used())) queue = &use(node->key);
    append(node, *queue);
  }
  /// The same, where a place for its key is there already; false: none is.
  PERIAPT_INLINE bool append_again(MatchNode* node, std::uint64_t key) {
    Queue& queue = queues_[place(key)];
    if (PERIAPT_UNLIKELY(!queue.used())) return false;
    node->key = key;
    append(node, queue);
    return true;
  }

  /// Where its `order` says: behind all older ones of its key. The few younger ones are looked for from the end.
  void insert(MatchNode* node) {
    const Queue& queue = queues_[place(node->key)];
    if (queue.first == nullptr || queue.last->order < node->order) return append(node);
    MatchNode* next = queue.last;
    while (next != queue.first && next->previous->order > node->order) next = next->previous;
    insert_before(*next, node);
  }

  void remove(MatchNode* node) {
    --size_;
    Queue& queue = queues_[place(node->key)];
    const bool is_first = queue.first == node;
    (is_first ? queue.first : node->previous->next) = node->next;
    if (node->next != nullptr) {
      node->next->previous = node->previous;
    } else if (!is_first) {
      queue.last = node->previous;
    }
  }

 private:
  static constexpr std::size_t kFirstQueues = 64;

  struct Queue {
    std::uint64_t key = 0;
    MatchNode* first = nullptr;
    MatchNode* last = nullptr;  ///< of an empty queue: whatever was the last one; nullptr: the place is free
    bool used() const { return last != nullptr; }
  };

  // Where the queue is, or the place that it would get. There always is an unused place.
  std::size_t place(std::uint64_t key) const {
    std::size_t i = ((key * 0x9E37'79B9'7F4A'7C15u) >> 32) & mask_;
    while (queues_[i].key != key && queues_[i].used()) i = (i + 1) & mask_;
    return i;
  }

  PERIAPT_INLINE void append(MatchNode* node, Queue& queue) {
    ++size_;
    node->next = nullptr;
    node->previous = queue.last;
    (queue.first == nullptr ? queue.first : queue.last->next) = node;
    queue.last = node;
  }

  void insert_before(MatchNode& next, MatchNode* node) {
    Queue& queue = queues_[place(node->key)];
    ++size_;
    node->next = &next;
    node->previous = next.previous;
    (queue.first == &next ? queue.first : next.previous->next) = node;
    next.previous = node;
  }

  PERIAPT_NOINLINE Queue& use(std::uint64_t key) {
    if (++used_ * 2 > queues_.size()) rebuild();
    Queue& queue = queues_[place(key)];
    queue.key = key;
    return queue;
  }

  void rebuild() {
    std::vector<Queue> old = std::move(queues_);
    std::size_t live = 0;
    for (const Queue& queue : old) live += queue.first != nullptr ? 1 : 0;
    queues_.assign(live * 4 > old.size() ? old.size() * 2 : old.size(), Queue{});
    mask_ = queues_.size() - 1;
    used_ = live + 1;  // and the one that is about to be
    for (const Queue& queue : old) {
      if (queue.first != nullptr) queues_[place(queue.key)] = queue;
    }
  }

  std::vector<Queue> queues_;
  std::size_t mask_;
  std::size_t size_ = 0;
  std::size_t used_ = 0;  ///< places that are not free
};

}  // namespace periapt::ucx
