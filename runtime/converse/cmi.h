// Cmi, the parts of Converse that are not messages: this PE, time, memory, locks, output, errors, the
// command line. Plain C, and C++17: reached from converse.h.
//
// A "node" is a process of the run; a "physical node" is a host. PEs are numbered from 0 through all processes; a PE's
// rank is its number within its process. A run that has partitions (partitions.h) is several to all but those.
#pragma once
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmk.h"
#include "runtime/scheduler/arguments.h"

#ifdef __cplusplus
#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
#endif

// --- number and place ------------------------------------------------------------------------------------------------
int CmiMyPe(void);  // -1 on an OS thread that runs no PE
int CmiMyRank(void);
int CmiMyNode(void);
int CmiNumPes(void);
int CmiNumNodes(void);
int CmiMyNodeSize(void);
int CmiNodeSize(int node);
int CmiNodeFirst(int node);
int CmiNodeOf(int pe);
int CmiRankOf(int pe);

int CmiNumPhysicalNodes(void);
int CmiPhysicalNodeID(int pe);
int CmiPhysicalRank(int pe);
int CmiNumPesOnPhysicalNode(int host);
int CmiGetFirstPeOnPhysicalNode(int host);
// *pes: to free().
void CmiGetPesOnPhysicalNode(int host, int** pes, int* count);
int CmiPeOnSamePhysicalNode(int pe1, int pe2);
int CmiCpuTopologyEnabled(void);
int CmiNumCores(void);           // that this run may use
int CmiOnCore(void);             // the processor we run on now
int CmiSetCPUAffinity(int cpu);  // 0, or -1 when the system refuses
int CmiSetCPUAffinityLogical(int cpu);
int CmiPrintCPUAffinity(void);
// PEs are bound when the run starts; these are for programs that ask for it themselves.
void CmiInitCPUAffinity(char** argv);
void CmiInitCPUTopology(char** argv);

// --- time (seconds) --------------------------------------------------------------------------------------------------
double CmiWallTimer(void);  // since the start
double CmiCpuTimer(void);   // of this OS thread
double CmiTimer(void);
double CmiStartTimer(void);
double CmiInitTime(void);
int CmiTimerIsSynchronized(void);
int CmiTimerAbsolute(void);

// --- message memory --------------------------------------------------------------------------------------------------
// Memory for a message of `bytes`, its header of CmiMsgHeaderSizeBytes included; aligned to 16. On a PE only.
void* CmiAlloc(int bytes);
void CmiFree(void* block);
// Another holder; each calls CmiFree.
void CmiReference(void* block);
int CmiGetReference(void* block);  // 1, or more than 1
int CmiSize(void* block);          // what was asked for, or what was sent
void* CmiRdmaAlloc(int bytes);
void CmiRdmaFree(void* block);
char* CmiCopyMsg(char* message, int bytes);

// For programs that lay out messages themselves: up to the next multiple.
#define ALIGN8(x) CMIALIGN(x, 8)

// --- other memory ----------------------------------------------------------------------------------------------------
void* CmiTmpAlloc(int bytes);
void CmiTmpFree(void* block);
void* CmiAlignedAlloc(size_t alignment, size_t bytes);
void* CmiMallocAligned(const size_t bytes, const unsigned int alignment);
void CmiFreeAligned(void* block);
void* malloc_nomigrate(size_t bytes);
void free_nomigrate(void* block);
// Bytes of memory that this process holds now, and most held so far.
CMK_TYPEDEF_UINT8 CmiMemoryUsage(void);
CMK_TYPEDEF_UINT8 CmiMaxMemoryUsage(void);
const char* CmiMemoryUsageReporter(void);
void CmiMemoryCheck(void);  // does nothing: build with the asan preset to find errors
int CmiGetPageSize(void);

// --- locks and barriers of a process ---------------------------------------------------------------------------------
// While a PE waits, the other PEs of its OS thread run.
typedef struct CmiNodeLockStruct* CmiNodeLock;
CmiNodeLock CmiCreateLock(void);
void CmiDestroyLock(CmiNodeLock lock);
void CmiLock(CmiNodeLock lock);
void CmiUnlock(CmiNodeLock lock);
int CmiTryLock(CmiNodeLock lock);  // 0: got it
void CmiMemLock(void);
void CmiMemUnlock(void);
// All PEs of the process.
void CmiNodeBarrier(void);
void CmiNodeAllBarrier(void);
// All PEs of the run, of all its partitions. Messages are not looked at meanwhile.
int CmiBarrier(void);
int CmiBarrierZero(void);

// --- output and errors -----------------------------------------------------------------------------------------------
// Each call is written at once and whole, so that lines of several PEs don't mix.
int CmiPrintf(const char* format, ...) __attribute__((format(printf, 1, 2)));
int CmiError(const char* format, ...) __attribute__((format(printf, 1, 2)));
int CmiVPrintf(const char* format, va_list arguments);
int CmiVError(const char* format, va_list arguments);
// From the standard input of this process.
int CmiScanf(const char* format, ...) __attribute__((format(scanf, 1, 2)));
// Ends all processes of the run with status 1, saying why.
CMK_NORETURN void CmiAbort(const char* format, ...) __attribute__((format(printf, 1, 2)));
CMK_NORETURN void CmiOutOfMemory(int bytes);
CMK_NORETURN void periapt_enforce_failed(const char* expression, const char* file, int line, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
void CmiPrintStackTrace(int skip);
void CmiBacktraceRecord(void** addresses, int skip, int* levels);
char** CmiBacktraceLookup(void** addresses, int levels);  // to free()
void CmiBacktracePrint(void** addresses, int levels);

// --- files: as in the C library, begun again when a signal interrupts
// ---------------------------------------------------
FILE* CmiFopen(const char* path, const char* mode);
int CmiFclose(FILE* file);
size_t CmiFwrite(const void* items, size_t size, size_t count, FILE* file);
int CmiOpen(const char* path, int flags, int mode);
CmiInt8 CmiPwrite(int fd, const char* bytes, size_t count, size_t offset);
void CmiMkdir(const char* path);

// --- random numbers of this PE ---------------------------------------------------------------------------------------
void CrnSrand(unsigned int seed);
int CrnRand(void);      // 0 to 2^31 - 1
double CrnDrand(void);  // 0 <= x < 1

int CmiEndianness(void);  // 0: little
#ifdef __cplusplus
}
#endif

#define CmiAlignedFree(block) free(block)
#define CmiMemcpy(to, from, bytes) memcpy((to), (from), (bytes))
#define CmiSvAlloc CmiAlloc
#define CmiLog2 log2
#define CmiILog2 log2
#define CmiInCommThread() 0
#define CmiImmIsRunning() 0
#define CmiSwitchToPE(pe) (pe)
#define CmiTurnOnStats()
#define CmiTurnOffStats()
#define CmiNetworkProgress()
#define CmiNetworkProgressAfter(n)
#define CmiProbeImmediateMsg()
#define CmiEnableUrgentSend(yes)
#define _MEMCHECK(p) ((p) ? (void)0 : CmiOutOfMemory(-1))

#define CmiEnforce(expr) (CMI_LIKELY(expr) ? (void)0 : periapt_enforce_failed(#expr, __FILE__, __LINE__, "%s", ""))
#define CmiEnforceMsg(expr, ...) \
  (CMI_LIKELY(expr) ? (void)0 : periapt_enforce_failed(#expr, __FILE__, __LINE__, __VA_ARGS__))
#if CMK_ERROR_CHECKING
#define CmiAssert(expr) CmiEnforce(expr)
#define CmiAssertMsg(expr, ...) CmiEnforceMsg(expr, __VA_ARGS__)
#else
#define CmiAssert(expr) ((void)0)
#define CmiAssertMsg(expr, ...) ((void)0)
#endif

#define CmiMemoryReadFence() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define CmiMemoryWriteFence() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#ifdef __cplusplus
typedef std::atomic<int> CmiMemoryAtomicInt;
typedef std::atomic<unsigned int> CmiMemoryAtomicUInt;
#define CmiMemoryAtomicType(type) std::atomic<type>
#define CmiMemoryAtomicIncrement(v, ...) ((v).fetch_add(1))
#define CmiMemoryAtomicDecrement(v, ...) ((v).fetch_sub(1))
#define CmiMemoryAtomicFetchAndInc(v, old, ...) ((old) = (v).fetch_add(1))
#endif
