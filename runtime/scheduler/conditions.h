// Conditions and timers of one PE: functions to call when something happens, or when time has passed.
//
// The scheduler raise()s what happens and asks next_deadline_ns() before it sleeps. Time comes from outside, in
// nanoseconds of any clock that doesn't go back: the caller of run_due() says what time it is. One compare tells
// whether anything is due, and one bit whether a function listens to a condition.
//
// Functions may register, cancel, raise and start timers while they run. One registered during a raise is not called by
// that raise; one cancelled is never called again.
// C++17: reachable from a program's headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/scheduler/ccd.h"

namespace periapt {
namespace scheduler {

enum Condition : int {
  condition_scheduler_loop = CcdSCHEDLOOP,
  condition_begin_busy = CcdPROCESSOR_BEGIN_BUSY,
  condition_begin_idle = CcdPROCESSOR_BEGIN_IDLE,
  condition_still_idle = CcdPROCESSOR_STILL_IDLE,
  condition_long_idle = CcdPROCESSOR_LONG_IDLE,
  condition_periodic_first = CcdPERIODIC_FIRST,
  condition_periodic_end = CcdPERIODIC_LAST,
  condition_quiescence = CcdQUIESCENCE,
  condition_topology_available = CcdTOPOLOGY_AVAIL,
  condition_sigusr1 = CcdSIGUSR1,
  condition_sigusr2 = CcdSIGUSR2,
  condition_user_first = CcdUSER,
};
constexpr int conditions_count = CcdUSERMAX + 1;

class Conditions {
 public:
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  Conditions() = default;
  Conditions(const Conditions&) = delete;
  Conditions& operator=(const Conditions&) = delete;

  // The time that timers are told as 0 seconds.
  void set_epoch_ns(std::uint64_t epoch_ns) { epoch_ns_ = epoch_ns; }

  // Calls fn(argument) the next time the condition is raised; call_always(): every time. The answer names the
  // registration to cancel().
  int call_once(int condition, CcdCondFn fn, void* argument) { return add(condition, fn, argument, false); }
  int call_always(int condition, CcdCondFn fn, void* argument) { return add(condition, fn, argument, true); }
  // Nothing happens when it was called and removed already.
  void cancel(int condition, int registration);

  // Calls fn(argument, seconds since the epoch) when run_due() is told now_ns + delay_ns or later.
  void call_after(CcdVoidFn fn, void* argument, std::uint64_t delay_ns, std::uint64_t now_ns);

  bool wanted(int condition) const { return listening_[condition / 64] >> (condition % 64) & 1; }
  // Calls, in order of registration, all functions that listen.
  void raise(int condition) {
    if (wanted(condition)) call_listeners(condition);
  }

  // When run_due() has something to do: 0 for at once, `never` for nothing.
  std::uint64_t next_deadline_ns() const { return next_deadline_ns_; }
  // Timers that are running, those of periodic conditions included.
  std::size_t timers() const { return timers_.size(); }
  // Fires the timers that are due and raises the periodic conditions. True when it called a function.
  bool run_due(std::uint64_t now_ns);

 private:
  struct Listener {
    CcdCondFn fn;  // null: gone, removed when the list is not being walked
    void* argument;
    int registration;
    bool always;
  };
  struct Listeners {
    std::vector<Listener> list;
    int walking = 0;  // raises in progress
  };
  struct Timer {
    std::uint64_t deadline_ns;
    std::uint64_t number;  // earlier first among equals
    CcdVoidFn fn;          // null: raise the periodic condition
    void* argument;
    int condition;
  };
  static bool later(const Timer& a, const Timer& b) {
    return a.deadline_ns != b.deadline_ns ? a.deadline_ns > b.deadline_ns : a.number > b.number;
  }

  int add(int condition, CcdCondFn fn, void* argument, bool always);
  void call_listeners(int condition);
  void tidy(int condition);
  void push(const Timer& timer);
  bool fire(const Timer& timer, std::uint64_t now_ns);
  void note_next() { next_deadline_ns_ = unarmed_ ? 0 : timers_.empty() ? never : timers_.front().deadline_ns; }

  std::uint64_t listening_[(conditions_count + 63) / 64] = {};
  std::uint64_t next_deadline_ns_ = never;
  std::uint32_t armed_ = 0;    // periodic conditions with a timer, a bit each from condition_periodic_first
  std::uint32_t unarmed_ = 0;  // those that get one at the next run_due(), which knows the time
  std::uint64_t epoch_ns_ = 0;
  std::uint64_t next_number_ = 0;
  int next_registration_ = 0;
  std::vector<Timer> timers_;  // a heap, the next one first
  Listeners listeners_[conditions_count];
};

}  // namespace scheduler
}  // namespace periapt
