// HybridBaseLB.h as balancers include it.
#pragma once
#include "charm++.h"
#include "runtime/loadbalance/classic/hybrid_base_lb.h"
