// Posted receives: which of them gets a message.
//
// Receives with the same mask share a table whose key is tag & mask, so an arriving message asks one table for each
// mask in use: one when no wildcard is used, and few ever, since masks are constants of a program. Of several tables
// that answer, the receive posted first wins, as MPI demands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/platform.h"
#include "machine/ucx-like/matching/match_table.h"

namespace periapt::ucx {

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
  /// The same without a mask, for a caller that goes on with post() when the answer is false.
  PERIAPT_INLINE bool post_again(MatchNode* receive, std::uint64_t tag) {
    receive->order = order_;
    return exact_.append_again(receive, tag);
  }
  /// The receive that a message of this tag belongs to, taken out; nullptr: none.
  PERIAPT_INLINE MatchNode* take(std::uint64_t tag) {
    return PERIAPT_LIKELY(masked_posted_ == 0) ? exact_.take(tag) : take_among_masked(tag);
  }
  /// The same, for a caller that goes on with take() when there is none: only where no receive with a mask has to be
  /// asked.
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
