// Refine: repeatedly, the fullest PE gives the emptiest one the largest object with which that stays below the limit;
// when there is none, the largest with which neither is above the other's former load. Each such step lowers the pair's
// maximum, so it ends. PEs of one process do so among themselves first, and all of them then. (G. Finn, E. Horowitz, "A
// linear time approximation algorithm for the multiprocessor scheduling problem", BIT 19, 1979.)
#include <unordered_map>

#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

namespace {
// May the receiver be filled up to the limit only, or up to what the giver had?
enum class Mark { limit, giver };

void take_from_the_fullest(Standing& standing, const std::vector<int>& pes, double limit, Mark mark) {
  Problem& problem = standing.problem;
  LeastLoadedQueue least_loaded(problem, pes);
  std::priority_queue<std::pair<double, int>> full;
  for (int pe : pes)
    if (problem.loads[pe] > limit) full.push({problem.loads[pe], pe});
  // The emptiest gets fuller and the fullest emptier, so what does not fit now never will.
  std::unordered_map<int, std::size_t> next;
  while (!full.empty()) {
    const int from = full.top().second, to = least_loaded.pe();
    full.pop();
    const auto& here = standing.on[from];
    auto fits = [&](std::size_t i) {
      const double after = problem.loads[to] + problem.seconds(i, to);
      return problem.work(i) > 0 && (mark == Mark::limit ? after <= limit : after < problem.loads[from]);
    };
    while (next[from] < here.size() && !fits(here[next[from]])) ++next[from];
    if (next[from] == here.size()) continue;  // it cannot get better
    problem.move(here[next[from]++], to);
    least_loaded.lowered(from);
    if (problem.loads[from] > limit) full.push({problem.loads[from], from});
  }
}

Assignment refine_all(const LoadDatabase& database, const StrategyOptions& options) {
  Standing standing(database);
  if (standing.problem.available.empty()) return standing.problem.assignment;
  const double limit = options["tolerance"] * standing.problem.average();
  const auto processes = standing.problem.available_by_process();
  if (processes.size() > 1) {
    for (const auto& [process, pes] : processes) take_from_the_fullest(standing, pes, limit, Mark::limit);
    standing.list_again();
  }
  for (const Mark mark : {Mark::limit, Mark::giver}) {
    take_from_the_fullest(standing, standing.problem.available, limit, mark);
    standing.list_again();
  }
  return standing.problem.assignment;
}
}  // namespace

StrategyInfo refine() {
  return {.name = "Refine",
          .classic = "RefineLB",
          .summary = "moves objects away from PEs above the average only",
          .solve = refine_all,
          .options = {{"tolerance", 1.03, 1, 100, "how full a PE may stay, in times of the average"}}};
}

}  // namespace periapt::loadbalance
