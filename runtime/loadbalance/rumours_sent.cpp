// Gossip by messages: one PE of it. See rumours.h and member.h.
//
// An iteration is `rounds` rounds of rumours, in each of which a member sends `fanout` messages, empty ones where it
// has nothing new, and waits for as many; then transfers, each of which is acknowledged. A member whose gifts have all
// arrived says so up the tree (`sum_up`), and when the sum comes down, all gifts of the iteration have arrived. Where
// receivers may give back, what they do is sent, acknowledged and summed up in the same way.
// In between a PE waits only for PEs that tell it something, so rumours of a later round or iteration may come early,
// and are kept. A gift cannot: a PE is given something only when it has made itself known in that iteration.
#include <algorithm>
#include <cassert>
#include <cstring>
#include <map>
#include <optional>
#include <string>

#include "runtime/loadbalance/rumours.h"

namespace periapt::loadbalance {

namespace {
enum class GossipMessage : std::int32_t { sum_up, sum_down, rumours, tokens, returned, arrived };

// What a message begins with. Behind it: a sum, rumours, tokens, or nothing.
struct GossipHeader {
  GossipMessage kind;
  std::int32_t iteration = 0;  // counted on over all trials
  std::int32_t round = 0, number = 0;
};

template <class T>
std::vector<char> message(const GossipHeader& head, std::span<const T> body) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<char> bytes(sizeof head + body.size_bytes());
  std::memcpy(bytes.data(), &head, sizeof head);
  if (!body.empty()) std::memcpy(bytes.data() + sizeof head, body.data(), body.size_bytes());
  return bytes;
}
template <class T>
std::vector<T> body_of(const char* bytes, std::size_t length) {
  std::vector<T> body((length - sizeof(GossipHeader)) / sizeof(T));
  if (!body.empty()) std::memcpy(body.data(), bytes + sizeof(GossipHeader), body.size() * sizeof(T));
  return body;
}

class GossipMember final : public Member {
 public:
  GossipMember(const GossipRules& rules, Seat seat)
      : rules_(rules),
        seat_(std::move(seat)),
        rounds_(seat_.pes > 1 ? rules.rounds : 0),
        sum_(
            seat_.pe, seat_.pes,
            [this](int to, TreeSum::Way way, const LoadSum& sum) {
              send(to, {way == TreeSum::Way::up ? GossipMessage::sum_up : GossipMessage::sum_down},
                   std::span<const LoadSum>(&sum, 1));
            },
            [this](const LoadSum& total) { on_sum(total); }) {}
  void begin(const LoadDatabase& own) override;
  void hear(int from, const char* bytes, std::size_t length) override;

 private:
  // What a member waits for.
  enum class Stage { loads, rumours, transfers, returns, maximum, nothing };
  struct Round {
    explicit Round(int fanout) : told(static_cast<std::size_t>(fanout)) {}
    std::vector<std::vector<Rumour>> told;  // by number
    int heard = 0;
  };

  template <class T>
  void send(int to, const GossipHeader& head, std::span<const T> body) {
    seat_.send(to, message(head, body));
  }

  void on_sum(const LoadSum& total);

  void start(const LoadSum& total);
  void iterate();
  void tell();
  void listen();
  void give();
  void send_tokens(GossipMessage kind, const std::vector<Gossiper::Gift>& gifts);
  void all_arrived();
  void end_iteration();
  void proceed();
  void finish();

  const GossipRules rules_;
  const Seat seat_;
  const int rounds_;
  TreeSum sum_;
  Stage stage_ = Stage::loads;
  std::string wrong_;  // with the loads of this PE
  std::optional<GossipPe> self_;
  std::vector<Token> start_, best_;
  std::optional<Gossiper> gossiper_;
  std::optional<GossipCourse> course_;

  int iteration_ = 0;                                  // as GossipHeader has it; the first is 1
  bool has_news_ = false;                              // to tell in the next round
  int underway_ = 0;                                   // messages with tokens that have not been acknowledged
  std::int64_t given_ = 0;                             // by this PE in this iteration; then by all
  std::map<std::pair<int, int>, Round> rounds_heard_;  // by iteration and round
  std::vector<Gossiper::Gift> gifts_;                  // to this PE, in this iteration
  std::vector<Token> returned_;                        // of what it has given
};

void GossipMember::on_sum(const LoadSum& total) {
  switch (stage_) {
    case Stage::loads:
      return start(total);
    case Stage::transfers: {
      given_ = total.given;
      const std::vector<Gossiper::Gift> back = gossiper_->accept(*self_, std::exchange(gifts_, {}));
      if (!rules_.only_below_mean) return end_iteration();
      stage_ = Stage::returns;
      return send_tokens(GossipMessage::returned, back);
    }
    case Stage::returns:
      self_->take(std::exchange(returned_, {}));
      return end_iteration();
    case Stage::maximum:
      if (course_->is_better(total.max)) best_ = self_->held;
      return proceed();
    default:
      assert(false);  // a sum comes down when all have said their part
  }
}

// --- a step ----------------------------------------------------------------------------------------------------------

void GossipMember::begin(const LoadDatabase& own) {
  wrong_ = check_part(own, seat_.pe, seat_.pes);
  const PeLoad& pe = own.pes.front();
  double fixed = pe.background;
  for (std::size_t i = 0; i < own.objects.size(); ++i) {
    const ObjectLoad& object = own.objects[i];
    if (object.migratable)
      start_.push_back({object.seconds * pe.speed, seat_.pe, static_cast<std::uint32_t>(i)});
    else
      fixed += object.seconds;
  }
  // A load that is none has no place among others.
  self_.emplace(seat_.pe, pe.speed, fixed, wrong_.empty() ? start_ : std::vector<Token>());
  start_ = self_->held;
  LoadSum sum{.work = self_->load * self_->speed, .speed = self_->speed, .max = self_->load};
  if (!wrong_.empty()) sum = {.wrong = seat_.pe};
  sum_.contribute(sum);
}
void GossipMember::start(const LoadSum& total) {
  if (total.wrong != LoadSum::none) {
    stage_ = Stage::nothing;
    return seat_.decided({}, total.wrong == seat_.pe ? wrong_ : std::string());
  }
  gossiper_.emplace(rules_, static_cast<std::size_t>(seat_.pes), total.average());
  course_.emplace(rules_, seat_.step, total.average(), total.max);
  best_ = start_;
  iterate();
}
void GossipMember::iterate() {
  stage_ = Stage::rumours;
  ++iteration_;
  gossiper_->begin(*self_);
  has_news_ = !self_->known.empty();
  if (rounds_ > 0) tell();
  listen();
}
void GossipMember::tell() {
  const Moment& now = course_->now;
  const auto pes = static_cast<std::size_t>(seat_.pes);
  for (int k = 0; k < rules_.fanout; ++k) {
    const std::size_t to = (static_cast<std::size_t>(seat_.pe) + stride(now, k, pes)) % pes;
    send(static_cast<int>(to), {GossipMessage::rumours, iteration_, now.round, k},
         has_news_ ? std::span<const Rumour>(self_->known) : std::span<const Rumour>());
  }
}
// Through the rounds that have all been heard.
void GossipMember::listen() {
  Moment& now = course_->now;
  while (now.round < rounds_) {
    const auto found = rounds_heard_.find({iteration_, now.round});
    if (found == rounds_heard_.end() || found->second.heard < rules_.fanout) return;
    has_news_ = false;
    for (int k = 0; k < rules_.fanout; ++k)
      has_news_ |= gossiper_->hear(*self_, now, k, found->second.told[static_cast<std::size_t>(k)]);
    rounds_heard_.erase(found);
    if (++now.round < rounds_) tell();
  }
  give();
}
void GossipMember::give() {
  stage_ = Stage::transfers;
  Moment now = course_->now;
  now.round = rules_.rounds;
  const std::vector<Gossiper::Gift> gifts = gossiper_->give(*self_, now);
  given_ = static_cast<std::int64_t>(gifts.size());
  send_tokens(GossipMessage::tokens, gifts);
}
void GossipMember::send_tokens(GossipMessage kind, const std::vector<Gossiper::Gift>& gifts) {
  std::map<int, std::vector<Token>> by_pe;
  for (const auto& [to, token] : gifts) by_pe[to].push_back(token);
  underway_ = static_cast<int>(by_pe.size());
  for (const auto& [to, tokens] : by_pe) send(to, {kind, iteration_}, std::span<const Token>(tokens));
  if (underway_ == 0) all_arrived();
}
void GossipMember::all_arrived() { sum_.contribute(stage_ == Stage::transfers ? LoadSum{.given = given_} : LoadSum{}); }
void GossipMember::end_iteration() {
  if (!rules_.keep_best) return proceed();
  stage_ = Stage::maximum;
  sum_.contribute({.max = self_->load});
}
void GossipMember::proceed() {
  switch (course_->next(given_)) {
    case GossipCourse::Next::trial:
      self_->hold(start_);
      [[fallthrough]];
    case GossipCourse::Next::iteration:
      return iterate();
    case GossipCourse::Next::end:
      return finish();
  }
}
void GossipMember::finish() {
  stage_ = Stage::nothing;
  assert(rounds_heard_.empty() && gifts_.empty() && returned_.empty() && underway_ == 0);
  std::vector<Claim> claims;
  for (const Token& token : rules_.keep_best ? best_ : self_->held)
    if (token.home != seat_.pe) claims.push_back({token.home, token.object});
  seat_.decided(claims, "");
}

void GossipMember::hear(int from, const char* bytes, std::size_t length) {
  assert(length >= sizeof(GossipHeader));
  GossipHeader head;
  std::memcpy(&head, bytes, sizeof head);
  switch (head.kind) {
    case GossipMessage::sum_up:
    case GossipMessage::sum_down:
      assert(length == sizeof head + sizeof(LoadSum));
      return sum_.hear(from, head.kind == GossipMessage::sum_up ? TreeSum::Way::up : TreeSum::Way::down,
                       body_of<LoadSum>(bytes, length).front());
    case GossipMessage::rumours: {
      assert(head.number >= 0 && head.number < rules_.fanout);
      Round& round = rounds_heard_.try_emplace({head.iteration, head.round}, rules_.fanout).first->second;
      round.told[static_cast<std::size_t>(head.number)] = body_of<Rumour>(bytes, length);
      ++round.heard;
      if (stage_ == Stage::rumours) listen();
      return;
    }
    case GossipMessage::tokens: {
      assert(head.iteration == iteration_);
      for (const Token& token : body_of<Token>(bytes, length)) gifts_.emplace_back(from, token);
      return send(from, {GossipMessage::arrived}, std::span<const Token>());
    }
    case GossipMessage::returned: {
      assert(head.iteration == iteration_);
      const std::vector<Token> tokens = body_of<Token>(bytes, length);
      returned_.insert(returned_.end(), tokens.begin(), tokens.end());
      return send(from, {GossipMessage::arrived}, std::span<const Token>());
    }
    case GossipMessage::arrived:
      assert(underway_ > 0);
      if (--underway_ == 0) all_arrived();
      return;
  }
}
}  // namespace

std::unique_ptr<Member> gossip_member(const GossipRules& rules, Seat seat) {
  return std::make_unique<GossipMember>(rules, std::move(seat));
}

}  // namespace periapt::loadbalance
