// What a .ci file means by `extern module TraceSummary`: traces are in every program.
#pragma once
#include "charm++.h"
inline void _registerTraceSummary() {}
