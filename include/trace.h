// User events of a trace, and trace modules of a program's own.
#pragma once
#include "charm++.h"
#include "runtime/converse/trace_events.h"
#include "runtime/trace/trace_module.h"
