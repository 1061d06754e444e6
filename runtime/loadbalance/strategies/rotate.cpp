// Rotate: everything one PE further, to try out a program's migration and to measure what it costs.
#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

namespace {
Assignment one_further(const LoadDatabase& database, const StrategyOptions&) {
  Problem problem(database, Problem::Order::as_recorded);
  std::vector<int> next(database.pes.size());  // by PE
  for (std::size_t pe = 0; pe < next.size(); ++pe) {
    auto further = std::upper_bound(problem.available.begin(), problem.available.end(), static_cast<int>(pe));
    if (!problem.available.empty())
      next[pe] = further == problem.available.end() ? problem.available.front() : *further;
  }
  for (std::size_t i : problem.movable) problem.assignment[i] = next[problem.from(i)];
  return problem.assignment;
}
}  // namespace

StrategyInfo rotate() {
  return {.name = "Rotate",
          .classic = "RotateLB",
          .summary = "everything to the next PE, to test migration",
          .solve = one_further,
          .phases = true};
}

}  // namespace periapt::loadbalance
