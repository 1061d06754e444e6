#include "runtime/scheduler/conditions.h"

#include <algorithm>
#include <string>

#include "base/fatal.h"

namespace periapt {
namespace scheduler {
namespace {

constexpr std::uint64_t ms = 1'000'000, second = 1000 * ms, minute = 60 * second, hour = 60 * minute;
constexpr std::uint64_t periods_ns[] = {ms,         10 * ms,    100 * ms,    second, 5 * second, 10 * second, minute,
                                        2 * minute, 5 * minute, 10 * minute, hour,   12 * hour,  24 * hour};
static_assert(sizeof(periods_ns) / sizeof(periods_ns[0]) == condition_periodic_end - condition_periodic_first,
              "a period for every periodic condition");

bool is_periodic(int condition) { return condition >= condition_periodic_first && condition < condition_periodic_end; }
std::uint32_t periodic_bit(int condition) { return 1u << (condition - condition_periodic_first); }

}  // namespace

int Conditions::add(int condition, CcdCondFn fn, void* argument, bool always) {
  if (condition < 0 || condition >= conditions_count)
    fatal("condition " + std::to_string(condition) + " doesn't exist: conditions are numbered 0 to " +
          std::to_string(conditions_count - 1) + ", those of a program from CcdUSER (" + std::to_string(CcdUSER) +
          ").");
  listeners_[condition].list.push_back({fn, argument, next_registration_, always});
  listening_[condition / 64] |= std::uint64_t{1} << (condition % 64);
  if (is_periodic(condition) && !(armed_ & periodic_bit(condition))) {
    unarmed_ |= periodic_bit(condition);
    note_next();
  }
  return next_registration_++;
}

void Conditions::cancel(int condition, int registration) {
  if (condition < 0 || condition >= conditions_count) return;
  for (Listener& listener : listeners_[condition].list)
    if (listener.registration == registration) listener.fn = nullptr;
  tidy(condition);
}

void Conditions::call_listeners(int condition) {
  Listeners& listeners = listeners_[condition];
  const std::size_t count = listeners.list.size();  // those added from here on wait for the next raise
  ++listeners.walking;
  for (std::size_t i = 0; i < count; ++i) {
    const Listener listener = listeners.list[i];  // a copy: the list may move while the function runs
    if (!listener.fn) continue;
    if (!listener.always) listeners.list[i].fn = nullptr;
    listener.fn(listener.argument);
  }
  --listeners.walking;
  tidy(condition);
}

void Conditions::tidy(int condition) {
  Listeners& listeners = listeners_[condition];
  if (listeners.walking) return;
  auto& list = listeners.list;
  list.erase(std::remove_if(list.begin(), list.end(), [](const Listener& l) { return l.fn == nullptr; }), list.end());
  if (list.empty()) listening_[condition / 64] &= ~(std::uint64_t{1} << (condition % 64));
}

void Conditions::call_after(CcdVoidFn fn, void* argument, std::uint64_t delay_ns, std::uint64_t now_ns) {
  const std::uint64_t deadline_ns = delay_ns > never - 1 - now_ns ? never - 1 : now_ns + delay_ns;
  push({deadline_ns, next_number_++, fn, argument, 0});
  note_next();
}

void Conditions::push(const Timer& timer) {
  timers_.push_back(timer);
  std::push_heap(timers_.begin(), timers_.end(), later);
}

bool Conditions::run_due(std::uint64_t now_ns) {
  for (int c = condition_periodic_first; unarmed_ != 0 && c < condition_periodic_end; ++c) {
    if (!(unarmed_ & periodic_bit(c))) continue;
    unarmed_ &= ~periodic_bit(c);
    armed_ |= periodic_bit(c);
    push({now_ns + periods_ns[c - condition_periodic_first], next_number_++, nullptr, nullptr, c});
  }
  bool called = false;
  // A timer that a function starts, even with no delay, is for the next time: or this might never end.
  const std::uint64_t first_new = next_number_;
  while (!timers_.empty() && timers_.front().deadline_ns <= now_ns && timers_.front().number < first_new) {
    const Timer timer = timers_.front();
    std::pop_heap(timers_.begin(), timers_.end(), later);
    timers_.pop_back();
    called |= fire(timer, now_ns);
  }
  note_next();
  return called;
}

bool Conditions::fire(const Timer& timer, std::uint64_t now_ns) {
  if (timer.fn) {
    timer.fn(timer.argument, 1e-9 * static_cast<double>(static_cast<std::int64_t>(now_ns - epoch_ns_)));
    return true;
  }
  if (!wanted(timer.condition)) {  // all listeners left: the period starts anew with the next listener
    armed_ &= ~periodic_bit(timer.condition);
    return false;
  }
  // Steady, but a period that was missed whole is not made up for.
  const std::uint64_t period_ns = periods_ns[timer.condition - condition_periodic_first];
  std::uint64_t next_ns = timer.deadline_ns + period_ns;
  if (next_ns <= now_ns) next_ns = now_ns + period_ns;
  push({next_ns, next_number_++, nullptr, nullptr, timer.condition});
  raise(timer.condition);
  return true;
}

}  // namespace scheduler
}  // namespace periapt
