// GreedyRefine. Greedy shows which makespan is within reach; with a little more than that allowed, objects are placed
// again, largest first, and stay where they are as long as their PE has room, or another one of its process. So only
// the excess of full PEs moves, and it moves in the order that packs well.
#include "runtime/loadbalance/strategies/greedy_refine.h"

#include "runtime/loadbalance/strategies/greedy.h"
#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

namespace {
Assignment refine_greedily(const LoadDatabase& database, const StrategyOptions& options) {
  const double tolerance = options["tolerance"];
  const Assignment now = present(database);
  const bool may_stay = check_assignment(database, now).empty() &&
                        std::all_of(database.objects.begin(), database.objects.end(),
                                    [&](const ObjectLoad& o) { return !o.migratable || database.pes[o.pe].available; });
  const Assignment best = place_greedily(database);
  const double reach = balance_of(database, best).max;
  const double room = tolerance * reach;
  if (may_stay && balance_of(database, now).max <= room) return now;

  Problem problem(database);
  LeastLoadedQueue least_loaded(problem);
  std::map<std::int32_t, LeastLoadedQueue> near;
  for (const auto& [process, pes] : problem.available_by_process()) near.try_emplace(process, problem, pes);
  for (std::size_t i : problem.movable) {
    const auto fits = [&](int pe) { return problem.loads[pe] + problem.seconds(i, pe) <= room; };
    const int own = problem.from(i);
    const auto process = near.find(database.pes[own].process);
    if (database.pes[own].available && fits(own)) {
      problem.put(i, own);
    } else if (process != near.end() && fits(process->second.pe())) {
      problem.put(i, process->second.pe());
    } else {
      problem.put(i, least_loaded.pe());
    }
  }
  // What stayed first may have left no good place for what came last.
  const double reached = problem.max_load();
  if (reached > room * tolerance && reach < reached) return best;
  if (may_stay && balance_of(database, now).max <= reached) return now;
  return problem.assignment;
}
}  // namespace

StrategyInfo greedy_refine() {
  return {.name = "GreedyRefine",
          .classic = "GreedyRefineLB",
          .summary = "near the best balance with few migrations (the one to start with)",
          .solve = refine_greedily,
          .options = {{"tolerance", 1.03, 1, 100, "how full a PE may be, in times of what Greedy reaches"}}};
}

}  // namespace periapt::loadbalance
