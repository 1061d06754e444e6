// CentralLB.h as balancers include it.
#pragma once
#include "charm++.h"
#include "runtime/loadbalance/classic/central_lb.h"
