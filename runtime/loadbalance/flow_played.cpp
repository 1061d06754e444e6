// Diffusion with all PEs in one memory. See flow.h.
#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/loadbalance/flow.h"
#include "runtime/loadbalance/partners.h"
#include "runtime/loadbalance/strategies/problem.h"
#include "runtime/loadbalance/tree_sum.h"

namespace periapt::loadbalance {

namespace {
class FlowPlay {
 public:
  FlowPlay(const LoadDatabase& database, const FlowRules& rules);
  Assignment result();

 private:
  void link(const Assignment& start, std::vector<std::vector<Link>>& links) const;
  void connect();
  void flow();
  void send();
  std::vector<Level> told(const FlowPe& self, Level (FlowPe::*level)() const) const;
  double fullest() const;
  std::size_t place_of(int pe) const { return static_cast<std::size_t>(place_[static_cast<std::size_t>(pe)]); }

  const LoadDatabase& database_;
  const FlowRules rules_;
  Problem problem_;          // as it was; its loads are those of what cannot leave
  std::vector<FlowPe> pes_;  // available ones; one's place here is its place in the ring and in the tree
  std::vector<int> place_;   // by PE
  double limit_ = 0;
};

FlowPlay::FlowPlay(const LoadDatabase& database, const FlowRules& rules)
    : database_(database), rules_(rules), problem_(database, Problem::Order::as_recorded), place_(database.pes.size()) {
  const std::vector<int>& available = problem_.available;
  // What is on PEs that are not available has to go somewhere first.
  if (available.size() < database.pes.size()) problem_.assignment = Standing(database).problem.assignment;
  std::vector<std::vector<Link>> links(database.objects.size());
  link(problem_.assignment, links);
  std::vector<std::vector<LinkedToken>> held(database.pes.size());
  for (std::size_t i : problem_.movable) {
    const int home = problem_.assignment[i];
    held[static_cast<std::size_t>(home)].push_back(
        {problem_.work(i), home, static_cast<std::uint32_t>(i), std::move(links[i])});
  }
  std::vector<LoadSum> sums;
  for (int pe : available) {
    const auto p = static_cast<std::size_t>(pe);
    place_[p] = static_cast<int>(pes_.size());
    const FlowPe& self = pes_.emplace_back(pe, database.pes[p].speed, problem_.loads[p], std::move(held[p]));
    const Level level = self.present();
    sums.push_back({.work = level.load * level.speed, .speed = level.speed});
  }
  if (!sums.empty()) limit_ = rules.tolerance * sum_of_all(std::move(sums)).average();
}

// An element that is no object takes no part; nor does what one sends itself.
void FlowPlay::link(const Assignment& start, std::vector<std::vector<Link>>& links) const {
  if (database_.communication.empty()) return;
  const ObjectIndex index(database_);
  for (const Communication& c : database_.communication) {
    const std::uint32_t from = index.find(c.from), to = index.find(c.to);
    if (from == ObjectIndex::none || to == ObjectIndex::none || from == to) continue;
    links[from].push_back({start[to], to, exchange_of(c)});
    links[to].push_back({start[from], from, exchange_of(c)});
  }
}

Assignment FlowPlay::result() {
  if (pes_.size() > 1 && fullest() > limit_) {
    connect();
    flow();
    send();
  }
  for (const FlowPe& pe : pes_)
    for (const LinkedToken& token : pe.held()) problem_.assignment[token.object] = pe.pe();
  return std::move(problem_.assignment);
}

void FlowPlay::connect() {
  const std::size_t n = pes_.size();
  std::vector<std::vector<int>> near(n);
  for (std::size_t place = 0; place < n; ++place) {
    near[place].push_back(pes_[(place + 1) % n].pe());
    near[place].push_back(pes_[(place + n - 1) % n].pe());
    for (int other : pes_[place].choice(rules_.neighbours)) {
      // (An object that cannot move may be on a PE that is not available.)
      if (!problem_.is_available(other)) continue;
      near[place].push_back(other);
      near[place_of(other)].push_back(pes_[place].pe());
    }
  }
  for (std::size_t place = 0; place < n; ++place) pes_[place].connect(std::move(near[place]));
}

std::vector<Level> FlowPlay::told(const FlowPe& self, Level (FlowPe::*level)() const) const {
  std::vector<Level> levels;
  levels.reserve(self.near().size());
  for (int pe : self.near()) levels.push_back((pes_[place_of(pe)].*level)());
  return levels;
}
double FlowPlay::fullest() const {
  double max = 0;
  for (const FlowPe& pe : pes_) max = std::max(max, pe.expected().load);
  return max;
}

// All tell before any computes.
void FlowPlay::flow() {
  std::vector<std::vector<Level>> levels(pes_.size());
  for (int step = 0; step < rules_.steps; ++step) {
    if (step > 0 && step % FlowRules::steps_between_sums == 0 && fullest() <= limit_) return;
    for (std::size_t place = 0; place < pes_.size(); ++place) levels[place] = told(pes_[place], &FlowPe::expected);
    for (std::size_t place = 0; place < pes_.size(); ++place) pes_[place].flow(levels[place]);
  }
}

// All decide before anything is taken. What passes through a PE goes on in the next round.
void FlowPlay::send() {
  for (int round = 0; round < rules_.rounds; ++round) {
    std::vector<std::vector<Level>> levels;
    for (const FlowPe& pe : pes_) levels.push_back(told(pe, &FlowPe::present));
    std::vector<std::vector<LinkedToken>> given(pes_.size());
    bool any = false;
    for (std::size_t place = 0; place < pes_.size(); ++place) {
      FlowPe& self = pes_[place];
      std::vector<std::vector<LinkedToken>> gifts = self.give(levels[place]);
      for (std::size_t k = 0; k < gifts.size(); ++k) {
        any |= !gifts[k].empty();
        std::vector<LinkedToken>& to = given[place_of(self.near()[k])];
        std::move(gifts[k].begin(), gifts[k].end(), std::back_inserter(to));
      }
    }
    for (std::size_t place = 0; place < pes_.size(); ++place) pes_[place].take(std::move(given[place]));
    if (!any) return;
  }
}
}  // namespace

Assignment play_flow(const LoadDatabase& database, const FlowRules& rules) {
  return FlowPlay(database, rules).result();
}

}  // namespace periapt::loadbalance
