// Runs lock-free code of ours through its schedules, one after the other: the code itself, not a model of it.
//
// A file that includes this, and then machine/host/*.cpp, has them compiled with atomics that stop before each
// operation and ask the Explorer which goes on. Threads are fibers of one OS thread. The machine is x86: each thread
// has a store buffer, so a store may become visible later than the thread's next loads; atomic read-modify-writes,
// fences and system calls empty it, membarrier() empties those of all.
//
//   Explorer::Findings found = explore(3, [](Explorer& threads) {
//     auto state = std::make_shared<State>();                    // fresh for each run
//     threads.add([=] { ... });  threads.add([=] { ... });
//     threads.at_end([=] { return what must hold; });
//   });
//
// All schedules are run in which a thread is stopped in favour of another one, or a store is late, three times
// altogether (most faults need two: Musuvathi and Qadeer, "Iterative context bounding", 2007); where they are too many,
// the first kRunsMost of them.
#pragma once

// All of the standard library that is used, before `atomic` means something else.
#include <gtest/gtest.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/sanitizer.h"

namespace periapt::explore {

class Explorer {
 public:
  struct Findings {
    unsigned runs = 0;
    unsigned wrong = 0;  ///< runs after which something did not hold
    unsigned stuck = 0;  ///< runs in which threads waited for ever
  };

  void add(std::function<void()> body) { bodies_.push_back(std::move(body)); }
  void at_end(std::function<bool()> holds) { at_end_ = std::move(holds); }
  /// Something that must hold, from within a thread.
  void expect(bool holds) { wrong_ |= !holds; }

  static Explorer*& current() {
    static Explorer* one = nullptr;
    return one;
  }

  // ---- what the atomics say

  void before_operation() {
    if (now_ < 0) return;
    if (++in_a_row_ > kInARow) return give_way();
    const std::vector<int> others = runnable_but(now_);
    if (others.empty()) return;
    if (const int chosen = choose(static_cast<int>(others.size()) + 1); chosen > 0)
      run_instead(others[static_cast<std::size_t>(chosen - 1)]);
  }
  void store(void* at, const void* value, std::size_t size) {
    if (now_ < 0) return static_cast<void>(std::memcpy(at, value, size));
    std::deque<Store>& late = fibers_[static_cast<std::size_t>(now_)].late;
    if (late.empty() && choose(2) == 0) return static_cast<void>(std::memcpy(at, value, size));
    Store& one = late.emplace_back();
    one = {at, size, {}};
    std::memcpy(one.bytes, value, size);
  }
  void load(const void* at, void* value, std::size_t size) const {
    std::memcpy(value, at, size);
    if (now_ < 0) return;
    for (const Store& one : fibers_[static_cast<std::size_t>(now_)].late)
      if (one.at == at) std::memcpy(value, one.bytes, size);
  }
  /// All stores of the thread that runs are visible from here on.
  void fence() {
    if (now_ >= 0) empty(fibers_[static_cast<std::size_t>(now_)]);
  }
  void fence_all() {
    before_operation();
    for (Fiber& fiber : fibers_) empty(fiber);
  }
  void sleep_while(const std::uint32_t* word, std::uint32_t expected) {
    before_operation();
    fence();
    if (now_ < 0 || *word != expected) return;
    fibers_[static_cast<std::size_t>(now_)].sleeps_on = word;
    leave();
  }
  void wake_one(const std::uint32_t* word) {
    before_operation();
    fence();
    for (Fiber& fiber : fibers_)
      if (fiber.sleeps_on == word) return static_cast<void>(fiber.sleeps_on = nullptr);
  }
  /// A thread that finds nothing to do lets the others go on.
  void give_way() {
    in_a_row_ = 0;
    if (++given_way_ > kGivenWay) stuck_ = true;
    for (Fiber& fiber : fibers_) empty(fiber);
    const std::vector<int> others = runnable_but(now_);
    if (stuck_) return switch_to(-1);
    if (!others.empty())
      run_instead(*std::find_if(others.begin(), others.end(), [&](int i) { return i > now_ || i == others.back(); }));
  }

 private:
  friend Explorer::Findings explore(int deviations, const std::function<void(Explorer&)>& prepare);
  static constexpr int kInARow = 2000;        // operations, then another thread has its turn anyway
  static constexpr unsigned kGivenWay = 500;  // in one run: no thread comes on any more
  static constexpr std::size_t kStack = 128 << 10;

  struct Store {
    void* at;
    std::size_t size;
    std::byte bytes[8];
  };
  struct Fiber {
    ucontext_t context{};
    FiberState sanitizer;
    std::unique_ptr<std::byte[]> stack;
    std::deque<Store> late;
    const void* sleeps_on = nullptr;
    bool done = false;
  };
  struct Choice {
    int chosen, of;
  };

  static void empty(Fiber& fiber) {
    for (const Store& one : fiber.late) std::memcpy(one.at, one.bytes, one.size);
    fiber.late.clear();
  }
  std::vector<int> runnable_but(int except) const {
    std::vector<int> all;
    for (std::size_t i = 0; i < fibers_.size(); ++i)
      if (static_cast<int>(i) != except && !fibers_[i].done && !fibers_[i].sleeps_on)
        all.push_back(static_cast<int>(i));
    return all;
  }

  // 0: as it would go on by itself; anything else is a deviation, of which there are so many.
  int choose(int of) {
    if (at_ < trail_.size()) return count(trail_[at_++].chosen);
    trail_.push_back({0, of});
    ++at_;
    return 0;
  }
  int count(int chosen) {
    deviated_ += chosen != 0;
    return chosen;
  }
  // The next run: false when all have been.
  bool next(int deviations) {
    while (!trail_.empty()) {
      Choice& last = trail_.back();
      int before = 0;
      for (std::size_t i = 0; i + 1 < trail_.size(); ++i) before += trail_[i].chosen != 0;
      if (last.chosen + 1 < last.of && before < deviations) return ++last.chosen, true;
      trail_.pop_back();
    }
    return false;
  }

  void run_instead(int other) { switch_to(other); }
  // The one that runs has ended or sleeps.
  void leave() {
    in_a_row_ = 0;
    switch_to(after_this_one());  // no object may live here: the call need not return
  }
  int after_this_one() {
    const std::vector<int> others = runnable_but(now_);
    if (!others.empty()) return others[static_cast<std::size_t>(choose(static_cast<int>(others.size())))];
    for (Fiber& fiber : fibers_) empty(fiber);
    return -1;
  }
  // -1: to the loop of run().
  void switch_to(int other) {
    const int from = now_;
    FiberState& mine = from < 0 ? outside_sanitizer_ : fibers_[static_cast<std::size_t>(from)].sanitizer;
    ucontext_t& here = from < 0 ? outside_ : fibers_[static_cast<std::size_t>(from)].context;
    FiberState& theirs = other < 0 ? outside_sanitizer_ : fibers_[static_cast<std::size_t>(other)].sanitizer;
    ucontext_t& there = other < 0 ? outside_ : fibers_[static_cast<std::size_t>(other)].context;
    now_ = other;
    if (from < 0) mine.adopt_os_thread();
    mine.leave(theirs, from >= 0 && fibers_[static_cast<std::size_t>(from)].done);
    ::swapcontext(&here, &there);
    mine.arrive();
  }
  static void entered() {
    Explorer& self = *current();
    const auto me = static_cast<std::size_t>(self.now_);
    self.fibers_[me].sanitizer.arrive();
    self.bodies_[me]();
    self.fibers_[me].done = true;
    self.leave();
  }

  void run(const std::function<void(Explorer&)>& prepare, Findings& findings) {
    now_ = -1;
    at_ = 0;
    given_way_ = 0;
    in_a_row_ = deviated_ = 0;
    wrong_ = stuck_ = false;
    bodies_.clear();
    at_end_ = nullptr;
    prepare(*this);
    fibers_.resize(bodies_.size());
    for (Fiber& fiber : fibers_) {
      if (!fiber.stack) fiber.stack = std::make_unique<std::byte[]>(kStack);
      fiber.late.clear();
      fiber.sleeps_on = nullptr;
      fiber.done = false;
      ::getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = kStack;
      fiber.context.uc_link = nullptr;
      fiber.sanitizer.create(fiber.stack.get(), kStack);
      ::makecontext(&fiber.context, &Explorer::entered, 0);
    }
    switch_to(0);
    now_ = -1;
    ++findings.runs;
    const bool all_done = std::all_of(fibers_.begin(), fibers_.end(), [](const Fiber& fiber) { return fiber.done; });
    findings.stuck += !all_done || stuck_;
    findings.wrong += wrong_ || (all_done && at_end_ && !at_end_());
    for (Fiber& fiber : fibers_) fiber.sanitizer.destroy();
  }

  std::vector<std::function<void()>> bodies_;
  std::function<bool()> at_end_;
  std::vector<Fiber> fibers_;
  std::vector<Choice> trail_;
  std::size_t at_ = 0;
  int now_ = -1, in_a_row_ = 0, deviated_ = 0;
  unsigned given_way_ = 0;
  bool wrong_ = false, stuck_ = false;
  ucontext_t outside_{};
  FiberState outside_sanitizer_;
};

inline constexpr unsigned kRunsMost = platform::kAddressSanitizer || platform::kThreadSanitizer ? 3000 : 30'000;

/// Runs the schedules until one goes wrong. `prepare` makes the state and the threads of a run, always the same.
inline Explorer::Findings explore(int deviations, const std::function<void(Explorer&)>& prepare) {
  Explorer explorer;
  Explorer::Findings findings;
  Explorer::current() = &explorer;
  do explorer.run(prepare, findings);
  while (findings.wrong + findings.stuck == 0 && findings.runs < kRunsMost && explorer.next(deviations));
  Explorer::current() = nullptr;
  return findings;
}

}  // namespace periapt::explore

// In this namespace because the code says std::atomic; a value in memory that was zeroed is a good one, as with std's.
namespace std {

template <class T>
class explored_atomic {
  static_assert(sizeof(T) <= 8);
  using Explorer = periapt::explore::Explorer;

 public:
  static constexpr bool is_always_lock_free = true;
  explored_atomic() : value_{} {}
  explored_atomic(T value) : value_(value) {}
  explored_atomic(const explored_atomic&) = delete;
  explored_atomic& operator=(const explored_atomic&) = delete;

  T load(memory_order = memory_order_seq_cst) const {
    Explorer* explorer = Explorer::current();
    if (!explorer) return value_;
    explorer->before_operation();
    T value;
    explorer->load(&value_, &value, sizeof value);
    return value;
  }
  void store(T value, memory_order order = memory_order_seq_cst) {
    Explorer* explorer = Explorer::current();
    if (!explorer) return static_cast<void>(value_ = value);
    explorer->before_operation();
    explorer->store(&value_, &value, sizeof value);
    if (order == memory_order_seq_cst) explorer->fence();
  }
  T exchange(T value, memory_order = memory_order_seq_cst) {
    return change([&](T) { return value; });
  }
  T fetch_add(T more, memory_order = memory_order_seq_cst) {
    return change([&](T old) { return T(old + more); });
  }
  T fetch_sub(T less, memory_order = memory_order_seq_cst) {
    return change([&](T old) { return T(old - less); });
  }
  T fetch_or(T bits, memory_order = memory_order_seq_cst) {
    return change([&](T old) { return T(old | bits); });
  }
  T fetch_and(T bits, memory_order = memory_order_seq_cst) {
    return change([&](T old) { return T(old & bits); });
  }
  bool compare_exchange_strong(T& expected, T wanted, memory_order = memory_order_seq_cst,
                               memory_order = memory_order_seq_cst) {
    const T old = change([&](T now) { return now == expected ? wanted : now; });
    const bool done = old == expected;
    expected = old;
    return done;
  }
  bool compare_exchange_weak(T& expected, T wanted, memory_order = memory_order_seq_cst,
                             memory_order = memory_order_seq_cst) {
    return compare_exchange_strong(expected, wanted);
  }
  const T* address() const { return &value_; }

 private:
  template <class Change>
  T change(Change&& to) {
    if (Explorer* explorer = Explorer::current()) {
      explorer->before_operation();
      explorer->fence();
    }
    const T old = value_;
    value_ = to(old);
    return old;
  }
  T value_;
};

inline void explored_fence(memory_order) {
  if (auto* explorer = periapt::explore::Explorer::current()) explorer->fence();
}

}  // namespace std

#define atomic explored_atomic
#define atomic_thread_fence explored_fence
