// RefineComm: like Refine, but the object that a full PE gives away, and the PE that gets it, are those between which
// the most traffic disappears. (L. V. Kale, M. Bhandarkar, R. Brunner, "Load balancing in parallel molecular dynamics",
// IRREGULAR 1998: refinement that knows the messages.)
#include "runtime/loadbalance/strategies/refine_comm.h"

#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

namespace {
class Refinement {
 public:
  Refinement(const LoadDatabase& database, const Assignment& start, const Partners& partners, double tolerance,
             double message_bytes)
      : standing_(database, start),
        least_loaded_(problem_),
        partners_(partners),
        exchange_(database.pes.size()),
        limit_(tolerance * problem_.average()),
        message_bytes_(message_bytes) {}

  Assignment solve() {
    std::priority_queue<std::pair<double, int>> full;
    for (int pe : problem_.available)
      if (problem_.loads[pe] > limit_) full.push({problem_.loads[pe], pe});
    while (!full.empty()) {
      const int from = full.top().second;
      full.pop();
      if (!relieve(from)) continue;
      if (problem_.loads[from] > limit_) full.push({problem_.loads[from], from});
    }
    return problem_.assignment;
  }

 private:
  struct Choice {
    double gain = 0;
    std::size_t object = 0;
    int to = -1;
  };
  // Looks at `few` objects that fit, largest first: more would cost more than they gain.
  bool relieve(int from) {
    constexpr int few = 16;
    Choice best;
    // Up to the limit; when nothing fits there, up to what the giver has.
    for (const double mark : {limit_, problem_.loads[from] * (1 - 1e-9)}) {
      int seen = 0;
      for (std::size_t i : standing_.on[from]) {
        const int least = least_loaded_.pe();
        if (problem_.work(i) <= 0 || problem_.loads[least] + problem_.seconds(i, least) > mark) continue;
        consider(i, from, least, best);
        if (++seen == few) break;
      }
      if (best.to >= 0) break;
    }
    if (best.to < 0) return false;
    standing_.move(best.object, best.to);
    least_loaded_.lowered(from);
    return true;
  }

  // Partners' PEs have to have room below the limit, or it would go on from there.
  void consider(std::size_t i, int from, int least, Choice& best) {
    std::vector<int> near;
    for (const Partner& partner : partners_[i]) {
      const int pe = problem_.assignment[partner.object];
      if (exchange_[pe] == 0) near.push_back(pe);
      exchange_[pe] += static_cast<double>(partner.bytes) + message_bytes_ * partner.messages;
    }
    auto take = [&](int to) {
      const double gain = exchange_[to] - exchange_[from];
      if (best.to < 0 || gain > best.gain) best = {gain, i, to};
    };
    take(least);
    for (int pe : near)
      if (pe != from && problem_.is_available(pe) && problem_.loads[pe] + problem_.seconds(i, pe) <= limit_) take(pe);
    for (int pe : near) exchange_[pe] = 0;
  }

  Standing standing_;
  Problem& problem_ = standing_.problem;
  LeastLoadedQueue least_loaded_;
  const Partners& partners_;
  std::vector<double> exchange_;  // by PE, of the object that is looked at
  const double limit_, message_bytes_;
};
}  // namespace

Assignment refine_by_messages(const LoadDatabase& database, const Assignment& start, const Partners& partners,
                              double tolerance, double message_bytes) {
  return Refinement(database, start, partners, tolerance, message_bytes).solve();
}

StrategyInfo refine_comm() {
  return {.name = "RefineComm",
          .classic = "RefineCommLB",
          .summary = "Refine that moves what exchanges messages to where it sends them",
          .solve =
              [](const LoadDatabase& database, const StrategyOptions& options) {
                return refine_by_messages(database, present(database), Partners(database), options["tolerance"],
                                          options["message_bytes"]);
              },
          .options = {{"tolerance", 1.03, 1, 100, "how full a PE may stay, in times of the average"},
                      {"message_bytes", 1000, 0, 1e9, "how many bytes a message counts as beside its own"}},
          .communication = true};
}

}  // namespace periapt::loadbalance
