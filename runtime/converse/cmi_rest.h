// Cmi and Csd, calls that few programs need. Plain C, and C++17: reached from converse.h.
#pragma once
#include "runtime/converse/converse.h"
#include "runtime/converse/grid_queue.h"

#ifdef __cplusplus
extern "C" {
#endif
// --- timers ----------------------------------------------------------------------------------------------------------
// Timers go off as soon as they are due and the PE is free, so that the resolution (seconds, 0.005 at most) is only
// remembered. The answer is what it was before; Increase never makes it longer.
double CcdSetResolution(double seconds);
double CcdResetResolution(void);
double CcdIncreaseResolution(double seconds);
int CcdNumTimerCBs(void);  // timers that run on this PE

// --- memory of this process (bytes) ----------------------------------------------------------------------------------
CMK_TYPEDEF_UINT8 CmiMaxMemoryUsageR(void);  // the same as CmiMaxMemoryUsage
void CmiResetMaxMemory(void);                // the most from now on
// The least that CmiMinMemoryUsage and CmiResetMinMemory have seen since the latter.
CMK_TYPEDEF_UINT8 CmiMinMemoryUsage(void);
void CmiResetMinMemory(void);
// What is held more at a sweep than at the mark, or that it is not more, is written to the standard output. A block
// can't be left out of it. Which calls hold it, the asan preset tells.
void CmiMemoryMark(void);
void CmiMemoryMarkBlock(void* block);
void CmiMemorySweep(const char* where);
#define CMI_MEMORY_IS_ISOMALLOC (1 << 1)
#define CMI_MEMORY_IS_PARANOID (1 << 2)
#define CMI_MEMORY_IS_GNU (1 << 3)
#define CMI_MEMORY_IS_GNUOLD (1 << 4)
#define CMI_MEMORY_IS_OS (1 << 5)
#define CMI_MEMORY_IS_CHARMDEBUG (1 << 6)
int CmiMemoryIs(int flag);  // the system's malloc
#define CMI_THREAD_IS_QT (1 << 1)
#define CMI_THREAD_IS_CONTEXT (1 << 2)
#define CMI_THREAD_IS_UJCONTEXT (1 << 3)
#define CMI_THREAD_IS_PTHREADS (1 << 4)
#define CMI_THREAD_IS_FIBERS (1 << 5)
#define CMI_THREAD_IS_ALIAS (1 << 6)
#define CMI_THREAD_IS_STACKCOPY (1 << 7)
#define CMI_THREAD_IS_TLS (1 << 8)
int CmiThreadIs(int flag);  // contexts

// --- the scheduler, for programs that have one of their own ----------------------------------------------------------
void CsdBeginIdle(void);  // raise the conditions
void CsdStillIdle(void);
void CsdEndIdle(void);
void CmiNotifyIdle(void);  // the processor is not needed for a moment
typedef struct {
  int pe;
} CsdSchedulerState_t;
void CsdSchedulerState_new(CsdSchedulerState_t* state);
// The next message that has arrived or was queued, not handled; null when there is none. The caller owns it.
void* CsdNextMessage(CsdSchedulerState_t* state);
void* CsdNextLocalNodeMessage(CsdSchedulerState_t* state);
// Whether this PE takes part in the loops of others (CkLoop). At first it does.
void CmiSetPeHelpsOtherThreads(int yes);
int CmiPeHelpsOtherThreads(void);

// --- memory of other processes by address, emulated by messages ------------------------------------------------------
// Copies `bytes` from `source` on this PE to `target` on PE `to`; Get copies from `target` there to `source` here. The
// answer is for CmiWaitTest; the other forms call fn(argument) on this PE when it is done. The memory here is not to be
// used until then. Nothing needs to be registered.
typedef void (*CmiRdmaCallbackFn)(void* argument);
void* CmiPut(unsigned int from, unsigned int to, void* source, void* target, unsigned int bytes);
void* CmiGet(unsigned int from, unsigned int to, void* source, void* target, unsigned int bytes);
void CmiPutCb(unsigned int from, unsigned int to, void* source, void* target, unsigned int bytes, CmiRdmaCallbackFn fn,
              void* argument);
void CmiGetCb(unsigned int from, unsigned int to, void* source, void* target, unsigned int bytes, CmiRdmaCallbackFn fn,
              void* argument);
int CmiWaitTest(void* transfer);  // 1: done, and the transfer is gone; 0: ask again, between turns of the scheduler
int CmiRegisterMemory(void* memory, unsigned int bytes);    // 1
int CmiUnRegisterMemory(void* memory, unsigned int bytes);  // 1
void* CmiDMAAlloc(int bytes);                               // to free()

// --- and ---------------------------------------------------------------------------------------------------------
char* CmiPrintDate(void);                   // "Mon Jan  1 12:00:00 2024\n", until the next call of this OS thread
int CmiLongSendQueue(int node, int bytes);  // 0: the runtime does not say what waits to be sent
int CmiIsFortranLibraryCall(void);          // 0
void CmiTimerInit(char** argv);             // nothing is to be initialised
// Takes an option with an integer that has no effect any more, and says so with `warning`.
void CmiDeprecateArgInt(char** argv, const char* arg, const char* desc, const char* warning);
#ifdef __cplusplus
}
#endif

#ifndef __cplusplus
typedef int CmiMemoryAtomicInt;
typedef unsigned int CmiMemoryAtomicUInt;
#define CmiMemoryAtomicType(type) type
#define CmiMemoryAtomicIncrement(v, ...) __atomic_fetch_add(&(v), 1, __ATOMIC_SEQ_CST)
#define CmiMemoryAtomicDecrement(v, ...) __atomic_fetch_sub(&(v), 1, __ATOMIC_SEQ_CST)
#define CmiMemoryAtomicFetchAndInc(v, old, ...) ((old) = __atomic_fetch_add(&(v), 1, __ATOMIC_SEQ_CST))
#endif
#define CmiNumPe() CmiNumPes()
#define CmiRoundUpToPow2(s, p2) ((s) + (((p2) - ((s) & ((p2)-1))) & ((p2)-1)))
#define CmiMachineProgressImpl()
#define CmiDelayImmediate()
typedef CmiNodeLock CmiImmediateLockType;
#define CmiCreateImmediateLock() CmiCreateLock()
#define CmiImmediateLock(lock) CmiLock(lock)
#define CmiImmediateUnlock(lock) CmiUnlock(lock)
#define CmiCheckImmediateLock(ignored) (0)
#define CmiClearImmediateFlag()
