// The list of strategies.
#include "base/nearest.h"
#include "runtime/loadbalance/strategy.h"

namespace periapt::loadbalance {

const std::vector<StrategyInfo>& strategies() {
  static const std::vector<StrategyInfo> list = {
      {"GreedyRefine", "GreedyRefineLB", "near the best balance with few migrations (the one to start with)",
       greedy_refine},
      {"Greedy", "GreedyLB", "best balance, migrates nearly everything", greedy},
      {"Refine", "RefineLB", "moves objects away from PEs above the average only", refine},
      {"Rotate", "RotateLB", "everything to the next PE, to test migration", rotate},
      {"Random", "RandCentLB", "everything to a random PE, to test migration", scatter},
      {"Dummy", "DummyLB", "moves nothing", stay},
      {"Tree", "TreeLB", "what a program gets that asks for no strategy of the tree: GreedyRefine", greedy_refine},
  };
  return list;
}

const StrategyInfo* find_strategy(const std::string& name) {
  for (const StrategyInfo& s : strategies())
    if (name == s.name || name == s.classic) return &s;
  return nullptr;
}

std::string nearest_strategy(const std::string& name) {
  std::vector<std::string_view> known;
  for (const StrategyInfo& s : strategies()) known.insert(known.end(), {s.name, s.classic});
  return nearest(name, known);
}

}  // namespace periapt::loadbalance
