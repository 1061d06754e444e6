// RefineSwap: like Refine, and where no object fits, the fullest PE swaps one for a smaller one of an emptier PE. So it
// comes closer where objects are few and large. (P. Schuurman, T. Vredeveld, "Performance guarantees of local search
// for multiprocessor scheduling", INFORMS Journal on Computing 19, 2007: the jump and swap neighbourhoods.)
#include <optional>

#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

namespace {
class Swapping {
 public:
  Swapping(const LoadDatabase& database, const StrategyOptions& options)
      : standing_(database), limit_(options["tolerance"] * problem_.average()) {
    for (int pe : problem_.available) by_load_.push_back(pe);
  }

  Assignment solve() {
    std::priority_queue<std::pair<double, int>> full;
    for (int pe : problem_.available)
      if (problem_.loads[pe] > limit_) full.push({problem_.loads[pe], pe});
    while (!full.empty()) {
      const auto [load, from] = full.top();
      full.pop();
      if (load != problem_.loads[from]) continue;  // there is a newer entry
      if (!relieve(from)) continue;
      if (problem_.loads[from] > limit_) full.push({problem_.loads[from], from});
    }
    return problem_.assignment;
  }

 private:
  // Both PEs stay below what the fuller one had.
  bool relieve(int from) {
    // A few of the emptiest: what fits nowhere there fits nowhere.
    const std::size_t few = std::min<std::size_t>(by_load_.size(), 8);
    std::partial_sort(by_load_.begin(), by_load_.begin() + static_cast<std::ptrdiff_t>(few), by_load_.end(),
                      [&](int a, int b) { return std::pair(problem_.loads[a], a) < std::pair(problem_.loads[b], b); });
    const double before = problem_.loads[from];
    if (give(from, by_load_[0], limit_)) return true;
    for (std::size_t k = 0; k < few; ++k) {
      const int to = by_load_[k];
      if (to == from) continue;
      if (const auto pair = best_swap(from, to)) {
        standing_.move(pair->first, to);
        standing_.move(pair->second, from);
        return true;
      }
      if (give(from, to, before * (1 - 1e-9))) return true;
    }
    return false;
  }

  // The largest object with which the receiver is not above the mark.
  bool give(int from, int to, double mark) {
    if (from == to) return false;
    for (std::size_t i : standing_.on[from])
      if (problem_.work(i) > 0 && problem_.loads[to] + problem_.seconds(i, to) <= mark) {
        standing_.move(i, to);
        return true;
      }
    return false;
  }

  // The pair after which the fuller of both is emptiest. Both lists fall, so as one goes down the other does.
  std::optional<std::pair<std::size_t, std::size_t>> best_swap(int from, int to) const {
    std::optional<std::pair<std::size_t, std::size_t>> best;
    double best_load = problem_.loads[from] * (1 - 1e-9);
    auto there = standing_.on[to].begin();
    for (std::size_t i : standing_.on[from]) {
      auto result = [&](std::size_t j) {
        const double here_after = problem_.loads[from] - problem_.seconds(i, from) + problem_.seconds(j, from);
        const double there_after = problem_.loads[to] - problem_.seconds(j, to) + problem_.seconds(i, to);
        return std::max(here_after, there_after);
      };
      while (there != standing_.on[to].end() && problem_.work(*there) >= problem_.work(i)) ++there;
      for (auto j = there; j != standing_.on[to].end(); ++j) {
        if (result(*j) < best_load) {
          best_load = result(*j);
          best = {i, *j};
        } else if (best) {
          break;
        }
      }
    }
    return best;
  }

  Standing standing_;
  Problem& problem_ = standing_.problem;
  const double limit_;
  std::vector<int> by_load_;
};
}  // namespace

StrategyInfo refine_swap() {
  return {.name = "RefineSwap",
          .classic = "RefineSwapLB",
          .summary = "Refine that also swaps objects: for few large ones",
          .solve = [](const LoadDatabase& database,
                      const StrategyOptions& options) { return Swapping(database, options).solve(); },
          .options = {{"tolerance", 1.01, 1, 100, "how full a PE may stay, in times of the average"}}};
}

}  // namespace periapt::loadbalance
