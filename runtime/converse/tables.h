// Small tables of pointers for programs: messages by tags (Cmm), and queues that can be entered at both ends (Cds).
// Plain C, and C++17: reached from converse.h.
#pragma once
#include "runtime/pup/pup_c.h"

#define CmmWildCard (-1)  // matches any tag, where it is stored as well as where it is asked for

typedef struct CmmTableStruct* CmmTable;
typedef void (*CmmPupMessageFn)(pup_er p, void** message);
typedef struct CdsFifoStruct* CdsFifo;

#ifdef __cplusplus
extern "C" {
#endif
CmmTable CmmNew(void);
// The messages that are left are freed with CmiFree; null: nothing happens.
void CmmFree(CmmTable t);
void CmmFreeAll(CmmTable t);  // forgets all messages and frees none
void CmmPut(CmmTable t, int count, int* tags, void* message);
// The first message put in that has as many tags, which all match; null when there is none. The tags that it was stored
// with go to found_tags, unless that is null. `remove`: the message leaves the table.
void* CmmFind(CmmTable t, int count, int* tags, int* found_tags, int remove);
int CmmEntries(CmmTable t);
// The last tag of the first message whose first `count` tags match; -1 when there is none.
int CmmGetLastTag(CmmTable t, int count, int* tags);
// pup_message packs a message, and makes one when it unpacks. The answer is the table; null when p deletes it.
CmmTable CmmPup(pup_er p, CmmTable t, CmmPupMessageFn pup_message);

CdsFifo CdsFifo_Create(void);
CdsFifo CdsFifo_Create_len(int length);  // the length is a guess
void CdsFifo_Destroy(CdsFifo q);
void CdsFifo_Enqueue(CdsFifo q, void* item);  // at the end
void CdsFifo_Push(CdsFifo q, void* item);     // in front
// The first one, taken out; null when there is none. Both are the same.
void* CdsFifo_Dequeue(CdsFifo q);
void* CdsFifo_Pop(CdsFifo q);
void* CdsFifo_Peek(CdsFifo q);  // left in
int CdsFifo_Empty(CdsFifo q);
int CdsFifo_Length(CdsFifo q);
void** CdsFifo_Enumerate(CdsFifo q);  // all of them, from the front, to free()
#ifdef __cplusplus
}
#endif

#define CmmGet(t, count, tags, found_tags) CmmFind((t), (count), (tags), (found_tags), 1)
#define CmmProbe(t, count, tags, found_tags) CmmFind((t), (count), (tags), (found_tags), 0)
