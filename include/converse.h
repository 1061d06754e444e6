// Converse: see runtime/scheduler/converse.h. Plain C.
#pragma once
#include "conv-config.h"
#include "runtime/scheduler/converse.h"
#ifdef __cplusplus
#include "pup.h"
#include "runtime/scheduler/trace_events.h"
#endif
