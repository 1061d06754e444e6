// See rumours.h.
#include "runtime/loadbalance/rumours.h"

#include <numeric>

namespace periapt::loadbalance {

namespace {

// What every PE has heard: for each a list of PEs, without a second copy of any.
class Rumours {
 public:
  Rumours(const Problem& problem, const GossipRules& rules, double average, Chance& chance)
      : available_(problem.available), known_(problem.database.pes.size()), rules_(rules), chance_(chance) {
    for (int pe : available_)
      if (problem.loads[pe] < average) known_[pe].push_back(pe);
    std::vector<int> fresh;  // have heard something that they have not told yet
    for (int pe : available_)
      if (!known_[pe].empty()) fresh.push_back(pe);
    for (int round = 0; round < rules.rounds && !fresh.empty(); ++round) tell(fresh);
  }
  const std::vector<int>& of(int pe) const { return known_[pe]; }

 private:
  // Messages of one round are sent before any is read.
  void tell(std::vector<int>& fresh) {
    std::vector<std::pair<int, int>> messages;
    for (int from : fresh)
      for (int k = 0; k < rules_.fanout; ++k) messages.emplace_back(available_[chance_.below(available_.size())], from);
    std::vector<std::size_t> length;
    for (int pe : fresh) length.push_back(known_[pe].size());
    std::size_t m = 0;
    std::vector<char> heard(known_.size());
    for (std::size_t k = 0; k < fresh.size(); ++k)
      for (int f = 0; f < rules_.fanout; ++f, ++m)
        heard[messages[m].first] |= hear(messages[m].first, fresh[k], length[k]);
    fresh.clear();
    for (int pe : available_)
      if (heard[pe]) fresh.push_back(pe);
  }
  // Adds the first `length` that `from` knows. True: some were new.
  bool hear(int pe, int from, std::size_t length) {
    if (pe == from) return false;
    std::vector<int>& mine = known_[pe];
    const auto room = static_cast<std::size_t>(rules_.known);
    if (mine.size() >= room) return false;
    if (seen_.empty()) seen_.assign(known_.size(), -1);
    ++stamp_;
    for (int known : mine) seen_[known] = stamp_;
    const std::size_t before = mine.size(), offset = chance_.below(length);  // not the same ones to everyone
    for (std::size_t k = 0; k < length && mine.size() < room; ++k) {
      const int known = known_[from][(k + offset) % length];
      if (seen_[known] == stamp_) continue;
      seen_[known] = stamp_;
      mine.push_back(known);
    }
    return mine.size() > before;
  }

  const std::vector<int>& available_;
  std::vector<std::vector<int>> known_;
  const GossipRules& rules_;
  Chance& chance_;
  std::vector<int> seen_;
  int stamp_ = 0;
};

// A PE with too much gives objects away: it sees the loads of those it has heard of as they were when it heard, and
// what it has given them itself.
class Giver {
 public:
  Giver(Standing& standing, const GossipRules& rules, double average, Chance& chance)
      : standing_(standing), problem_(standing.problem), rules_(rules), average_(average), chance_(chance) {}

  // `told`: loads by PE as the rumours had them. Fills `moves` (object, to).
  void give(int pe, const std::vector<int>& known, const std::vector<double>& told,
            std::vector<std::pair<std::size_t, int>>& moves) {
    targets_.clear();
    for (int target : known)
      if (target != pe) targets_.push_back({target, told[target]});
    double own = problem_.loads[pe];
    weigh(own);
    for (std::size_t i : in_order(pe, own)) {
      if (own <= rules_.overload * average_) break;
      if (problem_.work(i) <= 0) continue;
      const std::size_t k = pick();
      if (k == targets_.size()) break;
      Target& target = targets_[k];
      const double there = target.load + problem_.seconds(i, target.pe), leaves = problem_.seconds(i, pe);
      if (there >= (rules_.only_below_mean ? average_ : own)) continue;
      target.load = there;
      own -= leaves;
      moves.emplace_back(i, target.pe);
      if (rules_.again_each_time) weigh(own);
    }
  }

 private:
  struct Target {
    int pe;
    double load;
  };

  void weigh(double own) {
    double mark = average_;
    if (rules_.weigh_against_max) {
      mark = std::max(mark, own);
      for (const Target& target : targets_) mark = std::max(mark, target.load);
    }
    cumulated_.clear();
    double sum = 0;
    for (const Target& target : targets_) cumulated_.push_back(sum += std::max(0.0, mark - target.load));
  }
  std::size_t pick() {
    if (cumulated_.empty() || cumulated_.back() <= 0) return targets_.size();
    const double point = chance_.fraction() * cumulated_.back();
    return std::min<std::size_t>(
        static_cast<std::size_t>(std::upper_bound(cumulated_.begin(), cumulated_.end(), point) - cumulated_.begin()),
        targets_.size() - 1);
  }

  std::vector<std::size_t> in_order(int pe, double own) {
    using Order = GossipRules::Order;
    std::vector<std::size_t> objects = standing_.on[pe];  // largest first
    if (rules_.order == Order::any) {
      for (std::size_t k = objects.size(); k > 1; --k) std::swap(objects[k - 1], objects[chance_.below(k)]);
    } else if (rules_.order == Order::smallest_first) {
      std::reverse(objects.begin(), objects.end());
    } else if (rules_.order == Order::fewest_moves) {
      // The smallest one that is enough by itself, then smaller ones, then the larger ones.
      const double excess = own - average_;
      auto small = std::partition_point(objects.begin(), objects.end(),
                                        [&](std::size_t i) { return problem_.seconds(i, pe) >= excess; });
      if (small != objects.begin()) --small;
      std::rotate(objects.begin(), small, objects.end());
    }
    return objects;
  }

  Standing& standing_;
  Problem& problem_;
  const GossipRules& rules_;
  const double average_;
  Chance& chance_;
  std::vector<Target> targets_;
  std::vector<double> cumulated_;
};
}  // namespace

std::size_t gossip_once(Standing& standing, const GossipRules& rules, Chance& chance) {
  Problem& problem = standing.problem;
  const double average = problem.average();
  const Rumours rumours(problem, rules, average, chance);
  // All decide before anything moves: none of them knows what others give.
  std::vector<std::pair<std::size_t, int>> moves;
  Giver giver(standing, rules, average, chance);
  for (int pe : problem.available)
    if (problem.loads[pe] > rules.overload * average) giver.give(pe, rumours.of(pe), problem.loads, moves);
  for (const auto& [object, to] : moves) problem.move(object, to);
  standing.list_again();
  return moves.size();
}

}  // namespace periapt::loadbalance
