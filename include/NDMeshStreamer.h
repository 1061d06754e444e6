// TRAM: what programs with [aggregate] entries include. The runtime itself gathers their calls: see
// runtime/aggregation/aggregation.h.
#pragma once
#include "charm++.h"
