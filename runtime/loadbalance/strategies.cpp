// The list of strategies.
#include <algorithm>

#include "runtime/loadbalance/strategy.h"

namespace periapt::loadbalance {

const std::vector<StrategyInfo>& strategies() {
  static const std::vector<StrategyInfo> list = {
      {"GreedyRefine", "GreedyRefineLB", "near the best balance with few migrations (the one to start with)", greedy_refine},
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

namespace {
// Levenshtein's distance, one row at a time.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}
}  // namespace

std::string nearest_strategy(const std::string& name) {
  std::string nearest;
  std::size_t least = ~std::size_t{0};
  for (const StrategyInfo& s : strategies())
    for (const char* known : {s.name, s.classic})
      if (const std::size_t d = distance(name, known); d < least) {
        least = d;
        nearest = known;
      }
  return nearest;
}

}  // namespace periapt::loadbalance
