// See optimum.h.
#include "tools/lb-lab/optimum.h"

#include "runtime/loadbalance/strategies/greedy.h"
#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::lab {

using namespace loadbalance;

namespace {
class Search {
 public:
  Search(const LoadDatabase& database, std::uint64_t looks)
      : problem_(database), bound_(lower_bound(database)), looks_(looks) {
    best_ = std::min(balance_of(database, place_greedily(database)).max, balance_of(database, present(database)).max);
    if (std::any_of(database.objects.begin(), database.objects.end(),
                    [&](const ObjectLoad& o) { return !problem_.is_available(o.pe); }))
      best_ = balance_of(database, place_greedily(database)).max;
  }
  std::optional<double> solve() {
    place(0, problem_.max_load());
    return looks_ > 0 ? std::optional(best_) : std::nullopt;
  }

 private:
  void place(std::size_t k, double fullest) {
    if (looks_ == 0 || best_ <= bound_ * (1 + 1e-12) || fullest >= best_) return;
    --looks_;
    if (k == problem_.movable.size()) {
      best_ = fullest;
      return;
    }
    const std::size_t i = problem_.movable[k];
    std::vector<std::pair<double, double>> tried;  // PEs that are alike lead to the same
    for (int pe : problem_.available) {
      const std::pair alike(problem_.loads[pe], problem_.database.pes[pe].speed);
      if (std::find(tried.begin(), tried.end(), alike) != tried.end()) continue;
      tried.push_back(alike);
      const double before = problem_.loads[pe];
      problem_.loads[pe] += problem_.seconds(i, pe);
      place(k + 1, std::max(fullest, problem_.loads[pe]));
      problem_.loads[pe] = before;
    }
  }

  Problem problem_;
  const double bound_;
  double best_ = 0;
  std::uint64_t looks_;
};
}  // namespace

std::optional<double> optimum(const LoadDatabase& database, std::uint64_t looks) {
  if (database.objects.size() > 64 || database.pes.empty()) return std::nullopt;
  return Search(database, looks).solve();
}

}  // namespace periapt::lab
