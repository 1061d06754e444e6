// The tree of strategies, under its names.
#pragma once
#include "runtime/loadbalance/strategy.h"

namespace periapt::loadbalance {
StrategyInfo tree();
}  // namespace periapt::loadbalance
