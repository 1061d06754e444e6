// RefineTopo: RefineComm, and then what exchanges bytes comes nearer to each other, by distance.h. First PEs change
// places, each with all that may move from it; then single objects move to a PE on a host of their partners, if that
// one has room, or change places with one there. Loads stay within the tolerance. (T. Agarwal, A. Sharma, L. V. Kale,
// "Topology-aware task mapping for reducing communication contention on large parallel machines", IPDPS 2006:
// RefineTopoLB.)
#include <map>

#include "runtime/loadbalance/distance.h"
#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

namespace {
class Shortening {
 public:
  Shortening(const LoadDatabase& database, const StrategyOptions& options)
      : problem_(database, Problem::Order::as_recorded),
        distance_(database),
        partners_(database),
        message_bytes_(options["message_bytes"]),
        on_(database.pes.size()) {
    Strategy refine(*find_strategy("RefineComm"));
    refine.options["tolerance"] = options["tolerance"];
    refine.options["message_bytes"] = message_bytes_;
    const Assignment refined = refine.solve(database);
    for (std::size_t i : problem_.movable) problem_.put(i, refined[i]);
    limit_ = std::max(options["tolerance"] * problem_.average(), problem_.max_load());
    for (int pe : problem_.available) by_host_[database.pes[pe].host].push_back(pe);
    sweeps_ = static_cast<int>(options["sweeps"]);
  }

  Assignment solve() {
    exchange_pes();
    for (std::size_t i : problem_.movable) on_[problem_.assignment[i]].push_back(i);
    for (int sweep = 0; sweep < sweeps_; ++sweep) {
      bool better = false;
      for (std::size_t i : problem_.movable) better |= improve(i);
      if (!better) break;
    }
    return problem_.assignment;
  }

 private:
  double weight(const Partner& partner) const {
    return static_cast<double>(partner.bytes) + message_bytes_ * partner.messages;
  }
  // What its messages cost if it were there.
  double cost(std::size_t i, int pe) const {
    double sum = 0;
    for (const Partner& p : partners_[i]) sum += weight(p) * distance_(pe, problem_.assignment[p.object]);
    return sum;
  }
  double between(std::size_t i, std::size_t other) const {
    for (const Partner& p : partners_[i])
      if (p.object == other) return weight(p) * distance_(problem_.assignment[i], problem_.assignment[other]);
    return 0;
  }

  // A load is all that may move from one PE; it goes as a whole. What stays on a PE is a load that cannot go, with a
  // number behind the others.
  void exchange_pes() {
    const std::size_t pes = on_.size();
    std::vector<bool> moves(problem_.assignment.size());
    std::vector<double> work(pes);
    std::vector<double> stays = problem_.loads;
    for (std::size_t i : problem_.movable) {
      const int pe = problem_.assignment[i];
      moves[i] = true;
      work[pe] += problem_.work(i);
      stays[pe] -= problem_.seconds(i, pe);
    }
    const auto load_of = [&](std::size_t i) {
      return static_cast<std::size_t>(problem_.assignment[i]) + (moves[i] ? 0 : pes);
    };
    std::vector<std::map<std::size_t, double>> traffic(pes);
    for (std::size_t i : problem_.movable)
      for (const Partner& p : partners_[i])
        if (load_of(p.object) != load_of(i)) traffic[load_of(i)][load_of(p.object)] += weight(p);
    std::vector<int> place(2 * pes), held(pes);  // by load; by PE
    for (std::size_t pe = 0; pe < pes; ++pe) place[pe] = place[pes + pe] = held[pe] = static_cast<int>(pe);
    const auto cost_at = [&](int load, int pe) {
      double sum = 0;
      for (const auto& [other, bytes] : traffic[load]) sum += bytes * distance_(pe, place[other]);
      return sum;
    };
    const auto fits = [&](int load, int pe) {
      return stays[pe] + work[load] / problem_.database.pes[pe].speed <= limit_;
    };
    // At other PEs: all of them, or as many as it has time for.
    const std::size_t looks_max = std::clamp<std::size_t>(1'000'000 / (pes + 1), 8, 1000);
    Chance chance(problem_.database.step);
    for (int sweep = 0; sweep < sweeps_; ++sweep) {
      bool better = false;
      for (int from : problem_.available) {
        for (std::size_t look = 0; look < std::min(looks_max, problem_.available.size()); ++look) {
          const std::size_t at =
              problem_.available.size() <= looks_max ? look : chance.below(problem_.available.size());
          const int to = problem_.available[at], load = held[from], other = held[to];
          if (load == other || !fits(load, to) || !fits(other, from)) continue;
          const auto shared = traffic[load].find(static_cast<std::size_t>(other));
          const double gain = cost_at(load, from) + cost_at(other, to) - cost_at(load, to) - cost_at(other, from) -
                              (shared == traffic[load].end() ? 0 : 2 * shared->second * distance_(from, to));
          if (gain <= 1e-9 * cost_at(load, from)) continue;
          std::swap(held[from], held[to]);
          std::swap(place[load], place[other]);
          better = true;
        }
      }
      if (!better) break;
    }
    for (std::size_t i : problem_.movable) problem_.move(i, place[problem_.assignment[i]]);
  }

  bool improve(std::size_t i) {
    const int from = problem_.assignment[i];
    const double now = cost(i, from);
    std::vector<std::pair<double, int>> places;  // what would be won, and where
    for (int pe : near(i))
      if (const double gain = now - cost(i, pe); gain > 0) places.emplace_back(-gain, pe);
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    for (const auto& [loss, to] : places) {
      if (problem_.loads[to] + problem_.seconds(i, to) <= limit_) return move(i, to), true;
      if (swap(i, to, -loss)) return true;
    }
    return false;
  }

  // PEs on the hosts of its partners, some of each.
  std::vector<int> near(std::size_t i) const {
    constexpr std::size_t partners_max = 8, of_a_host = 8;
    std::vector<int> pes;
    std::size_t seen = 0;
    for (const Partner& partner : partners_[i]) {
      if (++seen > partners_max) break;
      const int pe = problem_.assignment[partner.object];
      if (problem_.is_available(pe)) pes.push_back(pe);
      const auto host = by_host_.find(problem_.database.pes[pe].host);
      if (host == by_host_.end()) continue;
      for (std::size_t k = 0; k < std::min(of_a_host, host->second.size()); ++k) pes.push_back(host->second[k]);
    }
    return pes;
  }

  // With an object there that loses less by it than this one wins.
  bool swap(std::size_t i, int to, double gain) {
    constexpr std::size_t few = 32;
    const int from = problem_.assignment[i];
    std::size_t best = i, seen = 0;
    double most = 1e-9 * gain;
    for (std::size_t other : on_[to]) {
      if (++seen > few) break;
      const double to_load = problem_.loads[to] - problem_.seconds(other, to) + problem_.seconds(i, to);
      const double from_load = problem_.loads[from] - problem_.seconds(i, from) + problem_.seconds(other, from);
      if (to_load > limit_ || from_load > limit_) continue;
      // Their own messages go the same way as before: they were counted as if one of them stayed.
      const double all = gain + cost(other, to) - cost(other, from) - 2 * between(i, other);
      if (all > most) {
        most = all;
        best = other;
      }
    }
    if (best == i) return false;
    move(best, from);
    move(i, to);
    return true;
  }

  void move(std::size_t i, int to) {
    auto& here = on_[problem_.assignment[i]];
    here.erase(std::find(here.begin(), here.end(), i));
    on_[to].push_back(i);
    problem_.move(i, to);
  }

  Problem problem_;
  const Distance distance_;
  const Partners partners_;
  const double message_bytes_;
  double limit_;
  int sweeps_;
  std::vector<std::vector<std::size_t>> on_;  // by PE: objects that may move
  std::map<int, std::vector<int>> by_host_;   // available PEs
};
}  // namespace

StrategyInfo refine_topo() {
  return {.name = "RefineTopo",
          .classic = "RefineTopoLB",
          .summary = "RefineComm, then what exchanges messages comes nearer: same process, same host, fewer hops",
          .solve = [](const LoadDatabase& database,
                      const StrategyOptions& options) { return Shortening(database, options).solve(); },
          .options = {{"tolerance", 1.03, 1, 100, "how full a PE may stay, in times of the average"},
                      {"message_bytes", 1000, 0, 1e9, "how many bytes a message counts as beside its own"},
                      {"sweeps", 4, 0, 1000, "how often it looks at all objects"}},
          .communication = true};
}

}  // namespace periapt::loadbalance
