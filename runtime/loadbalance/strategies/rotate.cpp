// Rotate: everything one PE further, to try out a program's migration and to measure what it costs.
#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

namespace {
Assignment one_further(const LoadDatabase& database, const StrategyOptions&) {
  Problem problem(database, Problem::Order::as_recorded);
  for (std::size_t i : problem.movable) {
    auto next = std::upper_bound(problem.available.begin(), problem.available.end(), problem.from(i));
    problem.assignment[i] = next == problem.available.end() ? problem.available.front() : *next;
  }
  return problem.assignment;
}
}  // namespace

StrategyInfo rotate() {
  return {.name = "Rotate",
          .classic = "RotateLB",
          .summary = "everything to the next PE, to test migration",
          .solve = one_further};
}

}  // namespace periapt::loadbalance
