// ckgraph.h as balancers include it.
#pragma once
#include "charm++.h"
#include "runtime/loadbalance/classic/graph.h"
