// What one PE does. See rumours.h.
#include "runtime/loadbalance/rumours.h"

#include <algorithm>
#include <initializer_list>
#include <tuple>

namespace periapt::loadbalance {

namespace {
enum class Purpose : std::uint64_t { telling = 1, hearing, giving };

// A generator for each purpose, so that what one PE does changes nothing for another.
Chance chance_of(const Moment& moment, Purpose purpose, int number) {
  std::uint64_t seed = moment.step;
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(moment.trial), static_cast<std::uint64_t>(moment.iteration),
        static_cast<std::uint64_t>(moment.round), static_cast<std::uint64_t>(purpose),
        static_cast<std::uint64_t>(number)})
    seed = Chance(seed + part).number();
  return Chance(seed);
}

bool larger(const Token& a, const Token& b) {
  return std::tuple(-a.work, a.home, a.object) < std::tuple(-b.work, b.home, b.object);
}
}  // namespace

GossipRules gossip_rules(const StrategyOptions& options) {
  GossipRules rules;
  rules.iterations = static_cast<int>(options["iterations"]);
  rules.fanout = static_cast<int>(options["fanout"]);
  rules.rounds = static_cast<int>(options["rounds"]);
  rules.known = static_cast<int>(options["known"]);
  rules.overload = options["overload"];
  return rules;
}

std::size_t stride(const Moment& moment, int k, std::size_t pes) {
  return pes > 1 ? 1 + chance_of(moment, Purpose::telling, k).below(pes - 1) : 0;
}

GossipPe::GossipPe(int pe, double speed, double fixed, std::vector<Token> held) : pe(pe), speed(speed), fixed(fixed) {
  hold(std::move(held));
}
void GossipPe::take(std::vector<Token> tokens) {
  std::sort(tokens.begin(), tokens.end(), larger);
  const auto middle = static_cast<std::ptrdiff_t>(held.size());
  held.insert(held.end(), tokens.begin(), tokens.end());
  std::inplace_merge(held.begin(), held.begin() + middle, held.end(), larger);
  add_up();
}
void GossipPe::hold(std::vector<Token> tokens) {
  held.clear();
  take(std::move(tokens));
}
void GossipPe::add_up() {
  load = fixed;
  for (const Token& token : held) load += token.work / speed;
}

Gossiper::Gossiper(const GossipRules& rules, std::size_t pes, double average)
    : rules_(rules), average_(average), seen_(pes) {}

void Gossiper::begin(GossipPe& self) const {
  self.known.clear();
  if (self.load < average_) self.known.push_back(self.rumour());
}

bool Gossiper::hear(GossipPe& self, const Moment& moment, int k, std::span<const Rumour> told) {
  std::vector<Rumour>& mine = self.known;
  const auto room = static_cast<std::size_t>(rules_.known);
  if (told.empty() || mine.size() >= room) return false;
  for (const Rumour& rumour : mine) seen_[static_cast<std::size_t>(rumour.pe)] = true;
  const std::size_t before = mine.size();
  // Not the same ones to every PE. (A round has no more than 64 messages a PE.)
  std::size_t next = chance_of(moment, Purpose::hearing, 64 * self.pe + k).below(told.size());
  for (std::size_t count = 0; count < told.size() && mine.size() < room; ++count) {
    const Rumour& rumour = told[next];
    if (++next == told.size()) next = 0;
    if (!seen_[static_cast<std::size_t>(rumour.pe)]) mine.push_back(rumour);
  }
  for (const Rumour& rumour : mine) seen_[static_cast<std::size_t>(rumour.pe)] = false;
  return mine.size() > before;
}

std::vector<Gossiper::Gift> Gossiper::give(GossipPe& self, const Moment& moment) {
  std::vector<Gift> gifts;
  double own = self.load;
  if (own <= rules_.overload * average_) return gifts;
  targets_.clear();
  for (const Rumour& rumour : self.known)
    if (rumour.pe != self.pe) targets_.push_back({static_cast<int>(rumour.pe), rumour.load, rumour.speed});
  Chance chance = chance_of(moment, Purpose::giving, self.pe);
  weigh(own);
  put_in_order(self, chance);
  std::vector<bool> gone(self.held.size());
  const auto give_to_some = [&](const auto& choose) {
    for (const std::uint32_t i : order_) {
      if (own <= rules_.overload * average_) break;
      const Token& token = self.held[i];
      if (token.work <= 0) continue;
      const std::size_t k = choose();
      if (k == targets_.size()) break;
      Target& target = targets_[k];
      const double there = target.load + token.work / target.speed;
      if (there >= (rules_.only_below_mean ? average_ : own)) continue;
      target.load = there;
      own -= token.work / self.speed;
      gifts.emplace_back(target.pe, token);
      gone[i] = true;
      if (rules_.again_each_time) weigh(own);
    }
  };
  give_to_some([&] { return pick(chance); });
  // Chance may have named none that has room for any: then what is left goes where most is.
  if (gifts.empty()) give_to_some([&, emptiest = emptiest()] { return emptiest; });
  if (gifts.empty()) return gifts;
  std::vector<Token> left;
  for (std::size_t i = 0; i < self.held.size(); ++i)
    if (!gone[i]) left.push_back(self.held[i]);
  self.hold(std::move(left));
  return gifts;
}

std::vector<Gossiper::Gift> Gossiper::accept(GossipPe& self, std::vector<Gift> gifts) const {
  std::sort(gifts.begin(), gifts.end(), [](const Gift& a, const Gift& b) { return larger(a.second, b.second); });
  std::vector<Token> kept;
  std::vector<Gift> back;
  double own = self.load;
  for (const Gift& gift : gifts) {
    const double with = own + gift.second.work / self.speed;
    if (rules_.only_below_mean && with >= average_) {
      back.push_back(gift);
    } else {
      own = with;
      kept.push_back(gift.second);
    }
  }
  if (!kept.empty()) self.take(std::move(kept));
  return back;
}

void Gossiper::weigh(double own) {
  double mark = average_;
  if (rules_.weigh_against_max) {
    mark = std::max(mark, own);
    for (const Target& target : targets_) mark = std::max(mark, target.load);
  }
  cumulated_.clear();
  double sum = 0;
  for (const Target& target : targets_) cumulated_.push_back(sum += std::max(0.0, mark - target.load));
}
// Which target, the emptier the likelier; as many as there are: none has room.
std::size_t Gossiper::pick(Chance& chance) const {
  if (cumulated_.empty() || cumulated_.back() <= 0) return targets_.size();
  const double point = chance.fraction() * cumulated_.back();
  const auto found = std::upper_bound(cumulated_.begin(), cumulated_.end(), point) - cumulated_.begin();
  return std::min(static_cast<std::size_t>(found), targets_.size() - 1);
}
std::size_t Gossiper::emptiest() const {
  const auto less = [](const Target& a, const Target& b) {
    return std::tuple(a.load, a.pe) < std::tuple(b.load, b.pe);
  };
  return static_cast<std::size_t>(std::min_element(targets_.begin(), targets_.end(), less) - targets_.begin());
}
void Gossiper::put_in_order(const GossipPe& self, Chance& chance) {
  using Order = GossipRules::Order;
  order_.resize(self.held.size());
  for (std::uint32_t i = 0; i < order_.size(); ++i) order_[i] = i;
  if (rules_.order == Order::any) {
    for (std::size_t k = order_.size(); k > 1; --k) std::swap(order_[k - 1], order_[chance.below(k)]);
  } else if (rules_.order == Order::smallest_first) {
    std::reverse(order_.begin(), order_.end());
  } else if (rules_.order == Order::fewest_moves) {
    // The smallest one that is enough by itself, then smaller ones, then the larger ones.
    const double excess = self.load - average_;
    auto small = std::partition_point(order_.begin(), order_.end(),
                                      [&](std::uint32_t i) { return self.held[i].work / self.speed >= excess; });
    if (small != order_.begin()) --small;
    std::rotate(order_.begin(), small, order_.end());
  }
}

bool GossipCourse::is_better(double max) {
  if (max >= best_) return false;
  best_ = max;
  return true;
}
GossipCourse::Next GossipCourse::next(std::int64_t given) {
  now.round = 0;
  if (rules_.keep_best && best_ <= enough_) return Next::end;
  if (given > 0 && ++now.iteration < rules_.iterations) return Next::iteration;
  // A trial that was not stuck when its iterations were over: another would come no further.
  if (given > 0 && rules_.keep_best) return Next::end;
  now.iteration = 0;
  return ++now.trial < rules_.trials ? Next::trial : Next::end;
}

}  // namespace periapt::loadbalance
