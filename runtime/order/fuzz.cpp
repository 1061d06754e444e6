// See fuzz.h.
#include "runtime/order/fuzz.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "runtime/objects/pe_objects.h"
#include "runtime/scheduler/message_priority.h"

namespace periapt::order {

namespace {
// Of one sender so many are looked at: how far a later one can come forward.
constexpr std::size_t window = 16;
// And so many where the usual order is asked for and some have priorities.
constexpr std::size_t window_of_priorities = 64;
// A rule holds for at most 2^7 pieces of work, a pause lasts at most 2^11 us; short ones are as likely as long ones.
constexpr unsigned rule_log_max = 7, pause_log_max = 11;
constexpr unsigned pause_every = 512;

// splitmix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014)
std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}
}  // namespace

Fuzz::Fuzz(std::uint64_t seed, int pe, const Changes& changes, std::unique_ptr<ChangeLog> log)
    : random_state_(mixed(seed) + mixed(static_cast<std::uint64_t>(pe) + 1)),
      dice_(mixed(random_state_)),
      changes_(changes.of(pe)),
      log_(std::move(log)) {}

std::uint64_t Fuzz::random() { return mixed(random_state_ += 0x9E3779B97F4A7C15u); }

void Fuzz::add(const Arrival& arrival) {
  if (arrival.place == Arrival::Place::front) return first_.push_front(arrival);
  if (arrival.place == Arrival::Place::expedited) return first_.push_back(arrival);
  auto at = std::find_if(channels_.begin(), channels_.end(), [&](const auto& c) { return c.first == arrival.source; });
  if (at == channels_.end()) at = channels_.insert(at, {arrival.source, {}});
  at->second.push_back({arrival, Piece::of(arrival).receiver(), comings_, comings_});
  ++comings_;
  with_priority_ += arrival.place == Arrival::Place::by_priority;
  ++size_;
}

void Fuzz::change_rule() {
  rule_ = static_cast<Rule>(random() % 4);
  salt_ = random();
  left_ = 1 << random() % (rule_log_max + 1);
}

std::uint64_t Fuzz::score(const Waiting& waiting, std::uint64_t dice) const {
  switch (rule_) {
    case Rule::by_sender:
      return mixed(salt_ ^ static_cast<std::uint64_t>(waiting.arrival.source));
    case Rule::by_receiver:
      return mixed(salt_ ^ waiting.receiver);
    case Rule::newest_first:
      return waiting.coming;
    default:
      return mixed(dice ^ mixed(waiting.receiver + static_cast<std::uint64_t>(waiting.arrival.source + 2)));
  }
}

Fuzz::Choice Fuzz::usual() {
  // With neither the first of a sender is the next of it.
  const std::size_t looked_at = with_priority_ > 0 ? window_of_priorities : put_off_ > 0 ? window : 1;
  Choice best;
  scheduler::PriorityKey best_key = scheduler::PriorityKey::none();
  for_each_candidate(looked_at, [&](const Choice& choice) {
    const Waiting& waiting = choice.waiting();
    const bool prior = waiting.arrival.place == Arrival::Place::by_priority;
    const scheduler::PriorityKey key =
        prior ? scheduler::key_of(waiting.arrival.work.message()) : scheduler::PriorityKey::none();
    const bool better =
        best.from == nullptr || key < best_key || (!(best_key < key) && waiting.place < best.waiting().place);
    if (!better) return;
    best = choice;
    best_key = key;
  });
  return best;
}

Fuzz::Choice Fuzz::by_rule(std::uint64_t dice) {
  Choice chosen;
  std::uint64_t best = 0;
  for_each_candidate(window, [&](const Choice& choice) {
    if (const std::uint64_t s = score(choice.waiting(), dice); chosen.from == nullptr || s > best) {
      chosen = choice;
      best = s;
    }
  });
  return chosen;
}

template <class Function>
void Fuzz::for_each_candidate(std::size_t looked_at, Function&& function) {
  for (auto& [source, channel] : channels_) {
    std::vector<std::uint64_t> passed;  // receivers of what lies before
    for (std::size_t i = 0; i < std::min(looked_at, channel.size()); ++i) {
      const Waiting& waiting = channel[i];
      if (waiting.receiver == 0 && i > 0) break;
      if (std::find(passed.begin(), passed.end(), waiting.receiver) != passed.end()) continue;
      function(Choice{&channel, i});
      if (waiting.receiver == 0) break;
      passed.push_back(waiting.receiver);
    }
  }
}

// It has been overtaken, and goes behind all that waits: one change is enough to delay a message.
void Fuzz::put_off(const Choice& choice) {
  Waiting& waiting = (*choice.from)[choice.at];
  put_off_ += !waiting.is_put_off();
  waiting.place = comings_++;
}

std::string Fuzz::described(const Waiting& waiting) {
  return Piece::of(waiting.arrival).describe(PeObjects::current());
}

bool Fuzz::take(Arrival& next) {
  if (!first_.empty()) {
    next = first_.front();
    first_.pop_front();
    return true;
  }
  if (size_ == 0) return false;
  if (--left_ < 0) change_rule();
  const std::uint64_t decision = decisions_++;
  const std::uint64_t dice = mixed(dice_ + decision * 0x9E3779B97F4A7C15u);
  const bool changes = changes_.has(decision);
  const Choice chosen = changes ? by_rule(dice) : usual();
  // Where every decision may change and nothing is told, the usual order is of no use.
  const bool differs = changes && (log_ || !changes_.all());
  if (const Choice overtaken = differs ? usual() : chosen; !(overtaken == chosen)) {
    if (log_) log_->add(decision, described(chosen.waiting()) + " ran before " + described(overtaken.waiting()));
    put_off(overtaken);
  }
  if (changes && dice % pause_every == 0) {
    const unsigned us = 1u << dice / pause_every % (pause_log_max + 1);
    if (log_)
      log_->add(decision, "stood still for " + std::to_string(us) + " us before " + described(chosen.waiting()));
    std::this_thread::sleep_for(std::chrono::microseconds(us));
  }
  next = chosen.waiting().arrival;
  with_priority_ -= next.place == Arrival::Place::by_priority;
  put_off_ -= chosen.waiting().is_put_off();
  chosen.from->erase(chosen.from->begin() + static_cast<std::ptrdiff_t>(chosen.at));
  --size_;
  return true;
}

}  // namespace periapt::order
