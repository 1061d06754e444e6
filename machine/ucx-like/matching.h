// Tag matching: which receive gets which message.
//
// Posted receives and unexpected messages are found by hash. Receives with the same mask share a table whose key is
// tag & mask, so an arriving message asks one table for each mask in use: one when no wildcard is used, and few ever,
// since masks are constants of a program. Of several tables that answer, the receive posted first wins, as MPI demands.
// A receive with the full mask finds its unexpected message by hash; one with a wildcard walks them in order of
// arrival.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bits.h"
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
    MatchNode* last = nullptr;  ///< of an empty queue: whatever was the last one; nullptr: nobody has the place
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
  std::size_t used_ = 0;  ///< places that somebody has
};

/// The posted receives of a worker.
class PostedReceives {
 public:
  PERIAPT_INLINE void post(MatchNode* receive, std::uint64_t tag, std::uint64_t mask) {
    if (PERIAPT_LIKELY(mask == ~std::uint64_t{0})) {
      receive->key = tag;
      receive->order = order_;
      return exact_.append(receive);
    }
    receive->key = tag & mask;
    receive->order = ++order_;
    table_of(mask).append(receive);
    ++masked_posted_;
  }
  /// The same without a mask, for whoever calls post() when it answers false.
  PERIAPT_INLINE bool post_again(MatchNode* receive, std::uint64_t tag) {
    receive->order = order_;
    return exact_.append_again(receive, tag);
  }
  /// The receive that a message of this tag belongs to, taken out; nullptr: none.
  PERIAPT_INLINE MatchNode* take(std::uint64_t tag) {
    return PERIAPT_LIKELY(masked_posted_ == 0) ? exact_.take(tag) : take_among_masked(tag);
  }
  /// The same, for whoever asks take() when there is none: only where no receive with a mask has to be asked.
  PERIAPT_INLINE MatchNode* take_exact(std::uint64_t tag) {
    return PERIAPT_LIKELY(masked_posted_ == 0) ? exact_.take(tag) : nullptr;
  }
  void remove(MatchNode* receive, std::uint64_t mask) {
    MatchTable& table = table_of(mask);
    table.remove(receive);
    if (&table != &exact_) one_less_masked();
  }
  std::size_t size() const { return exact_.size() + masked_posted_; }

 private:
  struct Masked {
    std::uint64_t mask;
    MatchTable table;
  };

  MatchTable& table_of(std::uint64_t mask) {
    if (mask == ~std::uint64_t{0}) return exact_;
    for (auto& masked : masked_) {
      if (masked->mask == mask) return masked->table;
    }
    masked_.push_back(std::make_unique<Masked>(Masked{mask, {}}));
    return masked_.back()->table;
  }
  PERIAPT_NOINLINE MatchNode* take_among_masked(std::uint64_t tag) {
    MatchTable* table = &exact_;
    MatchNode* best = exact_.first(tag);
    for (auto& masked : masked_) {
      MatchNode* node = masked->table.first(tag & masked->mask);
      if (node == nullptr || (best != nullptr && best->order < node->order)) continue;
      best = node;
      table = &masked->table;
    }
    if (best == nullptr) return nullptr;
    table->remove(best);
    if (table != &exact_) one_less_masked();
    return best;
  }
  void one_less_masked() {
    --masked_posted_;
    forget_empty();
  }
  // A few empty tables are kept, because the same masks come again; many would slow each arrival down.
  void forget_empty() {
    if (masked_.size() <= 4) return;
    std::erase_if(masked_, [](const auto& masked) { return masked->table.size() == 0; });
  }

  MatchTable exact_;
  std::vector<std::unique_ptr<Masked>> masked_;
  std::size_t masked_posted_ = 0;  ///< receives in masked_
  std::uint64_t order_ = 0;  ///< of the last one with a mask; of those without, only their place among these matters
};

}  // namespace periapt::ucx
