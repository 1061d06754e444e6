// What a .ci file means by `extern module TraceProjections`: traces are in every program.
#pragma once
#include "charm++.h"
inline void _registerTraceProjections() {}
