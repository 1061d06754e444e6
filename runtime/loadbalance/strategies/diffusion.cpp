// Diffusion: load flows between neighbours only, as heat does. Neighbours of a PE are those PEs that its objects
// exchange most with, and the ones before and after it. First it is computed how much has to flow where, then objects
// are sent that amount to it, those first that the receiver hears most from. (G. Cybenko, "Dynamic load balancing for
// distributed memory multiprocessors", JPDC 7, 1989; Y. F. Hu, R. J. Blake, D. R. Emerson, Concurrency 10, 1998: flow
// first, objects after.)
#include <map>

#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

namespace {
class Diffusion {
 public:
  Diffusion(const LoadDatabase& database, const StrategyOptions& options)
      : standing_(database), partners_(database), options_(options), near_(database.pes.size()) {}

  Assignment solve() {
    if (problem_.available.size() < 2) return problem_.assignment;
    find_neighbours();
    flow();
    // What passes through a PE goes on in the next round.
    for (int round = 0; round < static_cast<int>(options_["rounds"]); ++round) {
      bool any = false;
      for (int pe : problem_.available) any |= send(pe);
      if (!any) break;
    }
    return problem_.assignment;
  }

 private:
  struct Edge {
    int to;
    double work = 0;  // that is still to flow there
  };

  void find_neighbours() {
    std::vector<std::map<int, double>> traffic(near_.size());
    for (std::size_t i = 0; i < problem_.assignment.size(); ++i)
      for (const Partner& partner : partners_[i]) {
        const int a = problem_.assignment[i], b = problem_.assignment[partner.object];
        if (a != b) traffic[a][b] += exchange(partner);
      }
    const auto most = static_cast<std::size_t>(options_["neighbours"]);
    for (std::size_t k = 0; k < problem_.available.size(); ++k) {
      const int pe = problem_.available[k];
      connect(pe, problem_.available[(k + 1) % problem_.available.size()]);
      std::vector<std::pair<double, int>> by_traffic;
      for (const auto& [other, bytes] : traffic[pe])
        if (problem_.is_available(other)) by_traffic.emplace_back(-bytes, other);
      std::sort(by_traffic.begin(), by_traffic.end());
      for (std::size_t n = 0; n < std::min(most, by_traffic.size()); ++n) connect(pe, by_traffic[n].second);
    }
  }
  void connect(int a, int b) {
    if (a == b || std::any_of(near_[a].begin(), near_[a].end(), [b](const Edge& e) { return e.to == b; })) return;
    near_[a].push_back({b});
    near_[b].push_back({a});
  }

  void flow() {
    std::vector<double> loads = problem_.loads, next;
    const double average = problem_.average();
    for (int step = 0; step < static_cast<int>(options_["steps"]); ++step) {
      double fullest = 0;
      for (int pe : problem_.available) fullest = std::max(fullest, loads[pe]);
      if (fullest <= options_["tolerance"] * average) break;
      next = loads;
      for (int pe : problem_.available)
        for (Edge& edge : near_[pe]) {
          const double part = 1.0 / static_cast<double>(1 + std::max(near_[pe].size(), near_[edge.to].size()));
          const double speed = std::min(speed_of(pe), speed_of(edge.to));
          // Also when negative: the other side sees it.
          const double flowing = part * speed * (loads[pe] - loads[edge.to]);
          edge.work += flowing;
          next[pe] -= flowing / speed_of(pe);
        }
      loads.swap(next);
    }
  }

  // The object that fits into what is to flow and saves most traffic, until none does.
  bool send(int pe) {
    bool any = false;
    for (Edge& edge : near_[pe]) {
      if (edge.work <= 0) continue;
      std::vector<std::pair<double, std::size_t>> order;
      for (std::size_t i : standing_.on[pe]) order.emplace_back(loss(i, pe, edge.to), i);
      std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& [value, i] : order) {
        const double work = problem_.work(i);
        if (work <= 0 || work / 2 > edge.work) continue;
        if (problem_.loads[edge.to] + problem_.seconds(i, edge.to) >= problem_.loads[pe]) continue;
        standing_.move(i, edge.to);
        edge.work -= work;
        any = true;
      }
    }
    return any;
  }
  double speed_of(int pe) const { return problem_.database.pes[pe].speed; }
  double loss(std::size_t i, int pe, int to) const {
    double bytes = 0;
    for (const Partner& partner : partners_[i]) {
      const int where = problem_.assignment[partner.object];
      if (where == pe) bytes += exchange(partner);
      if (where == to) bytes -= exchange(partner);
    }
    return bytes;
  }
  static double exchange(const Partner& partner) {
    return static_cast<double>(partner.bytes) + 1000.0 * partner.messages;
  }

  Standing standing_;
  Problem& problem_ = standing_.problem;
  const Partners partners_;
  const StrategyOptions& options_;
  std::vector<std::vector<Edge>> near_;  // by PE; each edge at both ends, with opposite flow
};
}  // namespace

StrategyInfo diffusion() {
  return {
      .name = "Diffusion",
      .classic = "DiffusionLB",
      .summary = "load flows to PEs with which objects exchange messages, and no further",
      .solve = [](const LoadDatabase& database,
                  const StrategyOptions& options) { return Diffusion(database, options).solve(); },
      .options = {{"tolerance", 1.03, 1, 100, "when the flow ends: the fullest PE, in times of the average"},
                  {"neighbours", 8, 0, 1000, "how many PEs a PE takes for neighbours by what it exchanges with them"},
                  {"steps", 200, 1, 1e6, "how far load may flow"},
                  {"rounds", 8, 1, 1000, "how often objects may pass through a PE"}},
      .communication = true};
}

}  // namespace periapt::loadbalance
