// User-level threads: order of switches, recycling, listeners, locals, exceptions, and stacks that are too small.
#include "runtime/scheduler/ult.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cfenv>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using periapt::scheduler::Thread;
using periapt::scheduler::ThreadHooks;
using periapt::scheduler::ThreadListener;
using periapt::scheduler::ThreadOptions;
using periapt::scheduler::ThreadSystem;

// A thread system whose threads are lambdas, with the simplest scheduler there is: a queue of ready threads.
struct Threads : ThreadSystem {
  explicit Threads(const ThreadOptions& options = {}) : ThreadSystem(options) {
    ThreadHooks hooks;
    hooks.context = this;
    hooks.awaken = [](void* self, Thread* t) { static_cast<Threads*>(self)->ready.push_back(t); };
    set_hooks(hooks);
  }
  Thread* spawn(std::function<void()> body, std::size_t stack_bytes = 0) {
    bodies.push_back(std::move(body));
    return create([](void* body) { (*static_cast<std::function<void()>*>(body))(); }, &bodies.back(), stack_bytes);
  }
  void run_ready() {
    while (!ready.empty()) {
      Thread* t = ready.front();
      ready.pop_front();
      resume(t);
    }
  }
  // Threads switch to the next ready one without passing through the scheduler.
  void choose_directly() {
    ThreadHooks hooks;
    hooks.context = this;
    hooks.awaken = [](void* self, Thread* t) { static_cast<Threads*>(self)->ready.push_back(t); };
    hooks.choose = [](void* self) -> Thread* {
      auto& ready = static_cast<Threads*>(self)->ready;
      if (ready.empty()) return nullptr;
      Thread* t = ready.front();
      ready.pop_front();
      return t;
    };
    set_hooks(hooks);
  }
  std::deque<Thread*> ready;
  std::deque<std::function<void()>> bodies;
};

TEST(Threads, RunFromResumeToSuspend) {
  Threads threads;
  std::string log;
  Thread* t = threads.spawn([&] {
    log += "b";
    EXPECT_NE(threads.current(), nullptr);
    threads.suspend();
    log += "d";
  });
  EXPECT_EQ(threads.current(), nullptr);
  log += "a";
  threads.resume(t);
  log += "c";
  threads.resume(t);
  log += "e";
  EXPECT_EQ(log, "abcde");
  EXPECT_EQ(threads.live(), 0u);
}

TEST(Threads, AThreadMayResumeAnotherAndIsResumedInItsTurn) {
  Threads threads;
  std::string log;
  Thread* inner = threads.spawn([&] { log += "2"; });
  Thread* outer = threads.spawn([&] {
    log += "1";
    threads.resume(inner);  // inner ends: the scheduler's context goes on, not this thread
    log += "4";
  });
  threads.resume(outer);
  log += "3";
  threads.resume(outer);
  EXPECT_EQ(log, "1234");
}

TEST(Threads, YieldingThreadsTakeTurns) {
  for (const bool directly : {false, true}) {
    Threads threads;
    if (directly) threads.choose_directly();
    std::string log;
    for (char name : {'a', 'b', 'c'})
      threads.awaken(threads.spawn([&threads, &log, name] {
        for (int i = 0; i < 3; ++i) {
          log += name;
          threads.yield();
        }
      }));
    threads.run_ready();
    EXPECT_EQ(log, "abcabcabc");
    EXPECT_EQ(threads.live(), 0u);
  }
}

TEST(Threads, StacksAreReusedLastInFirstOut) {
  Threads threads;
  Thread* first = threads.spawn([] {});
  const auto first_id = first->id();
  threads.resume(first);
  Thread* second = threads.spawn([] {});
  EXPECT_EQ(first, second);
  EXPECT_NE(first_id, second->id());
  threads.destroy(second);
  EXPECT_EQ(threads.live(), 0u);
}

TEST(Threads, StacksOfManySizesHoldWhatTheyPromise) {
  Threads threads;
  for (std::size_t bytes : {std::size_t{1}, std::size_t{4096}, std::size_t{20000}, std::size_t{32768},
                            std::size_t{1} << 20, std::size_t{40} << 20}) {
    bool filled = false;
    Thread* t = threads.spawn(
        [&filled, bytes] {
          if (bytes > 8192) {
            // all but what the frames above need
            const std::size_t room = bytes - 6000;
            volatile char* array = static_cast<volatile char*>(__builtin_alloca(room));
            for (std::size_t i = 0; i < room; i += 512) array[i] = 1;
          }
          filled = true;
        },
        bytes);
    EXPECT_GE(t->stack_bytes(), bytes);
    threads.resume(t);
    EXPECT_TRUE(filled);
  }
}

// Threads that all live at once, and have ended.
int run_at_once(Threads& threads, int count) {
  int runs = 0;
  std::vector<Thread*> many;
  for (int i = 0; i < count; ++i)
    many.push_back(threads.spawn([&] {
      threads.suspend();
      ++runs;
    }));
  for (Thread* t : many) threads.resume(t);
  for (Thread* t : many) threads.resume(t);
  return runs;
}

ThreadOptions small_pool() {
  ThreadOptions options;
  options.pooled_bytes = 2 * options.stack_bytes;
  return options;
}

TEST(Threads, StacksKeepTheirMemoryAsLongAsThreadsNeedThemAgain) {
  Threads threads(small_pool());
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(run_at_once(threads, 200), 200);
    EXPECT_FALSE(threads.trim());
  }
  for (int i = 0; i < 1000; ++i) run_at_once(threads, 1);
  EXPECT_EQ(threads.stacks_trimmed(), 0u);
}

TEST(Threads, StacksThatNoThreadHasNeededGiveTheirMemoryBackAndStillWork) {
  Threads threads(small_pool());
  for (int round = 1; round <= 3; ++round) {
    EXPECT_EQ(run_at_once(threads, 200), 200);
    EXPECT_FALSE(threads.trim());  // all have been needed since the last one
    run_at_once(threads, 50);
    EXPECT_TRUE(threads.trimmable());
    EXPECT_FALSE(threads.trim());
    EXPECT_EQ(threads.stacks_trimmed(), 198u * round - 48u);  // 50 have been needed
    EXPECT_FALSE(threads.trim());
    EXPECT_EQ(threads.stacks_trimmed(), 198u * round);
    EXPECT_FALSE(threads.trimmable());
  }
}

TEST(Threads, AFloodOfThreadsGivesItsMemoryBackBitByBit) {
  Threads threads(small_pool());
  constexpr int count = 3000;
  EXPECT_EQ(run_at_once(threads, count), count);
  EXPECT_FALSE(threads.trim());
  int calls = 1;
  while (threads.trim()) ++calls;
  EXPECT_GT(calls, 1);
  EXPECT_EQ(threads.stacks_trimmed(), count - 2u);
}

TEST(Threads, TheirEndIsToldHoweverItComes) {
  struct End : periapt::scheduler::ThreadEnd {
    int* count;
  };
  Threads threads;
  int ended = 0;
  End ends[3];
  Thread* many[] = {threads.spawn([] {}), threads.spawn([&] { threads.exit(); }),
                    threads.spawn([&] { threads.suspend(); })};
  for (int i = 0; i < 3; ++i) {
    ends[i].count = &ended;
    ends[i].ended = [](periapt::scheduler::ThreadEnd* end) { ++*static_cast<End*>(end)->count; };
    many[i]->at_end = &ends[i];
    threads.resume(many[i]);
  }
  EXPECT_EQ(ended, 2);
  threads.destroy(many[2]);
  EXPECT_EQ(ended, 3);
}

struct CountingListener : ThreadListener {
  explicit CountingListener(std::string& l) : log(l) {
    suspend = [](ThreadListener* self) { static_cast<CountingListener*>(self)->log += "s"; };
    resume = [](ThreadListener* self) { static_cast<CountingListener*>(self)->log += "r"; };
    free = [](ThreadListener* self) {
      static_cast<CountingListener*>(self)->log += "f";
      delete static_cast<CountingListener*>(self);
    };
    data = nullptr;
  }
  std::string& log;
};

TEST(Threads, ListenersHearOfEverySwitchAndOfTheEnd) {
  Threads threads;
  std::string log;
  Thread* t = threads.spawn([&] { threads.suspend(); });
  threads.add_listener(t, new CountingListener(log));
  threads.add_listener(t, new CountingListener(log));
  threads.resume(t);
  EXPECT_EQ(log, "rrss");
  threads.resume(t);
  EXPECT_EQ(log, "rrssrrssff");
  Thread* never_run = threads.spawn([] {});
  threads.add_listener(never_run, new CountingListener(log));
  threads.destroy(never_run);
  EXPECT_EQ(log, "rrssrrssfff");
}

TEST(Threads, LocalsAreZeroAndEachThreadsOwn) {
  Threads threads;
  const std::size_t a = threads.register_local(sizeof(int));
  const std::size_t b = threads.register_local(24);
  EXPECT_EQ(b % 16, 0u);
  const auto local = [&](std::size_t offset) -> int& {
    return *static_cast<int*>(threads.local(threads.current(), offset));
  };
  local(a) = 7;
  Thread* t = threads.spawn([&] {
    EXPECT_EQ(local(a), 0);
    local(a) = 8;
    threads.suspend();
    EXPECT_EQ(local(a), 8);
    EXPECT_EQ(local(b), 0);
  });
  threads.resume(t);
  EXPECT_EQ(local(a), 7);
  const std::size_t late = threads.register_local(100000);
  EXPECT_EQ(local(late), 0);
  EXPECT_EQ(local(a), 7);
  threads.resume(t);
}

TEST(Threads, MaySuspendInsideACatchBlock) {
  Threads threads;
  std::string seen;
  std::vector<Thread*> both;
  for (const char* name : {"x", "y"})
    both.push_back(threads.spawn([&, name] {
      try {
        throw std::runtime_error(name);
      } catch (const std::exception&) {
        threads.suspend();
        try {
          throw;  // the exception this thread was handling, not the other's
        } catch (const std::exception& e) {
          seen += e.what();
        }
      }
    }));
  for (Thread* t : both) threads.resume(t);
  EXPECT_EQ(std::current_exception(), nullptr);
  for (Thread* t : both) threads.resume(t);
  EXPECT_EQ(seen, "xy");
}

TEST(Threads, KeepTheirRoundingModes) {
  const auto third = [] {
    volatile double one = 1, three = 3;
    return one / three;
  };
  const auto long_third = [] {  // x86: of the other floating-point unit, whose modes are its own
    volatile long double minus_one = -1, three = 3;
    return minus_one / three;
  };
  const double near = third();
  const long double long_near = long_third();
  Threads threads;
  double upward = 0;
  long double long_upward = 0;
  Thread* rounds_up = threads.spawn([&] {
    ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
    threads.suspend();
    upward = third();
    long_upward = long_third();
  });
  threads.resume(rounds_up);
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  EXPECT_EQ(third(), near);
  EXPECT_EQ(long_third(), long_near);
  threads.resume(threads.spawn([&] { EXPECT_EQ(std::fegetround(), FE_TONEAREST); }));
  threads.resume(rounds_up);
  EXPECT_GT(upward, near);
  EXPECT_GT(long_upward, long_near);
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST(Threads, SeveralSystemsShareAnOsThread) {
  Threads pe0, pe1;
  std::string log;
  Thread* on1 = pe1.spawn([&] {
    log += "1";
    pe1.suspend();
    log += "4";
  });
  Thread* on0 = pe0.spawn([&] {
    log += "0";
    pe0.suspend();
    log += "3";
  });
  pe0.resume(on0);
  pe1.resume(on1);
  log += "-";
  pe0.resume(on0);
  pe1.resume(on1);
  EXPECT_EQ(log, "01-34");
}

TEST(Threads, RunOnSeveralOsThreadsAtOnce) {
  std::vector<std::thread> pes;
  std::vector<int> sums(4);
  for (int pe = 0; pe < 4; ++pe)
    pes.emplace_back([pe, &sums] {
      Threads threads;
      for (int i = 0; i < 100; ++i)
        threads.awaken(threads.spawn([&threads, &sums, pe] {
          for (int round = 0; round < 10; ++round) {
            ++sums[pe];
            threads.yield();
          }
        }));
      threads.run_ready();
    });
  for (auto& pe : pes) pe.join();
  for (int sum : sums) EXPECT_EQ(sum, 1000);
}

TEST(Threads, ASystemMayBeMadeOnOneOsThreadAndRunOnAnother) {
  Threads threads;
  std::string seen;
  Thread* t = threads.spawn([&] {
    try {
      throw std::runtime_error("kept");
    } catch (const std::exception& e) {
      threads.suspend();
      seen = e.what();
    }
  });
  std::thread pe([&] {
    threads.resume(t);
    EXPECT_EQ(std::current_exception(), nullptr);
    threads.resume(t);
  });
  pe.join();
  EXPECT_EQ(seen, "kept");
}

// Threads that resume each other, yield, suspend, end and are destroyed at random, each carrying a checksum on its
// stack across every switch.
TEST(Threads, AMillionRandomSwitchesKeepEveryStackIntact) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Threads threads;
  std::vector<Thread*> suspended;
  std::uint64_t switches = 0, damaged = 0;
  const std::uint64_t goal = 1'000'000;
  const auto take_any = [&] {
    std::swap(suspended[random() % suspended.size()], suspended.back());
    Thread* t = suspended.back();
    suspended.pop_back();
    return t;
  };
  const std::function<void()> body = [&] {
    const std::uint64_t mark = random();
    volatile std::uint64_t stack[32];
    for (auto& word : stack) word = mark;
    while (switches < goal && random() % 64 != 0) {
      ++switches;
      Thread* self = threads.current();
      if (random() % 4 == 0 && !suspended.empty()) {
        Thread* other = take_any();
        suspended.push_back(self);
        threads.resume(other);
      } else {
        suspended.push_back(self);
        threads.suspend();
      }
      for (auto& word : stack) damaged += word != mark;
    }
  };
  while (switches < goal) {
    while (suspended.size() < 100) suspended.push_back(threads.spawn(body, random() % 8 == 0 ? 65536 : 0));
    ++switches;
    threads.resume(take_any());
  }
  while (!suspended.empty()) threads.resume(take_any());
  EXPECT_EQ(damaged, 0u);
  EXPECT_EQ(threads.live(), 0u);
}

int recurse(int depth) {
  volatile char frame[1000];
  frame[0] = static_cast<char>(depth);
  return depth == 0 ? 0 : recurse(depth - 1) + frame[0];
}

#if !defined(PERIAPT_ASAN) && !defined(PERIAPT_TSAN)
using Signal = testing::KilledBySignal;
#else
// a sanitizer's own handler runs after ours, and ends the process its way
struct Signal {
  explicit Signal(int) {}
  bool operator()(int status) const { return status != 0; }
};
#endif

TEST(ThreadsDeathTest, AnOverflowIsExplained) {
  ThreadOptions options;
  options.pe = 3;
  EXPECT_EXIT(
      {
        Threads threads(options);
        threads.resume(threads.spawn([] {}));
        threads.resume(threads.spawn([] { recurse(1000); }));
      },
      Signal(SIGSEGV), "on PE 3.*thread 2 ran over its stack of 32768 bytes.*\\+stacksize");
}

TEST(ThreadsDeathTest, AnOverflowOnAnotherOsThreadIsExplained) {
  EXPECT_EXIT(
      {
        std::thread pe([] {
          Threads threads;
          threads.resume(threads.spawn([] { recurse(5000); }, 1 << 20));
        });
        pe.join();
      },
      Signal(SIGSEGV), "on PE 0.*thread 1 ran over its stack of 1048576 bytes");
}

TEST(ThreadsDeathTest, AnotherBadAddressIsNotCalledAnOverflow) {
  EXPECT_EXIT(
      {
        Threads threads;
        threads.resume(threads.spawn([] {
          volatile std::uintptr_t bad = 8;
          *reinterpret_cast<volatile int*>(bad) = 1;
        }));
      },
      Signal(SIGSEGV), testing::Not(testing::ContainsRegex("ran over its stack")));
}

TEST(ThreadsDeathTest, MistakesAreSentences) {
  Threads threads;
  EXPECT_DEATH(threads.suspend(), "outside of a thread.*\\[threaded\\]");
  EXPECT_DEATH(threads.resume(threads.spawn([] { throw std::runtime_error("late"); })), "left the function.*late");
  Thread* t = threads.spawn([] {});
  threads.resume(t);
  EXPECT_DEATH(threads.resume(t), "after its end");
}

}  // namespace
