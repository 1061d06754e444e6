// LBManager.h as programs include it: what they call about load balancing.
#pragma once
#include "runtime/loadbalance/classic/balancer_options.h"
#include "runtime/loadbalance/classic/load_data.h"
#include "runtime/loadbalance/lb_manager.h"
