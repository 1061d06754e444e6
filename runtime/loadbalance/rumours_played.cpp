// Gossip with all PEs in one memory. See rumours.h.
#include <algorithm>

#include "runtime/loadbalance/rumours.h"

namespace periapt::loadbalance {

namespace {
class Play {
 public:
  Play(const LoadDatabase& database, const GossipRules& rules);
  Assignment result();

 private:
  using Holdings = std::vector<std::vector<Token>>;  // by place

  LoadSum sum() const;
  void hold(const Holdings& holdings);
  Holdings holdings() const;
  std::int64_t iterate(Gossiper& gossiper, Moment now);
  void tell(Gossiper& gossiper, const Moment& now);
  std::int64_t give(Gossiper& gossiper, const Moment& now);

  const LoadDatabase& database_;
  const GossipRules rules_;
  Problem problem_;                // as it was; its loads are those of what cannot leave
  std::vector<GossipPe> pes_;      // available ones; one's place here is its place in the ring and in the tree
  std::vector<int> place_;         // by PE
  std::vector<std::size_t> told_;  // by place: so many of those it knows it tells in this round
};

Play::Play(const LoadDatabase& database, const GossipRules& rules)
    : database_(database), rules_(rules), problem_(database, Problem::Order::as_recorded), place_(database.pes.size()) {
  const std::vector<int>& available = problem_.available;
  // What is on PEs that are not available has to go somewhere first.
  const Assignment start =
      available.size() == database.pes.size() ? problem_.assignment : Standing(database).problem.assignment;
  Holdings held(database.pes.size());
  for (std::size_t i : problem_.movable)
    held[static_cast<std::size_t>(start[i])].push_back(
        {problem_.work(i), problem_.from(i), static_cast<std::uint32_t>(i)});
  pes_.reserve(available.size());
  for (int pe : available) {
    const auto p = static_cast<std::size_t>(pe);
    place_[p] = static_cast<int>(pes_.size());
    pes_.emplace_back(pe, database.pes[p].speed, problem_.loads[p], std::move(held[p]));
  }
}

LoadSum Play::sum() const {
  std::vector<LoadSum> sums;
  sums.reserve(pes_.size());
  for (const GossipPe& pe : pes_) sums.push_back({.work = pe.load * pe.speed, .speed = pe.speed, .max = pe.load});
  return sum_of_all(std::move(sums));
}

Play::Holdings Play::holdings() const {
  Holdings all;
  all.reserve(pes_.size());
  for (const GossipPe& pe : pes_) all.push_back(pe.held);
  return all;
}
void Play::hold(const Holdings& holdings) {
  for (std::size_t place = 0; place < pes_.size(); ++place) pes_[place].hold(holdings[place]);
}

Assignment Play::result() {
  if (pes_.empty()) return problem_.assignment;
  const LoadSum all = sum();
  Gossiper gossiper(rules_, database_.pes.size(), all.average());
  GossipCourse course(rules_, database_.step, all.average(), all.max);
  const Holdings start = rules_.trials > 1 ? holdings() : Holdings();
  Holdings best = rules_.keep_best ? holdings() : Holdings();
  using Next = GossipCourse::Next;
  for (Next next = Next::iteration; next != Next::end;) {
    if (next == Next::trial) hold(start);
    const std::int64_t given = iterate(gossiper, course.now);
    if (rules_.keep_best && course.is_better(sum().max)) best = holdings();
    next = course.next(given);
  }
  if (rules_.keep_best) hold(best);
  Assignment assignment = std::move(problem_.assignment);
  for (const GossipPe& pe : pes_)
    for (const Token& token : pe.held) assignment[token.object] = pe.pe;
  return assignment;
}

std::int64_t Play::iterate(Gossiper& gossiper, Moment now) {
  told_.clear();
  for (GossipPe& pe : pes_) {
    gossiper.begin(pe);
    told_.push_back(pe.known.size());
  }
  const auto has_news = [](std::size_t count) { return count > 0; };
  for (; now.round < rules_.rounds && std::any_of(told_.begin(), told_.end(), has_news); ++now.round)
    tell(gossiper, now);
  now.round = rules_.rounds;
  return give(gossiper, now);
}

// Messages of one round are sent before any is read; lists only grow, so that a message is the beginning of one.
void Play::tell(Gossiper& gossiper, const Moment& now) {
  const std::size_t n = pes_.size();
  std::vector<std::size_t> strides, told_next;
  for (int k = 0; k < rules_.fanout; ++k) strides.push_back(stride(now, k, n));
  told_next.reserve(n);
  for (std::size_t place = 0; place < n; ++place) {
    GossipPe& pe = pes_[place];
    bool news = false;
    for (int k = 0; k < rules_.fanout && n > 1; ++k) {
      const std::size_t from = (place + n - strides[static_cast<std::size_t>(k)]) % n;
      news |= gossiper.hear(pe, now, k, std::span(pes_[from].known).first(told_[from]));
    }
    told_next.push_back(news ? pe.known.size() : 0);
  }
  told_ = std::move(told_next);
}

// All decide before anything moves: none of them knows what others give.
std::int64_t Play::give(Gossiper& gossiper, const Moment& now) {
  const auto place_of = [this](int pe) { return static_cast<std::size_t>(place_[static_cast<std::size_t>(pe)]); };
  std::vector<std::vector<Gossiper::Gift>> given(pes_.size());  // by place, with the giver
  Holdings back(pes_.size());
  std::int64_t count = 0;
  for (GossipPe& pe : pes_)
    for (const auto& [to, token] : gossiper.give(pe, now)) {
      given[place_of(to)].emplace_back(pe.pe, token);
      ++count;
    }
  for (std::size_t place = 0; place < pes_.size(); ++place)
    for (const auto& [giver, token] : gossiper.accept(pes_[place], std::move(given[place])))
      back[place_of(giver)].push_back(token);
  for (std::size_t place = 0; place < pes_.size(); ++place)
    if (!back[place].empty()) pes_[place].take(std::move(back[place]));
  return count;
}
}  // namespace

Assignment play_gossip(const LoadDatabase& database, const GossipRules& rules) {
  return Play(database, rules).result();
}

}  // namespace periapt::loadbalance
