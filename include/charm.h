// The C-like calls of Charm++. Plain C. (Programs in C have those of c_calls.h, ck.h and converse.h.)
#pragma once
#include "charm-api.h"
#include "converse.h"
#include "runtime/converse/ck.h"
#include "runtime/registry/c_calls.h"
#ifdef __cplusplus
#include "runtime/face/entry_calls.h"
#include "runtime/face/startup.h"
#include "runtime/face/when_idle.h"
#include "runtime/registry/by_hand.h"
#include "runtime/registry/entry_options.h"
#include "runtime/registry/messages.h"
#include "runtime/registry/registry.h"
#endif

// Whether this PE takes part in loops that others share (CkLoop).
#define CkSetPeHelpsOtherThreads CmiSetPeHelpsOtherThreads
#define CkWithinNodeBroadcast CkBroadcastWithinNode
// The next multiple of `to`, a power of 2.
#define CK_ALIGN(size, to) (((size) + (to)-1) & ~((to)-1))
