// Which strategies conformance_test.cpp tries: those of the list, or plug-ins.
#pragma once
#include <vector>

#include "runtime/loadbalance/strategy.h"

namespace periapt::loadbalance {
const std::vector<const StrategyInfo*>& tested_strategies();
}  // namespace periapt::loadbalance
