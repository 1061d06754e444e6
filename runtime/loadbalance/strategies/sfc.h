// Sfc as a part of other strategies.
#pragma once
#include "runtime/loadbalance/strategy.h"

namespace periapt::loadbalance {
StrategyInfo sfc();
}  // namespace periapt::loadbalance
