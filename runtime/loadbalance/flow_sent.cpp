// Diffusion by messages: one PE of it. See flow.h and member.h.
//
// A PE knows by name which elements its own have sent something, but not where they are. So names have a directory,
// which lies on all PEs, each name on one that follows from it. Each PE enters its objects there. When all have, which
// the sum of their loads says as it comes down, it asks for the names in what it has recorded, and tells the home of
// each object which links that has. When all homes have been told, PEs choose neighbours and tell them so.
//
// From there on a PE only listens to neighbours: in a turn it says one thing to each of them and waits for as many, its
// level in a step of the flow, then its level and objects by turns. A neighbour may be a turn ahead, and what it says
// is kept. Every steps_between_sums steps of the flow all hear how far it has come.
#include <cassert>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "runtime/loadbalance/flow.h"
#include "runtime/loadbalance/model.h"
#include "runtime/loadbalance/tree_sum.h"
#include "runtime/pup/stl.h"

namespace periapt::loadbalance {

namespace {
// An object's name, and where it is.
struct ObjectLocation {
  ElementName name;
  std::int32_t home = 0;
  std::uint32_t object = 0;
};
// A link of an object of the PE that is told.
struct NewLink {
  std::uint32_t object = 0;
  Link link;
};
}  // namespace

}  // namespace periapt::loadbalance
PUPbytes(periapt::loadbalance::ObjectLocation);
PUPbytes(periapt::loadbalance::NewLink);
PUPbytes(periapt::loadbalance::LoadSum);
namespace periapt::loadbalance {

namespace {
class FlowMember final : public Member {
 public:
  FlowMember(const FlowRules& rules, Seat seat)
      : rules_(rules),
        seat_(std::move(seat)),
        sum_(
            seat_.pe, seat_.pes,
            [this](int to, TreeSum::Way way, LoadSum sum) {
              send(to, way == TreeSum::Way::up ? FlowMessage::sum_up : FlowMessage::sum_down, sum);
            },
            [this](const LoadSum& total) { on_sum(total); }) {}
  void begin(const LoadDatabase& own) override;
  void hear(int from, const char* bytes, std::size_t length) override;

 private:
  // What a message begins with.
  enum class FlowMessage : std::int32_t { sum_up, sum_down, enter, ask, answer, links, choice, arrived, turn };
  // What a member waits for.
  enum class Stage { entering, asking, linking, choosing, flow, fullest, levels, tokens, nothing };

  template <class... T>
  void send(int to, FlowMessage kind, T&&... values);
  // Which is acknowledged.
  template <class... T>
  void tell(int to, FlowMessage kind, T&&... values) {
    ++underway_;
    send(to, kind, values...);
  }
  // Each PE its part; what follows is done when all have it, at once where there are none.
  template <class Part>
  void tell_each(std::map<int, Part>& parts, FlowMessage kind) {
    ++underway_;
    for (auto& [to, part] : parts) tell(to, kind, part);
    arrived();
  }
  void arrived();
  void all_arrived();
  void on_sum(const LoadSum& total);

  int directory_of(const ElementName& name) const {
    return static_cast<int>((std::hash<ElementName>()(name) >> 32) % static_cast<std::uint64_t>(seat_.pes));
  }
  void ask();
  void link();
  void choose();
  void connect();
  void speak();
  void listen();
  void turn(const std::map<int, std::vector<char>>& said);
  void finish();

  const FlowRules rules_;
  const Seat seat_;
  TreeSum sum_;
  Stage stage_ = Stage::entering;
  int underway_ = 0;   // messages that have not been acknowledged, or answered
  std::string wrong_;  // with the loads of this PE
  LoadSum own_;
  double limit_ = 0;

  std::unordered_map<ElementName, ObjectLocation> directory_;  // this PE's part
  std::vector<Communication> communication_;
  std::unordered_map<ElementName, ObjectLocation> places_;  // of what this PE's objects exchange something with
  std::vector<LinkedToken> objects_;  // of this PE as the step begins; those that move go to self_
  std::vector<bool> fixed_;
  double speed_ = 1, background_ = 0;  // with what cannot leave

  std::optional<FlowPe> self_;
  std::vector<int> near_;                                  // as far as known
  int number_ = 0;                                         // of the turn
  int steps_ = 0, rounds_ = 0;                             // that are over
  std::map<int, std::map<int, std::vector<char>>> heard_;  // by turn and PE
  std::vector<std::vector<LinkedToken>> gifts_;            // to neighbours, in this turn
};

template <class... T>
void FlowMember::send(int to, FlowMessage kind, T&&... values) {
  PUP::sizer sizer;
  sizer | kind;
  (..., (sizer | values));
  std::vector<char> bytes(sizer.size());
  PUP::toMem p(bytes.data());
  p | kind;
  (..., (p | values));
  seat_.send(to, bytes);
}
template <class T>
T read(const std::vector<char>& bytes) {
  T value;
  PUP::fromMem p(bytes.data(), bytes.size());
  p | value;
  return value;
}

void FlowMember::arrived() {
  assert(underway_ > 0);
  if (--underway_ == 0) all_arrived();
}
void FlowMember::all_arrived() {
  if (stage_ == Stage::asking) return link();
  sum_.contribute(stage_ == Stage::entering ? own_ : LoadSum());
}
void FlowMember::on_sum(const LoadSum& total) {
  switch (stage_) {
    case Stage::entering:
      limit_ = rules_.tolerance * total.average();
      if (total.wrong == LoadSum::none && total.max > limit_) return ask();
      stage_ = Stage::nothing;
      return seat_.decided({}, total.wrong == seat_.pe ? wrong_ : std::string());
    case Stage::linking:
      return choose();
    case Stage::choosing:
      return connect();
    case Stage::fullest:
      stage_ = total.max > limit_ ? Stage::flow : Stage::levels;
      speak();
      return listen();
    default:
      assert(false);  // a sum comes down when all have said their part
  }
}

// --- places and links
// --------------------------------------------------------------------------------------------------

void FlowMember::begin(const LoadDatabase& own) {
  wrong_ = check_part(own, seat_.pe, seat_.pes);
  if (!wrong_.empty()) {
    own_.wrong = seat_.pe;
    return all_arrived();
  }
  speed_ = own.pes.front().speed;
  background_ = own.pes.front().background;
  communication_ = own.communication;
  std::map<int, std::vector<ObjectLocation>> entries;
  std::vector<LinkedToken> held;
  for (std::size_t i = 0; i < own.objects.size(); ++i) {
    const ObjectLoad& object = own.objects[i];
    const ElementName name{object.array, object.element};
    const auto number = static_cast<std::uint32_t>(i);
    places_[name] = {name, seat_.pe, number};
    entries[directory_of(name)].push_back(places_[name]);
    fixed_.push_back(!object.migratable);
    objects_.push_back({object.seconds * speed_, seat_.pe, number, {}});
    if (object.migratable)
      held.push_back(objects_.back());
    else
      background_ += object.seconds;
  }
  const Level level = FlowPe(seat_.pe, speed_, background_, std::move(held)).present();
  own_ = {.work = level.load * level.speed, .speed = level.speed, .max = level.load};
  tell_each(entries, FlowMessage::enter);
}

void FlowMember::ask() {
  stage_ = Stage::asking;
  std::map<int, std::vector<ElementName>> unknown;
  std::erase_if(communication_, [](const Communication& c) { return c.to_pe >= 0; });  // members of groups
  for (const Communication& c : communication_)
    for (const ElementName& name : {c.from, c.to})
      if (places_.try_emplace(name, ObjectLocation{name, -1, 0}).second) unknown[directory_of(name)].push_back(name);
  tell_each(unknown, FlowMessage::ask);
}

// An element that is no object takes no part; nor does what one sends itself. (One that has sent something may have
// moved since, so both ends may be elsewhere.)
void FlowMember::link() {
  stage_ = Stage::linking;
  std::map<int, std::vector<NewLink>> links;
  for (const Communication& c : communication_) {
    const ObjectLocation &from = places_[c.from], &to = places_[c.to];
    if (from.home < 0 || to.home < 0 || c.from == c.to) continue;
    links[from.home].push_back({from.object, {to.home, to.object, exchange_of(c)}});
    links[to.home].push_back({to.object, {from.home, from.object, exchange_of(c)}});
  }
  tell_each(links, FlowMessage::links);
}

void FlowMember::choose() {
  stage_ = Stage::choosing;
  std::vector<LinkedToken> held;
  for (std::size_t i = 0; i < objects_.size(); ++i)
    if (!fixed_[i]) held.push_back(std::move(objects_[i]));
  self_.emplace(seat_.pe, speed_, background_, std::move(held));
  near_.push_back((seat_.pe + 1) % seat_.pes);
  near_.push_back((seat_.pe + seat_.pes - 1) % seat_.pes);
  ++underway_;
  for (int other : self_->choice(rules_.neighbours)) {
    near_.push_back(other);
    tell(other, FlowMessage::choice);
  }
  arrived();
}

// --- turns -----------------------------------------------------------------------------------------------------------

void FlowMember::connect() {
  self_->connect(std::move(near_));
  stage_ = Stage::flow;
  speak();
  listen();
}
void FlowMember::speak() {
  const std::vector<int>& near = self_->near();
  for (std::size_t k = 0; k < near.size(); ++k) {
    if (stage_ == Stage::tokens)
      send(near[k], FlowMessage::turn, number_, gifts_[k]);
    else
      send(near[k], FlowMessage::turn, number_, stage_ == Stage::flow ? self_->expected() : self_->present());
  }
}
// Through the turns in which all have spoken.
void FlowMember::listen() {
  while (stage_ == Stage::flow || stage_ == Stage::levels || stage_ == Stage::tokens) {
    std::map<int, std::vector<char>>& said = heard_[number_];
    if (said.size() < self_->near().size()) return;
    const std::map<int, std::vector<char>> all = std::move(said);
    heard_.erase(number_++);
    turn(all);
  }
}
void FlowMember::turn(const std::map<int, std::vector<char>>& said) {
  std::vector<Level> levels;
  if (stage_ != Stage::tokens)
    for (const auto& [from, bytes] : said) levels.push_back(read<Level>(bytes));
  switch (stage_) {
    case Stage::flow:
      self_->flow(levels);
      if (++steps_ == rules_.steps) {
        stage_ = Stage::levels;
      } else if (steps_ % FlowRules::steps_between_sums == 0) {
        stage_ = Stage::fullest;
        return sum_.contribute({.max = self_->expected().load});
      }
      break;
    case Stage::levels:
      gifts_ = self_->give(levels);
      stage_ = Stage::tokens;
      break;
    default: {
      std::vector<LinkedToken> taken;
      for (const auto& [from, bytes] : said)
        for (LinkedToken& token : read<std::vector<LinkedToken>>(bytes)) taken.push_back(std::move(token));
      self_->take(std::move(taken));
      if (++rounds_ == rules_.rounds) return finish();
      stage_ = Stage::levels;
    }
  }
  speak();
}
void FlowMember::finish() {
  stage_ = Stage::nothing;
  assert(heard_.empty() && underway_ == 0);
  std::vector<Claim> claims;
  for (const LinkedToken& token : self_->held())
    if (token.home != seat_.pe) claims.push_back({token.home, token.object});
  seat_.decided(claims, "");
}

void FlowMember::hear(int from, const char* bytes, std::size_t length) {
  PUP::fromMem p(bytes, length);
  FlowMessage kind;
  p | kind;
  switch (kind) {
    case FlowMessage::sum_up:
    case FlowMessage::sum_down: {
      LoadSum sum;
      p | sum;
      return sum_.hear(from, kind == FlowMessage::sum_up ? TreeSum::Way::up : TreeSum::Way::down, sum);
    }
    case FlowMessage::enter: {
      std::vector<ObjectLocation> places;
      p | places;
      for (const ObjectLocation& place : places) directory_[place.name] = place;
      return send(from, FlowMessage::arrived);
    }
    case FlowMessage::ask: {
      std::vector<ElementName> names;
      p | names;
      std::vector<ObjectLocation> places;
      for (const ElementName& name : names)
        if (const auto found = directory_.find(name); found != directory_.end()) places.push_back(found->second);
      return send(from, FlowMessage::answer, places);
    }
    case FlowMessage::answer: {
      std::vector<ObjectLocation> places;
      p | places;
      for (const ObjectLocation& place : places) places_[place.name] = place;
      return arrived();
    }
    case FlowMessage::links: {
      std::vector<NewLink> links;
      p | links;
      for (const NewLink& link : links) objects_.at(link.object).links.push_back(link.link);
      return send(from, FlowMessage::arrived);
    }
    case FlowMessage::choice:
      near_.push_back(from);
      return send(from, FlowMessage::arrived);
    case FlowMessage::arrived:
      return arrived();
    case FlowMessage::turn: {
      int number = 0;
      p | number;
      heard_[number][from].assign(bytes + p.size(), bytes + length);
      return listen();
    }
  }
}
}  // namespace

std::unique_ptr<Member> flow_member(const FlowRules& rules, Seat seat) {
  return std::make_unique<FlowMember>(rules, std::move(seat));
}

}  // namespace periapt::loadbalance
