// Converse: see runtime/scheduler/converse.h.
#pragma once
#include "conv-config.h"
#include "pup.h"
#include "runtime/scheduler/converse.h"
#include "runtime/scheduler/trace_events.h"
