// Refine: repeatedly, the fullest PE gives the emptiest one the largest object with which neither is above the other's
// former load. Each such step lowers the pair's maximum, so it ends.
#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

namespace {
Assignment take_from_the_fullest(const LoadDatabase& database, const StrategyOptions& options) {
  Problem problem(database);
  if (problem.available.empty()) return problem.assignment;
  std::vector<std::vector<std::size_t>> on(database.pes.size());  // largest first
  std::vector<std::size_t> homeless;
  for (std::size_t i : problem.movable) {
    if (!database.pes[problem.from(i)].available) {
      homeless.push_back(i);
      continue;
    }
    problem.put(i, problem.from(i));
    on[problem.from(i)].push_back(i);
  }
  Emptiest emptiest(problem);
  for (std::size_t i : homeless) problem.put(i, emptiest.pe());

  double total = 0;
  for (int pe : problem.available) total += problem.loads[pe];
  const double limit = options["tolerance"] * total / static_cast<double>(problem.available.size());
  std::priority_queue<std::pair<double, int>> full;
  for (int pe : problem.available)
    if (problem.loads[pe] > limit) full.push({problem.loads[pe], pe});
  while (!full.empty()) {
    const int from = full.top().second;
    full.pop();
    auto least = std::min_element(problem.available.begin(), problem.available.end(),
                                  [&](int a, int b) { return problem.loads[a] < problem.loads[b]; });
    const int to = *least;
    auto fits = std::find_if(on[from].begin(), on[from].end(), [&](std::size_t i) {
      return problem.work(i) > 0 && problem.loads[to] + problem.seconds(i, to) < problem.loads[from];
    });
    if (fits == on[from].end()) continue;  // it cannot get better
    problem.loads[from] -= problem.seconds(*fits, from);
    problem.put(*fits, to);
    on[from].erase(fits);
    if (problem.loads[from] > limit) full.push({problem.loads[from], from});
  }
  return problem.assignment;
}
}  // namespace

StrategyInfo refine() {
  return {.name = "Refine",
          .classic = "RefineLB",
          .summary = "moves objects away from PEs above the average only",
          .solve = take_from_the_fullest,
          .options = {{"tolerance", 1.03, 1, 100, "how full a PE may stay, in times of the average"}}};
}

}  // namespace periapt::loadbalance
