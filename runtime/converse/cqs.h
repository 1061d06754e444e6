// Cqs, the scheduler's queue as something of its own: pointers in order of priority. Plain C, and C++17: reached from
// queueing.h and converse.h. What is in it is in runtime/scheduler/priority_queue.h.
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
// *items: all of them in no particular order, to free().
void CqsEnumerateQueue(Queue q, void*** items);
#ifdef __cplusplus
}
#endif
