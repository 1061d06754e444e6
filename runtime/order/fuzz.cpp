// See fuzz.h.
#include "runtime/order/fuzz.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace periapt::order {

namespace {
// Of one sender so many are looked at: how far a later one can come forward.
constexpr std::size_t window = 16;
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

Fuzz::Fuzz(std::uint64_t seed, int pe) : random_state_(mixed(seed) + mixed(static_cast<std::uint64_t>(pe) + 1)) {}

std::uint64_t Fuzz::random() { return mixed(random_state_ += 0x9E3779B97F4A7C15u); }

void Fuzz::add(const Arrival& arrival) {
  if (arrival.place == Arrival::Place::front) return first_.push_front(arrival);
  if (arrival.place == Arrival::Place::expedited) return first_.push_back(arrival);
  auto at = std::find_if(channels_.begin(), channels_.end(), [&](const auto& c) { return c.first == arrival.source; });
  if (at == channels_.end()) at = channels_.insert(at, {arrival.source, {}});
  at->second.push_back({arrival, Piece::of(arrival).receiver(), comings_++});
  ++size_;
}

void Fuzz::change_rule() {
  rule_ = static_cast<Rule>(random() % 4);
  salt_ = random();
  left_ = 1 << random() % (rule_log_max + 1);
}

std::uint64_t Fuzz::score(const Waiting& waiting) {
  switch (rule_) {
    case Rule::by_sender:
      return mixed(salt_ ^ static_cast<std::uint64_t>(waiting.arrival.source));
    case Rule::by_receiver:
      return mixed(salt_ ^ waiting.receiver);
    case Rule::newest_first:
      return waiting.coming;
    default:
      return random();
  }
}

bool Fuzz::take(Arrival& next) {
  if (!first_.empty()) {
    next = first_.front();
    first_.pop_front();
    return true;
  }
  if (size_ == 0) return false;
  if (--left_ < 0) change_rule();
  Channel* from = nullptr;
  std::size_t chosen = 0;
  std::uint64_t best = 0;
  for (auto& [source, channel] : channels_) {
    std::vector<std::uint64_t> passed;  // receivers of what lies before
    for (std::size_t i = 0; i < std::min(window, channel.size()); ++i) {
      const Waiting& waiting = channel[i];
      if (waiting.receiver == 0 && i > 0) break;
      if (std::find(passed.begin(), passed.end(), waiting.receiver) != passed.end()) continue;
      if (const std::uint64_t s = score(waiting); from == nullptr || s > best) {
        from = &channel;
        chosen = i;
        best = s;
      }
      if (waiting.receiver == 0) break;
      passed.push_back(waiting.receiver);
    }
  }
  if (random() % pause_every == 0) stand_still();
  next = (*from)[chosen].arrival;
  from->erase(from->begin() + static_cast<std::ptrdiff_t>(chosen));
  --size_;
  return true;
}

void Fuzz::stand_still() {
  std::this_thread::sleep_for(std::chrono::microseconds(1u << random() % (pause_log_max + 1)));
}

}  // namespace periapt::order
