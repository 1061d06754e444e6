// User events of a trace.
#pragma once
#include "runtime/converse/trace_events.h"
