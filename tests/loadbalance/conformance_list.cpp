// All of strategies/list.inc.
#include "tests/loadbalance/conformance.h"

namespace periapt::loadbalance {
const std::vector<const StrategyInfo*>& tested_strategies() {
  static const std::vector<const StrategyInfo*> all = [] {
    std::vector<const StrategyInfo*> list;
    for (const StrategyInfo& info : strategies()) list.push_back(&info);
    return list;
  }();
  return all;
}
}  // namespace periapt::loadbalance
