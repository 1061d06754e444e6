// Converse: messages with handlers, and the scheduler, as programs call them. Plain C, and C++17: reached
// from converse.h.
//
// A message begins with CmiMsgHeaderSizeBytes that are ours; a program puts `char head[CmiMsgHeaderSizeBytes]` first in
// its struct, sets the handler with CmiSetHandler and sends it. On the receiving PE the handler gets the message and
// owns it: it passes it on, or frees it with CmiFree. Sizes count the header.
//
// Handlers are numbered in the order of registration: every PE registers the same ones in the same order.
#pragma once
#include "runtime/converse/cmi.h"
#include "runtime/converse/cqs.h"
#include "runtime/converse/cth.h"
#include "runtime/converse/partitions.h"
#include "runtime/pup/pup_c.h"
#include "runtime/scheduler/ccd.h"
#ifdef __cplusplus
#include <cstddef>
#include <cstdint>

#include "runtime/converse/per_pe.h"
#include "runtime/message/envelope.h"
#endif

#define CmiMsgHeaderSizeBytes 48
#define CmiReservedHeaderSize CmiMsgHeaderSizeBytes
#define CmiExtHeaderSizeBytes CmiMsgHeaderSizeBytes
// An envelope: what programs set of it has a name.
typedef struct __attribute__((may_alias, aligned(8))) CmiMsgHeader {
  char opaque[24];
  unsigned short handler;
  unsigned short extra_handler;
  char rest[20];
} CmiMsgHeaderBasic, CmiMsgHeaderExt;

// What is in front of a block of message memory.
#define CmiChunkHeaderSize 16
#define BLKSTART(message) ((char*)(message)-CmiChunkHeaderSize)

typedef void (*CmiHandler)(void* message);
typedef void (*CmiHandlerEx)(void* message, void* userPtr);
typedef struct {
  CmiHandlerEx hdlr;  // a CmiHandler ignores the second argument
  void* userPtr;
} CmiHandlerInfo;
typedef void* CmiCommHandle;
typedef void (*CmiStartFn)(int argc, char** argv);

// A set of PEs, known on all of them: usable wherever it is sent.
typedef struct CmiGroup {
  int pe;
  int id;
} CmiGroup;
#define CMK_MULTICAST_GROUP_TYPE CmiGroup

#ifdef __cplusplus
extern "C" {
#endif

// --- start and end ---------------------------------------------------------------------------------------------------
// Starts the PEs and calls start(argc, argv) on each, then runs the scheduler there until CsdExitScheduler and ends the
// program. user_scheduler 1: start() calls the scheduler itself, and the program ends when it returns.
// return_to_caller 1: PE 0 of each process comes back from here instead, and calls CsdScheduler and ConverseExit
// itself.
void ConverseInit(int argc, char** argv, CmiStartFn start, int user_scheduler, int return_to_caller);
CMK_NORETURN void realConverseExit(int code);

// --- handlers --------------------------------------------------------------------------------------------------------
int CmiRegisterHandler(CmiHandler handler);
int CmiRegisterHandlerEx(CmiHandlerEx handler, void* userPtr);
void CmiNumberHandler(int index, CmiHandler handler);
void CmiNumberHandlerEx(int index, CmiHandlerEx handler, void* userPtr);
CmiHandlerInfo* CmiHandlerToInfo_(int index);
void CmiAssignOnce(int* variable, int value);
void CmiInitMsgHeader(void* message, int bytes);
// Calls the handler of a message now.
void CmiHandleMessage(void* message);

// --- sending ---------------------------------------------------------------------------------------------------------
// Copies: the caller keeps its message.
void CmiSyncSendFn(int pe, int bytes, char* message);
void CmiSyncBroadcastFn(int bytes, char* message);     // all PEs but this one
void CmiSyncBroadcastAllFn(int bytes, char* message);  // all
void CmiSyncListSendFn(int count, const int* pes, int bytes, char* message);
void CmiSyncMulticastFn(CmiGroup group, int bytes, char* message);
void CmiSyncNodeSendFn(int node, int bytes, char* message);  // to a PE of that process
void CmiSyncNodeBroadcastFn(int bytes, char* message);       // to all processes but this one
void CmiSyncNodeBroadcastAllFn(int bytes, char* message);
// Takes the message, which came from CmiAlloc.
void CmiFreeSendFn(int pe, int bytes, char* message);
void CmiFreeBroadcastFn(int bytes, char* message);
void CmiFreeBroadcastAllFn(int bytes, char* message);
void CmiFreeListSendFn(int count, const int* pes, int bytes, char* message);
void CmiFreeMulticastFn(CmiGroup group, int bytes, char* message);
void CmiFreeNodeSendFn(int node, int bytes, char* message);
void CmiFreeNodeBroadcastFn(int bytes, char* message);
void CmiFreeNodeBroadcastAllFn(int bytes, char* message);
void CmiWithinNodeBroadcastFn(int bytes, char* message);  // to all PEs of this process
// Pieces joined into one message; the first begins with the header.
void CmiSyncVectorSend(int pe, int pieces, int* bytes, char** data);
void CmiSyncVectorSendAndFree(int pe, int pieces, int* bytes, char** data);  // frees pieces and both arrays
// Several messages to one PE.
void CmiMultipleSend(unsigned int pe, int count, int* bytes, char** messages);
void CmiPushPE(int rank, void* message);  // takes it, to a PE of this process
CmiGroup CmiEstablishGroup(int count, int* pes);
// *pes belongs to the runtime.
void CmiLookupGroup(CmiGroup group, int* count, int** pes);

// --- receiving and scheduling ----------------------------------------------------------------------------------------
// Below zero: until CsdExitScheduler; 0: until there is nothing to do; else so many messages. The answer is how many
// were left to do. May be called from a handler.
int CsdScheduler(int messages);
void CsdScheduleForever(void);
int CsdScheduleCount(int messages);
void CsdSchedulePoll(void);
void CsdScheduleNodePoll(void);
void CsdExitScheduler(void);  // ends the innermost scheduler of this PE
int CmiDeliverMsgs(int messages);
// Waits for a message of this handler and runs it; others wait.
void CmiDeliverSpecificMsg(int handler);
// The next message, not handled; null when there is none. The caller owns it.
void* CmiGetNonLocal(void);
// Into this PE's queue; takes the message.
void CsdEnqueueGeneral(void* message, int strategy, int priority_bits, unsigned int* priority);
void CsdEnqueueFifo(void* message);
void CsdEnqueueLifo(void* message);
int CsdEmpty(void);
int CsdLength(void);
void CsdNodeEnqueueGeneral(void* message, int strategy, int priority_bits, unsigned int* priority);

// --- conditions and timers of this PE (ccd.h) -----------------------------------------------------------------------
void CcdCallFnAfter(CcdVoidFn fn, void* argument, double milliseconds);
void CcdCallFnAfterOnPE(CcdVoidFn fn, void* argument, double milliseconds, int pe);
int CcdCallOnCondition(int condition, CcdCondFn fn, void* argument);
int CcdCallOnConditionKeep(int condition, CcdCondFn fn, void* argument);
int CcdCallOnConditionOnPE(int condition, CcdCondFn fn, void* argument, int pe);
int CcdCallOnConditionKeepOnPE(int condition, CcdCondFn fn, void* argument, int pe);
void CcdCancelCallOnCondition(int condition, int registration);
void CcdCancelCallOnConditionKeep(int condition, int registration);
void CcdRaiseCondition(int condition);
void CcdCallBacks(void);

// --- reductions to PE 0 ----------------------------------------------------------------------------------------------
// merge(&bytes, mine, others, count) answers the message (or the data) that stands for all of them; `mine` is merge's
// to delete or to answer. Every PE calls in the same order. In the end PE 0's handler gets the message; dest() the
// data.
typedef void* (*CmiReduceMergeFn)(int* bytes, void* mine, void** others, int count);
typedef void (*CmiReducePupFn)(pup_er p, void* data);
typedef void (*CmiReduceDeleteFn)(void* data);
void CmiReduce(void* message, int bytes, CmiReduceMergeFn merge);
// `others` are what pup packed.
void CmiReduceStruct(void* data, CmiReducePupFn pup, CmiReduceMergeFn merge, CmiHandler dest, CmiReduceDeleteFn del);

// --- a tree over PEs, and one over processes ------------------------------------------------------------------------
int CmiSpanTreeParent(int pe);
int CmiNumSpanTreeChildren(int pe);
void CmiSpanTreeChildren(int pe, int* children);
int CmiNodeSpanTreeParent(int node);
int CmiNumNodeSpanTreeChildren(int node);
void CmiNodeSpanTreeChildren(int node, int* children);
#ifdef __cplusplus
}
#endif

// --- the header ------------------------------------------------------------------------------------------------------
#define CmiImmediateHandlerBit 0x8000
#define CmiGetHandler(m) ((int)((struct CmiMsgHeader*)(m))->handler)
#define CmiSetHandler(m, v) ((void)(((struct CmiMsgHeader*)(m))->handler = (unsigned short)(v)))
#define CmiGetXHandler(m) ((int)((struct CmiMsgHeader*)(m))->extra_handler)
#define CmiSetXHandler(m, v) ((void)(((struct CmiMsgHeader*)(m))->extra_handler = (unsigned short)(v)))
#define CmiHandlerToInfo(n) (*CmiHandlerToInfo_(n))
#define CmiHandlerToFunction(n) (CmiHandlerToInfo(n).hdlr)
#define CmiGetHandlerInfo(m) CmiHandlerToInfo(CmiGetHandler(m))
#define CmiGetHandlerFunction(m) CmiHandlerToFunction(CmiGetHandler(m))
// Goes in front of what waits on the receiving PE.
#define CmiBecomeImmediate(m) CmiSetHandler(m, CmiGetHandler(m) | CmiImmediateHandlerBit)
#define CmiResetImmediate(m) CmiSetHandler(m, CmiGetHandler(m) & ~CmiImmediateHandlerBit)
#define CmiIsImmediate(m) (CmiGetHandler(m) & CmiImmediateHandlerBit)

// --- sending: names that take any pointer; nothing is asynchronous, as the bytes are taken at once
// ----------------------
#define CmiSyncSend(p, s, m) CmiSyncSendFn((p), (s), (char*)(m))
#define CmiSyncSendAndFree(p, s, m) CmiFreeSendFn((p), (s), (char*)(m))
#define CmiAsyncSend(p, s, m) (CmiSyncSendFn((p), (s), (char*)(m)), (CmiCommHandle)NULL)
#define CmiSyncBroadcast(s, m) CmiSyncBroadcastFn((s), (char*)(m))
#define CmiSyncBroadcastAndFree(s, m) CmiFreeBroadcastFn((s), (char*)(m))
#define CmiAsyncBroadcast(s, m) (CmiSyncBroadcastFn((s), (char*)(m)), (CmiCommHandle)NULL)
#define CmiSyncBroadcastAll(s, m) CmiSyncBroadcastAllFn((s), (char*)(m))
#define CmiSyncBroadcastAllAndFree(s, m) CmiFreeBroadcastAllFn((s), (char*)(m))
#define CmiAsyncBroadcastAll(s, m) (CmiSyncBroadcastAllFn((s), (char*)(m)), (CmiCommHandle)NULL)
#define CmiSyncListSend(n, l, s, m) CmiSyncListSendFn((n), (l), (s), (char*)(m))
#define CmiSyncListSendAndFree(n, l, s, m) CmiFreeListSendFn((n), (l), (s), (char*)(m))
#define CmiAsyncListSend(n, l, s, m) (CmiSyncListSendFn((n), (l), (s), (char*)(m)), (CmiCommHandle)NULL)
#define CmiSyncMulticast(g, s, m) CmiSyncMulticastFn((g), (s), (char*)(m))
#define CmiSyncMulticastAndFree(g, s, m) CmiFreeMulticastFn((g), (s), (char*)(m))
#define CmiAsyncMulticast(g, s, m) (CmiSyncMulticastFn((g), (s), (char*)(m)), (CmiCommHandle)NULL)
#define CmiSyncNodeSend(n, s, m) CmiSyncNodeSendFn((n), (s), (char*)(m))
#define CmiSyncNodeSendAndFree(n, s, m) CmiFreeNodeSendFn((n), (s), (char*)(m))
#define CmiAsyncNodeSend(n, s, m) (CmiSyncNodeSendFn((n), (s), (char*)(m)), (CmiCommHandle)NULL)
#define CmiSyncNodeBroadcast(s, m) CmiSyncNodeBroadcastFn((s), (char*)(m))
#define CmiSyncNodeBroadcastAndFree(s, m) CmiFreeNodeBroadcastFn((s), (char*)(m))
#define CmiSyncNodeBroadcastAll(s, m) CmiSyncNodeBroadcastAllFn((s), (char*)(m))
#define CmiSyncNodeBroadcastAllAndFree(s, m) CmiFreeNodeBroadcastAllFn((s), (char*)(m))
#define CmiWithinNodeBroadcast(s, m) CmiWithinNodeBroadcastFn((s), (char*)(m))
#define CmiAsyncMsgSent(handle) ((void)(handle), 1)
#define CmiReleaseCommHandle(handle) ((void)(handle))

#define CsdEnqueue(m) CsdEnqueueFifo(m)
#define CsdNodeEnqueue(m) CsdNodeEnqueueGeneral((m), CQS_QUEUEING_FIFO, 0, NULL)
#define CsdNodeEnqueueFifo(m) CsdNodeEnqueueGeneral((m), CQS_QUEUEING_FIFO, 0, NULL)
#define CsdNodeEnqueueLifo(m) CsdNodeEnqueueGeneral((m), CQS_QUEUEING_LIFO, 0, NULL)
#define CsdNodeEmpty() CsdEmpty()
#define CsdNodeLength() CsdLength()
#define CsdPeriodic() CcdCallBacks()
#define CsdResetPeriodic()

#ifdef __cplusplus
[[noreturn]] inline void ConverseExit(int code = 0) { realConverseExit(code); }
#else
#define ConverseExit(...) realConverseExit(__VA_ARGS__ + 0)  // without a code: 0
#endif

#define CLD_ANYWHERE (-1)
#define CLD_BROADCAST (-2)
#define CLD_BROADCAST_ALL (-3)

#ifdef __cplusplus
namespace periapt {
enum : std::uint16_t { immediate_handler_bit = CmiImmediateHandlerBit };
static_assert(sizeof(CmiMsgHeader) == sizeof(Envelope) && CmiMsgHeaderSizeBytes == sizeof(Envelope) &&
                  offsetof(CmiMsgHeader, handler) == offsetof(Envelope, entry) &&
                  offsetof(CmiMsgHeader, extra_handler) == offsetof(Envelope, message_type),
              "the header of a Converse message is an envelope");
}  // namespace periapt
#endif
