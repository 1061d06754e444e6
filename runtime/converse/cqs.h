// Cqs, the scheduler's queue as something of its own: pointers in order of priority. Plain C, and C++17: reached from
// queueing.h and converse.h. What is in it is in runtime/scheduler/priority_queue.h.
//
// CpvAccess(CsdSchedQueue), in C++, is the queue that the scheduler of this PE works on. What is put into it is a
// message, which belongs to the queue then; what comes out is a message for CmiHandleMessage(), also where the
// scheduler would have called an entry method or resumed a thread.
#pragma once
#include "base/cmk.h"

#define CQS_QUEUEING_FIFO 2
#define CQS_QUEUEING_LIFO 3
#define CQS_QUEUEING_IFIFO 4
#define CQS_QUEUEING_ILIFO 5
#define CQS_QUEUEING_BFIFO 6
#define CQS_QUEUEING_BLIFO 7
#define CQS_QUEUEING_LFIFO 8
#define CQS_QUEUEING_LLIFO 9

#ifndef CINTBITS
#define CINTBITS ((unsigned int)(sizeof(int) * 8))
#endif
#ifndef CLONGBITS
#define CLONGBITS ((unsigned int)(sizeof(CmiInt8) * 8))
#endif

#ifdef __cplusplus
extern "C" {
#endif
typedef struct Queue_struct* Queue;
Queue CqsCreate(void);
void CqsDelete(Queue q);
void CqsEnqueue(Queue q, void* item);
void CqsEnqueueFifo(Queue q, void* item);
void CqsEnqueueLifo(Queue q, void* item);
// `strategy`: CQS_QUEUEING_*; `priority` points to as many words as the bits need and is copied.
void CqsEnqueueGeneral(Queue q, void* item, int strategy, int priority_bits, unsigned int* priority);
// *item: the most urgent one; null when the queue is empty.
void CqsDequeue(Queue q, void** item);
unsigned int CqsLength(Queue q);
int CqsEmpty(Queue q);
// *items: all of them in no particular order, to free(). The scheduler's queue cannot be enumerated.
void CqsEnumerateQueue(Queue q, void*** items);
#ifdef __cplusplus
}

namespace periapt {
// Has the functions of a PerPe<Queue> (per_pe.h), but those that make one: it is there from the beginning.
struct SchedulerQueue {
  Queue here() const;
  Queue of(int rank) const;  // this PE's alone: its messages lie where no other PE may touch them
  bool initialized() const { return true; }
};
}  // namespace periapt
inline constexpr periapt::SchedulerQueue CMK_TAG(Cpv_, CsdSchedQueue);
#endif
