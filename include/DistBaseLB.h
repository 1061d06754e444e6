// DistBaseLB.h as balancers include it.
#pragma once
#include "charm++.h"
#include "runtime/loadbalance/classic/dist_base_lb.h"
