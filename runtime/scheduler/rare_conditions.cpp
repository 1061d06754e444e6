#include "runtime/scheduler/rare_conditions.h"

#include <signal.h>

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/fatal.h"
#include "runtime/scheduler/arguments.h"
#include "runtime/scheduler/pe.h"

namespace periapt::scheduler {

namespace {
double long_idle_s = 10;

// A PE that has just become idle is looked at again: is it the same period still?
void look_for_long_idle(void* period, double) {
  Pe& pe = *Pe::current();
  if (pe.is_idle() && pe.idle_periods() == reinterpret_cast<std::uintptr_t>(period))
    pe.conditions.raise(condition_long_idle);
}
void on_begin_idle(void*) {
  Pe& pe = *Pe::current();
  if (!pe.conditions.wanted(condition_long_idle)) return;
  void* const period = reinterpret_cast<void*>(static_cast<std::uintptr_t>(pe.idle_periods()));
  pe.conditions.call_after(look_for_long_idle, period, static_cast<std::uint64_t>(1e9 * long_idle_s), clock::now_ns());
}

// How often each signal has come. A PE raises the condition when it finds more than it has seen.
std::atomic<unsigned> signals[2];
static_assert(std::atomic<unsigned>::is_always_lock_free, "a signal handler counts");
int number_of(int condition) { return condition == condition_sigusr1 ? 0 : 1; }
void on_signal(int signal) { signals[signal == SIGUSR1 ? 0 : 1].fetch_add(1, std::memory_order_relaxed); }

struct SignalWatch {
  int condition;
  unsigned seen;
};
void look_for_signal(void* watch) {
  auto& w = *static_cast<SignalWatch*>(watch);
  const unsigned now = signals[number_of(w.condition)].load(std::memory_order_relaxed);
  if (std::exchange(w.seen, now) != now) Pe::current()->conditions.raise(w.condition);
}
void watch_signal(Pe& pe, int condition) {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigaction(condition == condition_sigusr1 ? SIGUSR1 : SIGUSR2, &action, nullptr);
  // It looks until the end of the run, as the PE that asked does.
  auto* watch = new SignalWatch{condition, signals[number_of(condition)].load(std::memory_order_relaxed)};
  pe.conditions.call_always(CcdPERIODIC_10ms, look_for_signal, watch);
}
}  // namespace

void take_long_idle_option(char** argv) {
  if (CmiGetArgDouble(argv, "+longIdleThresh", &long_idle_s) == 0) return;
  if (!(long_idle_s > 0 && long_idle_s < 1e9))
    fatal("+longIdleThresh " + std::to_string(long_idle_s) + " makes no sense", "command line", "it is in seconds");
}

void watch_rare_condition(Pe& pe, int condition) {
  if (condition != condition_long_idle && condition != condition_sigusr1 && condition != condition_sigusr2) return;
  static std::mutex guard;
  static std::set<std::pair<const Pe*, int>> watched;
  {
    const std::lock_guard lock(guard);
    if (!watched.insert({&pe, condition}).second) return;
  }
  if (condition != condition_long_idle) return watch_signal(pe, condition);
  pe.conditions.call_always(condition_begin_idle, on_begin_idle, nullptr);
  if (pe.is_idle()) on_begin_idle(nullptr);
}

}  // namespace periapt::scheduler
