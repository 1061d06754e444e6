// GreedyComm: keeps together what exchanges messages, and loads even. Objects are placed along what they say to each
// other: the largest, then its partners, then theirs. Each goes to the PE with which it would exchange most of those
// that have room for it, a fuller one counting less; where there is none, to the one with the least load. (I. Stanton,
// G. Kliot, "Streaming graph partitioning for large distributed graphs", KDD 2012: linear greedy.)
#include "runtime/loadbalance/strategies/greedy.h"
#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

namespace {
class GreedyCommSolver {
 public:
  GreedyCommSolver(const LoadDatabase& database, const StrategyOptions& options)
      : problem_(database),
        least_loaded_(problem_),
        partners_(partners_of(database)),
        placed_(database.objects.size(), true),
        reached_(database.objects.size()),
        exchange_(database.pes.size()),
        room_(options["tolerance"] * balance_of(database, place_greedily(database)).max),
        message_bytes_(options["message_bytes"]) {
    for (std::size_t i : problem_.movable) placed_[i] = false;
  }

  Assignment solve() {
    std::vector<std::size_t> line;  // objects in the order in which they are placed
    for (std::size_t seed : problem_.movable) {
      if (!reached_[seed]) reach(seed, line);
      for (; next_ < line.size(); ++next_) {
        const std::size_t i = line[next_];
        problem_.put(i, best_pe(i));
        placed_[i] = true;
        for (const Partner& partner : partners_[i])
          if (!placed_[partner.object] && !reached_[partner.object]) reach(partner.object, line);
      }
    }
    return problem_.assignment;
  }

 private:
  void reach(std::size_t object, std::vector<std::size_t>& line) {
    reached_[object] = true;
    line.push_back(object);
  }

  int best_pe(std::size_t i) {
    std::vector<int> near;
    for (const Partner& partner : partners_[i]) {
      if (!placed_[partner.object]) continue;
      const int pe = problem_.assignment[partner.object];
      if (exchange_[pe] == 0) near.push_back(pe);
      exchange_[pe] += static_cast<double>(partner.bytes) + message_bytes_ * static_cast<double>(partner.messages);
    }
    const int own = problem_.from(i), least = least_loaded_.pe();
    int best = available(own) && problem_.loads[own] <= problem_.loads[least] ? own : least;
    double best_score = 0;
    for (int pe : near) {
      const bool fits = available(pe) && problem_.loads[pe] + problem_.seconds(i, pe) <= room_;
      const double score = fits && room_ > 0 ? exchange_[pe] * (1 - problem_.loads[pe] / room_) : 0;
      if (score > best_score) {
        best = pe;
        best_score = score;
      }
      exchange_[pe] = 0;
    }
    return best;
  }
  bool available(int pe) const { return problem_.database.pes[pe].available; }

  Problem problem_;
  LeastLoadedQueue least_loaded_;
  const Partners partners_;
  std::vector<char> placed_, reached_;
  std::vector<double> exchange_;  // by PE, of the object that is being placed
  const double room_;             // seconds that a PE may be filled to
  const double message_bytes_;
  std::size_t next_ = 0;
};
}  // namespace

StrategyInfo greedy_comm() {
  return {.name = "GreedyComm",
          .classic = "GreedyCommLB",
          .summary = "keeps together what exchanges messages, and loads nearly as even as Greedy",
          .solve = [](const LoadDatabase& database,
                      const StrategyOptions& options) { return GreedyCommSolver(database, options).solve(); },
          .options = {{"tolerance", 1.1, 1, 100, "how full a PE may be, in times of what Greedy reaches"},
                      {"message_bytes", 1000, 0, 1e9, "how many bytes a message counts as beside its own"}},
          .communication = true};
}

}  // namespace periapt::loadbalance
