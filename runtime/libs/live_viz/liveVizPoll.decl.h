// What a .ci file means by `extern module liveVizPoll`: liveVizPollInit() and liveVizPollDeposit() are in liveViz.
// C++17.
#pragma once
#include "liveViz.h"
inline void _registerliveVizPoll() {}
