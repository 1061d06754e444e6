// Greedy: R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17 (1969): the largest first,
// each to the machine with the least load, ends within 4/3 of the optimum.
#include "runtime/loadbalance/strategies/greedy.h"

#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

Assignment place_greedily(const LoadDatabase& database) {
  Problem problem(database);
  LeastLoadedQueue least_loaded(problem);
  for (std::size_t i : problem.movable) {
    const int least = least_loaded.pe();
    const int own = problem.from(i);
    const bool as_good = database.pes[own].available && problem.loads[own] <= problem.loads[least];
    problem.put(i, as_good ? own : least);
  }
  return problem.assignment;
}

StrategyInfo greedy() {
  return {.name = "Greedy",
          .classic = "GreedyLB",
          .summary = "best balance, migrates nearly everything",
          .solve = [](const LoadDatabase& database, const StrategyOptions&) { return place_greedily(database); }};
}

}  // namespace periapt::loadbalance
