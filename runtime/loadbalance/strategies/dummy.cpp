// Dummy: everything stays, except on a PE that is not available. Measures what balancing itself costs.
#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

namespace {
Assignment stay(const LoadDatabase& database, const StrategyOptions&) {
  Problem problem(database, Problem::Order::as_recorded);
  LeastLoadedQueue least_loaded(problem);
  std::vector<std::size_t> homeless;
  for (std::size_t i : problem.movable) {
    if (database.pes[problem.from(i)].available)
      problem.put(i, problem.from(i));
    else
      homeless.push_back(i);
  }
  for (std::size_t i : homeless) problem.put(i, least_loaded.pe());
  return problem.assignment;
}
}  // namespace

StrategyInfo dummy() {
  return {.name = "Dummy", .classic = "DummyLB", .summary = "moves nothing", .solve = stay, .phases = true};
}

}  // namespace periapt::loadbalance
