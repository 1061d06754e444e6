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

/// What can lie in a MatchTable. Equal keys form a queue; only its first one hangs in the table.
struct MatchNode {
  std::uint64_t key = 0;
  std::uint64_t order = 0;  ///< smaller: was there first
  MatchNode* previous = nullptr;
  MatchNode* next = nullptr;
  MatchNode* last = nullptr;   ///< of the queue; meaningful in the first one only
  MatchNode* chain = nullptr;  ///< next queue of the bucket; meaningful in the first one only
};

class MatchTable {
 public:
  MatchTable() : buckets_(kFirstBuckets), mask_(kFirstBuckets - 1) {}

  std::size_t size() const { return size_; }

  /// The oldest with that key; nullptr: none.
  MatchNode* first(std::uint64_t key) const {
    MatchNode* node = buckets_[place(key)];
    while (node != nullptr && node->key != key) node = node->chain;
    return node;
  }

  void append(MatchNode* node) {
    ++size_;
    node->next = nullptr;
    if (MatchNode* head = first(node->key)) {
      node->previous = head->last;
      head->last->next = node;
      head->last = node;
      return;
    }
    if (PERIAPT_UNLIKELY(++queues_ > buckets_.size())) grow();
    MatchNode*& bucket = buckets_[place(node->key)];
    node->previous = nullptr;
    node->last = node;
    node->chain = bucket;
    bucket = node;
  }

  void remove(MatchNode* node) {
    --size_;
    if (node->previous != nullptr) {
      node->previous->next = node->next;
      if (node->next != nullptr) {
        node->next->previous = node->previous;
      } else {
        first(node->key)->last = node->previous;
      }
      return;
    }
    MatchNode** where = &buckets_[place(node->key)];
    while (*where != node) where = &(*where)->chain;
    if (node->next == nullptr) {
      *where = node->chain;
      --queues_;
      return;
    }
    node->next->previous = nullptr;
    node->next->last = node->last;
    node->next->chain = node->chain;
    *where = node->next;
  }

 private:
  static constexpr std::size_t kFirstBuckets = 64;

  std::size_t place(std::uint64_t key) const { return ((key * 0x9E37'79B9'7F4A'7C15u) >> 32) & mask_; }

  PERIAPT_NOINLINE void grow() {
    std::vector<MatchNode*> old = std::move(buckets_);
    buckets_.assign(old.size() * 2, nullptr);
    mask_ = buckets_.size() - 1;
    for (MatchNode* head : old) {
      while (head != nullptr) {
        MatchNode* next = head->chain;
        MatchNode*& bucket = buckets_[place(head->key)];
        head->chain = bucket;
        bucket = head;
        head = next;
      }
    }
  }

  std::vector<MatchNode*> buckets_;
  std::size_t mask_;
  std::size_t size_ = 0;
  std::size_t queues_ = 0;
};

/// The posted receives of a worker.
class PostedReceives {
 public:
  void post(MatchNode* receive, std::uint64_t tag, std::uint64_t mask) {
    receive->key = tag & mask;
    receive->order = ++order_;
    table_of(mask).append(receive);
  }
  /// The receive that a message of this tag belongs to, taken out; nullptr: none.
  MatchNode* take(std::uint64_t tag) {
    MatchNode* best = exact_.first(tag);
    if (PERIAPT_LIKELY(masked_.empty())) {
      if (best != nullptr) exact_.remove(best);
      return best;
    }
    return take_among_masked(best, tag);
  }
  void remove(MatchNode* receive, std::uint64_t mask) {
    table_of(mask).remove(receive);
    forget_empty();
  }
  std::size_t size() const {
    std::size_t sum = exact_.size();
    for (const auto& masked : masked_) sum += masked->table.size();
    return sum;
  }

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
  MatchNode* take_among_masked(MatchNode* best, std::uint64_t tag) {
    MatchTable* table = &exact_;
    for (auto& masked : masked_) {
      MatchNode* node = masked->table.first(tag & masked->mask);
      if (node == nullptr || (best != nullptr && best->order < node->order)) continue;
      best = node;
      table = &masked->table;
    }
    if (best == nullptr) return nullptr;
    table->remove(best);
    if (table != &exact_ && table->size() == 0) forget_empty();
    return best;
  }
  // A few empty tables are kept, because the same masks come again; many would slow each arrival down.
  void forget_empty() {
    if (masked_.size() <= 4) return;
    std::erase_if(masked_, [](const auto& masked) { return masked->table.size() == 0; });
  }

  MatchTable exact_;
  std::vector<std::unique_ptr<Masked>> masked_;
  std::uint64_t order_ = 0;
};

}  // namespace periapt::ucx
