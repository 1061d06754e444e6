// Converse: see runtime/converse/converse.h. Plain C.
#pragma once
#include "conv-config.h"
#include "runtime/converse/converse.h"
#ifdef __cplusplus
#include "pup.h"
#include "runtime/converse/trace_events.h"
#endif
