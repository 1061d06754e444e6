// Strategies that do not balance: to try out a program's migration, and to measure what balancing costs.
#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

Assignment rotate(const LoadDatabase& database) {
  Problem problem(database);
  for (std::size_t i : problem.movable) {
    auto next = std::upper_bound(problem.available.begin(), problem.available.end(), problem.from(i));
    problem.assignment[i] = next == problem.available.end() ? problem.available.front() : *next;
  }
  return problem.assignment;
}

Assignment scatter(const LoadDatabase& database) {
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

// Except from a PE that is not available.
Assignment stay(const LoadDatabase& database) {
  Problem problem(database);
  Emptiest emptiest(problem);
  std::vector<std::size_t> homeless;
  for (std::size_t i : problem.movable) {
    if (database.pes[problem.from(i)].available)
      problem.put(i, problem.from(i));
    else
      homeless.push_back(i);
  }
  for (std::size_t i : homeless) problem.put(i, emptiest.pe());
  return problem.assignment;
}

}  // namespace periapt::loadbalance
