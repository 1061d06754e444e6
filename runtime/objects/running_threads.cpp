// See running_threads.h.
#include "runtime/objects/running_threads.h"

#include <algorithm>
#include <iterator>

#include "base/fatal.h"
#include "runtime/objects/pe_objects.h"

namespace periapt {

RunningThreads::Run::Run(RunningThreads& all, ThreadOwner owner, int ep)
    : all_(all), owner_(owner), ep_(ep), thread_(all.pe_.threads.current()) {
  ended = [](ThreadEnd* self) { static_cast<Run*>(self)->leave(); };
  thread_->at_end = this;  // it may end without a return: CthExit(), CthFree()
  Run*& first = all.runs_[bucket(owner)];
  next_ = first;
  if (next_) next_->link_ = &next_;
  link_ = &first;
  first = this;
  ++all.counter(owner);
}

void RunningThreads::Run::leave() {
  if (!link_) return;
  *link_ = next_;
  if (next_) next_->link_ = link_;
  link_ = nullptr;
  thread_->at_end = nullptr;
  --all_.counter(owner_);
  if (!all_.pending_.empty()) all_.order_pending_migration(owner_);
}

int RunningThreads::an_entry() const {
  Run* const* const run = std::find_if(std::begin(runs_), std::end(runs_), [](const Run* first) { return first; });
  return (*run)->ep_;
}

// None: what is asked about is no object, as an element that has no partner in a bound array; threads of members of
// groups are not its.
RunningThreads::Run* RunningThreads::find(ThreadOwner owner) const {
  if (owner == ThreadOwner{}) return nullptr;
  Run* run = runs_[bucket(owner)];
  while (run && !(run->owner_ == owner)) run = run->next_;
  return run;
}

bool RunningThreads::keep(ThreadOwner owner, CkArrayID array, std::uint64_t id, int to) {
  if (!any(owner)) return false;
  if (pending_.insert_or_assign(owner.key, PendingMigration{array, id, to}).second)
    pe_.begin_pending();  // until it goes
  return true;
}

// As a message: the thread is about to end, or another has the stack meanwhile.
void RunningThreads::order_pending_migration(ThreadOwner owner) {
  const auto found = pending_.find(owner.key);
  if (found == pending_.end() || find(owner)) return;
  const PendingMigration pending = found->second;
  pending_.erase(found);
  pe_.end_pending();
  pe_.objects->array(pending.array)->order_migration_later(pending.id, pending.to);
}

void RunningThreads::detach(ThreadOwner owner, const std::function<std::string()>& describe) {
  while (Run* run = find(owner)) {
    if (run->thread_ != pe_.threads.current())
      fatal(describe() + " is destroyed while a thread of its entry " + entry_name(run->ep_) + " waits",
            describe_running(pe_), "the thread would go on in an object that is gone",
            "let the thread end first, or destroy the object at the end of the thread itself");
    run->leave();
  }
  if (pending_.erase(owner.key) != 0) pe_.end_pending();
}

}  // namespace periapt
