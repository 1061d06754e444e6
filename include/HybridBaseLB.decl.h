// What a .ci file means by `extern module HybridBaseLB`.
#pragma once
#include "charm++.h"
#include "runtime/loadbalance/classic/hybrid_base_lb.h"
