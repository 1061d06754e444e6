// User events of a trace, as old programs include them. (There is no class Trace: traces of a program's own are not
// made.)
#pragma once
#include "runtime/converse/trace_events.h"
