// GreedyRefine under the names of other strategies.
#pragma once
#include "runtime/loadbalance/strategy.h"

namespace periapt::loadbalance {
StrategyInfo greedy_refine();
}  // namespace periapt::loadbalance
