// User events of a trace. Plain C.
#pragma once
#include "runtime/converse/trace_events.h"
