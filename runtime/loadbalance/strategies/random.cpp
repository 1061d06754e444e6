// Random: everything anywhere, to try out a program's migration.
#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

namespace {
Assignment scatter(const LoadDatabase& database, const StrategyOptions&) {
  Problem problem(database);
  // splitmix64 (G. L. Steele et al., 2014), from the step's number: a run can be repeated.
  std::uint64_t state = database.step;
  for (std::size_t i : problem.movable) {
    std::uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    problem.assignment[i] = problem.available[(z ^ (z >> 31)) % problem.available.size()];
  }
  return problem.assignment;
}
}  // namespace

StrategyInfo random() {
  return {.name = "Random",
          .classic = "RandCentLB",
          .summary = "everything to a random PE, to test migration",
          .solve = scatter};
}

}  // namespace periapt::loadbalance
