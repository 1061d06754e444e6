// User events of a trace.
#pragma once
#include "runtime/scheduler/trace_events.h"
