// Futures of Converse: one thread waits for a value that another PE sets. Plain C, and C++17: reached from converse.h.
//
// A Cfuture may be copied and sent anywhere. The PE that made it waits for its value and destroys it; any PE sets it. A
// value belongs to the future and lives until that is destroyed.
#pragma once
#include "base/cmk.h"

typedef struct Cfuture_s {
  int pe;
  struct Cfuture_data_s* data;
} Cfuture;
#define CfuturePE(f) ((f).pe)

#ifdef __cplusplus
extern "C" {
#endif
Cfuture CfutureCreate(void);
// Sets it to a copy of so many bytes. Set again, it has the new value; threads that wait go on at the first.
void CfutureSet(Cfuture f, void* value, int bytes);
// The same without a copy: a buffer from CfutureCreateBuffer, which is the future's then.
void CfutureStoreBuffer(Cfuture f, void* value);
void* CfutureCreateBuffer(int bytes);
void CfutureDestroyBuffer(void* value);  // one that was not stored
// Suspends the thread until it is set, if it is not yet. On its own PE only.
void* CfutureWait(Cfuture f);
// On its own PE, when no thread waits any more.
void CfutureDestroy(Cfuture f);
// Nothing is to be initialised: for programs that ask for it.
void CfutureInit(void);
void CfutureModuleInit(void);
#ifdef __cplusplus
}
#endif
