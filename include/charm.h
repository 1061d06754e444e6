// The C-like calls of Charm++. Plain C. (Programs in C have those of c_calls.h, ck.h and converse.h.)
#pragma once
#include "charm-api.h"
#include "converse.h"
#include "runtime/chare/c_calls.h"
#include "runtime/scheduler/ck.h"
#ifdef __cplusplus
#include "runtime/chare/entry_options.h"
#include "runtime/chare/messages.h"
#include "runtime/chare/registry.h"
#include "runtime/chare/startup.h"
#endif
