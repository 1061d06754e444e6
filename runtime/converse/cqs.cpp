// The queue of Cqs, on the scheduler's own.
#include "runtime/converse/cqs.h"

#include <cstdlib>
#include <cstring>

#include "runtime/scheduler/priority_queue.h"

using periapt::scheduler::Order;
using periapt::scheduler::PriorityKey;

struct Queue_struct {
  periapt::scheduler::PriorityQueue<void*> items;
};

extern "C" {

Queue CqsCreate() { return new Queue_struct; }
void CqsDelete(Queue q) { delete q; }
void CqsEnqueue(Queue q, void* item) { q->items.push(item); }
void CqsEnqueueFifo(Queue q, void* item) { q->items.push(item); }
void CqsEnqueueLifo(Queue q, void* item) { q->items.push(item, Order::lifo); }
void CqsEnqueueGeneral(Queue q, void* item, int strategy, int priority_bits, unsigned int* priority) {
  const Order order = strategy & 1 ? Order::lifo : Order::fifo;
  static_assert(CQS_QUEUEING_LIFO % 2 == 1 && CQS_QUEUEING_LLIFO % 2 == 1 && CQS_QUEUEING_BFIFO % 2 == 0,
                "odd is LIFO");
  switch (strategy) {
    case CQS_QUEUEING_IFIFO:
    case CQS_QUEUEING_ILIFO:
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
void CqsDequeue(Queue q, void** item) { *item = q->items.empty() ? nullptr : q->items.pop(); }
unsigned int CqsLength(Queue q) { return static_cast<unsigned>(q->items.size()); }
int CqsEmpty(Queue q) { return q->items.empty(); }
void CqsEnumerateQueue(Queue q, void*** items) {
  void** next = *items = static_cast<void**>(std::malloc(q->items.size() * sizeof(void*)));
  q->items.for_each([&](void* item) { *next++ = item; });
}
}
