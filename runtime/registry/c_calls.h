// Calls of charm.h that programs in C have too. Plain C, and C++17: reached from charm.h.
#pragma once
#include "base/cmk.h"

#ifdef __cplusplus
extern "C" {
// Ends the program with an exit code, after what was registered with registerExitFn ran. Does not return.
CMK_NORETURN void realCkExit(int code = 0);
#define CkExit(...) realCkExit(__VA_ARGS__)
#else
CMK_NORETURN void realCkExit(int code);
#define CkExit(...) realCkExit(__VA_ARGS__ + 0)  // without a code: 0
#endif
int CkGetArgc(void);
char** CkGetArgv(void);
typedef void (*CkExitFn)(void);
// Called on PE 0 when CkExit() is, each after the one before it is over: when CkContinueExit() is called (on any PE),
// or when no message is left of what it has begun.
void registerExitFn(CkExitFn fn);
void CkContinueExit(void);
void CkFreeMsg(void* message);
// Whether traces record what PEs of this process execute of an entry, by its number. What it was before is answered.
int CkDisableTracing(int entry);
void CkEnableTracing(int entry);
// Prints "Hello::work(int n)" of an entry, or "Hello" of a chare by its number.
void CkPrintEntryMethod(int entry);
void CkPrintChareName(int chare);
#ifdef __cplusplus
}
#endif
