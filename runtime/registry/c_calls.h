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
void registerExitFn(CkExitFn fn);
void CkFreeMsg(void* message);
#ifdef __cplusplus
}
#endif
