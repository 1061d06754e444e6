// elements.h as balancers include it: see runtime/loadbalance/classic/records.h.
#pragma once
#include "runtime/loadbalance/classic/records.h"
