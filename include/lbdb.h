// lbdb.h as programs include it: what they call about load balancing.
#pragma once
#include "runtime/loadbalance/lb_manager.h"
