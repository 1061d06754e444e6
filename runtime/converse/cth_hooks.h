// Cth, what few programs ask of threads: a strategy of their own, links between threads, numbers. Plain C, and C++17:
// reached from converse.h.
//
// A strategy takes over where a thread waits for its turn and what runs when it stops. The scheduler's context, which
// is no thread (CthSelf() is null there), can't have one; choose() answers null to give the turn back to it.
#pragma once
#include "runtime/converse/converse.h"

// What stands for a thread in queues: a message whose handler resumes it, so awaken() may give it to CsdEnqueueGeneral.
// It belongs to the runtime.
typedef struct {
  char head[CmiReservedHeaderSize];
  CthThread thread;
  int serialNo;
} CthThreadToken;
// CthAwaken(t) and CthAwakenPrio call awaken with t's token; priority words are the caller's and not copied.
typedef void (*CthAwkFn)(CthThreadToken* token, int strategy, int priority_bits, unsigned int* priority);
// CthSuspend() calls choose, also when a thread has ended; the answer is a thread that is ready and in no queue any
// more.
typedef CthThread (*CthThFn)(void);

#define OBJ_ID_SZ 4
typedef struct CmiObjId {
  int id[OBJ_ID_SZ];
#ifdef __cplusplus
  CmiObjId() : id{-1, -1, -1, -1} {}
  bool isNull() const { return *this == CmiObjId(); }
  bool operator==(const CmiObjId& other) const {
    for (int i = 0; i < OBJ_ID_SZ; ++i)
      if (id[i] != other.id[i]) return false;
    return true;
  }
#endif
} CmiObjId;

#ifdef __cplusplus
extern "C" {
#endif
void CthSetStrategy(CthThread t, CthAwkFn awaken, CthThFn choose);
CthThreadToken* CthGetToken(CthThread t);
// As awaken of a strategy: the scheduler's queue.
void CthEnqueueNormalThread(CthThreadToken* token, int strategy, int priority_bits, unsigned int* priority);
void CthSetSerialNo(CthThread t, int number);

// A link for the program's own lists of threads; null at first. The runtime doesn't look at it.
CthThread CthGetNext(CthThread t);
void CthSetNext(CthThread t, CthThread next);

// What a program calls a thread; -1 each until it does. The answer lives as long as the thread.
CmiObjId* CthGetThreadID(CthThread t);
void CthSetThreadID(CthThread t, int a, int b, int c);

// A place on the stack of t as bytes from its low end, and back.
size_t CthStackOffset(CthThread t, char* place);
char* CthPointer(CthThread t, size_t offset);
void CthPrintThdStack(CthThread t);
void CthPrintThdMagic(CthThread t);
// Runs t now.
void CthSwitchThread(CthThread t);
CthThread CthGetCurrentThread(void);

// Threads don't move between PEs: 0, and an error that ends the run.
int CthMigratable(void);
CthThread CthPup(pup_er p, CthThread t);
// Nothing takes the processor from a thread that doesn't suspend: these do nothing, and the frequency is 0.
void CthAutoYield(CthThread t, int yes);
double CthAutoYieldFreq(CthThread t);
void CthAutoYieldBlock(void);
void CthAutoYieldUnblock(void);
// Traces see threads by themselves, and room for variables is made when it is first asked for: these do nothing.
void CthTraceResume(CthThread t);
void CthSetEventInfo(CthThread t, int event, int source_pe);
void CthRegistered(size_t bytes);
#ifdef __cplusplus
}
#endif

#define CthCpvDeclare(t, v) CpvDeclare(t, v)
#define CthCpvExtern(t, v) CpvExtern(t, v)
#define CthCpvStatic(t, v) CpvStaticDeclare(t, v)
#define CthCpvInitialize(t, v) CpvInitialize(t, v)
#define CthCpvAccess(v) CpvAccess(v)
