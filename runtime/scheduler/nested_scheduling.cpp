// See nested_scheduling.h.
#include "runtime/scheduler/nested_scheduling.h"

#include <algorithm>
#include <utility>

#include "runtime/message/delivery.h"
#include "runtime/scheduler/pe.h"

namespace periapt::scheduler {

thread_local std::vector<NestedScheduling*> NestedScheduling::all_;

// On the scheduler's own stack alone: they end in the opposite order, and none is abandoned, as a thread can be.
NestedScheduling::NestedScheduling(Pe& pe)
    : pe_(pe), owner_(pe.running && !pe.threads.current() ? pe.running->owner : 0) {
  if (owner_ != 0) all_.push_back(this);
  if (Ordering* const ordering = pe.ordering()) [[unlikely]]
    ordering->begin_poll();
}
NestedScheduling::~NestedScheduling() {
  if (Ordering* const ordering = pe_.ordering()) [[unlikely]]
    ordering->end_poll();
  if (owner_ == 0) return;
  std::erase(all_, this);
  for (Message& message : kept_) pe_.enqueue(std::move(message));
}

NestedScheduling* NestedScheduling::innermost(const Pe& pe, std::uint64_t owner) {
  const auto found = std::find_if(all_.rbegin(), all_.rend(),
                                  [&](NestedScheduling* one) { return &one->pe_ == &pe && one->owner_ == owner; });
  return found == all_.rend() ? nullptr : *found;
}

void NestedScheduling::keep(const Pe& pe, std::uint64_t owner, Message message) {
  innermost(pe, owner)->kept_.push_back(std::move(message));
}

}  // namespace periapt::scheduler
