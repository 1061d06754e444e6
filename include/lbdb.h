// lbdb.h as programs include it: what balancers see of objects and messages.
#pragma once
#include "runtime/loadbalance/classic/load_data.h"
#include "runtime/loadbalance/lb_manager.h"
