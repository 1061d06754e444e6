// What a .ci file means by `extern module DistributedLB`: the balancers are in every program.
#pragma once
#include "charm++.h"
inline void _registerDistributedLB() {}
