// What a .ci file means by `extern module CommonLBs`: the balancers are in every program.
#pragma once
#include "charm++.h"
inline void _registerCommonLBs() {}
