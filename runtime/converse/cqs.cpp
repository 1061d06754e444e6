// The queue of Cqs, on the scheduler's own; and the scheduler's itself as such a queue.
#include "runtime/converse/cqs.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "base/fatal.h"
#include "runtime/converse/converse_state.h"
#include "runtime/scheduler/priority_queue.h"

using periapt::Pe;
using periapt::scheduler::Order;
using periapt::scheduler::PriorityKey;

struct Queue_struct {
  periapt::scheduler::PriorityQueue<void*> items;
  Pe* pe = nullptr;  // set: the queue of its scheduler, and `items` stays empty
};

namespace {
[[noreturn]] void of_another_pe(const std::string& whose) {
  periapt::fatal("the scheduler's queue of " + whose + " is asked for on PE " + std::to_string(CmiMyPe()),
                 "CpvAccess(CsdSchedQueue)", "a PE's queue is its own, and has no lock",
                 "send it a message, by CmiSyncSend or CmiPushPE");
}
Pe* scheduler_of(Queue q) {
  if (q->pe != nullptr && q->pe != Pe::current()) of_another_pe("PE " + std::to_string(q->pe->index));
  return q->pe;
}
}  // namespace

namespace periapt {
Queue SchedulerQueue::here() const {
  Pe& pe = require_pe("CpvAccess(CsdSchedQueue)");
  auto& queue = ConverseState::of(pe).scheduler_queue;
  if (!queue) {
    queue = std::make_shared<Queue_struct>();
    queue->pe = &pe;
  }
  return queue.get();
}
Queue SchedulerQueue::of(int rank) const {
  if (rank != CmiMyRank()) of_another_pe("the PE with the rank " + std::to_string(rank));
  return here();
}
}  // namespace periapt

extern "C" {

Queue CqsCreate() { return new Queue_struct; }
void CqsDelete(Queue q) {
  if (q->pe != nullptr)
    periapt::fatal("the scheduler's queue is to be deleted", "CqsDelete", "", "delete queues that CqsCreate() made");
  delete q;
}
void CqsEnqueue(Queue q, void* item) { CqsEnqueueFifo(q, item); }
void CqsEnqueueFifo(Queue q, void* item) { CqsEnqueueGeneral(q, item, CQS_QUEUEING_FIFO, 0, nullptr); }
void CqsEnqueueLifo(Queue q, void* item) { CqsEnqueueGeneral(q, item, CQS_QUEUEING_LIFO, 0, nullptr); }
void CqsEnqueueGeneral(Queue q, void* item, int strategy, int priority_bits, unsigned int* priority) {
  if (scheduler_of(q) != nullptr) return CsdEnqueueGeneral(item, strategy, priority_bits, priority);
  const Order order = strategy & 1 ? Order::lifo : Order::fifo;
  static_assert(CQS_QUEUEING_LIFO % 2 == 1 && CQS_QUEUEING_LLIFO % 2 == 1 && CQS_QUEUEING_BFIFO % 2 == 0,
                "odd is LIFO");
  switch (strategy) {
    case CQS_QUEUEING_IFIFO:
    case CQS_QUEUEING_ILIFO:
      if (*priority == 0) return q->items.push(item, PriorityKey::just_behind_none(), order);
      return q->items.push_int(item, static_cast<int>(*priority), order);
    case CQS_QUEUEING_BFIFO:
    case CQS_QUEUEING_BLIFO:
      return q->items.push_bits(item, priority, static_cast<unsigned>(priority_bits), order);
    case CQS_QUEUEING_LFIFO:
    case CQS_QUEUEING_LLIFO: {
      std::int64_t value;
      std::memcpy(&value, priority, sizeof value);
      return q->items.push_long(item, value, order);
    }
    default:
      return q->items.push(item, order);
  }
}
void CqsDequeue(Queue q, void** item) {
  if (Pe* const pe = scheduler_of(q)) {
    *item = periapt::converse_take_next(*pe).release();
    return;
  }
  *item = q->items.empty() ? nullptr : q->items.pop();
}
unsigned int CqsLength(Queue q) {
  const Pe* const pe = scheduler_of(q);
  return static_cast<unsigned>(pe != nullptr ? pe->queue_length() : q->items.size());
}
int CqsEmpty(Queue q) {
  const Pe* const pe = scheduler_of(q);
  return pe != nullptr ? !pe->is_busy() : q->items.empty();
}
void CqsEnumerateQueue(Queue q, void*** items) {
  if (scheduler_of(q) != nullptr)
    periapt::fatal("the scheduler's queue is to be enumerated", "CqsEnumerateQueue",
                   "what is in it are calls, threads and messages, most of which are no message of Converse",
                   "take out what is to be looked at, by CqsDequeue(), and put it back");
  void** next = *items = static_cast<void**>(std::malloc(q->items.size() * sizeof(void*)));
  q->items.for_each([&](void* item) { *next++ = item; });
}
}
