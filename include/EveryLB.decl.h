// What a .ci file means by `extern module EveryLB`: the balancers are in every program.
#pragma once
#include "charm++.h"
inline void _registerEveryLB() {}
