/* Locks of a process by the names that Charm++'s machine layers have for them. Plain C. */
#pragma once
#include "converse.h"

typedef CmiNodeLock LrtsNodeLock;
static inline LrtsNodeLock LrtsCreateLock(void) { return CmiCreateLock(); }
static inline void LrtsDestroyLock(LrtsNodeLock lock) { CmiDestroyLock(lock); }
static inline void LrtsLock(LrtsNodeLock lock) { CmiLock(lock); }
static inline void LrtsUnlock(LrtsNodeLock lock) { CmiUnlock(lock); }
static inline int LrtsTryLock(LrtsNodeLock lock) { return CmiTryLock(lock); }
