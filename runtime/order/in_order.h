// The usual order, as a PE without an Ordering has it: expedited first, then by priority, then as it came. What is
// recorded without +fuzz runs so.
#pragma once
#include <deque>

#include "runtime/scheduler/message_priority.h"
#include "runtime/scheduler/ordering.h"

namespace periapt::order {

class InOrder final : public Ordering {
 public:
  void add(const Arrival& arrival) override {
    switch (arrival.place) {
      case Arrival::Place::back:
        return waiting_.push_back(arrival);
      case Arrival::Place::front:
        return waiting_.push_front(arrival);
      case Arrival::Place::expedited:
        return expedited_.push_back(arrival);
      case Arrival::Place::by_priority:
        Envelope* const envelope = arrival.work.message();
        return by_priority_.push(arrival, scheduler::key_of(envelope), scheduler::order_of(envelope->queueing));
    }
  }
  bool take(Arrival& next) override {
    if (!expedited_.empty()) return pop(expedited_, next);
    const bool prior =
        !by_priority_.empty() && (waiting_.empty() || by_priority_.next_key() < scheduler::PriorityKey::none());
    if (!prior) return !waiting_.empty() && pop(waiting_, next);
    next = by_priority_.pop();
    return true;
  }
  bool has_next() const override { return size() != 0; }
  std::size_t size() const override { return expedited_.size() + by_priority_.size() + waiting_.size(); }

 private:
  static bool pop(std::deque<Arrival>& queue, Arrival& next) {
    next = queue.front();
    queue.pop_front();
    return true;
  }

  std::deque<Arrival> expedited_, waiting_;
  scheduler::PriorityQueue<Arrival> by_priority_;
};

}  // namespace periapt::order
