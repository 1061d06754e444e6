// Random: everything anywhere, to try out a program's migration.
#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

namespace {
Assignment scatter(const LoadDatabase& database, const StrategyOptions&) {
  Problem problem(database);
  Chance chance(database.step);
  for (std::size_t i : problem.movable)
    problem.assignment[i] = problem.available[chance.below(problem.available.size())];
  return problem.assignment;
}
}  // namespace

StrategyInfo random() {
  return {.name = "Random",
          .classic = "RandCentLB",
          .summary = "everything to a random PE, to test migration",
          .solve = scatter,
          .phases = true};
}

}  // namespace periapt::loadbalance
