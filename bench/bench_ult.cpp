// User-level threads: a switch, a thread's life, and beside them the bare jump of Boost.Context that bounds them below.
#include <benchmark/benchmark.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstdlib>
#include <vector>

#include "runtime/scheduler/ult.h"

namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;
using periapt::scheduler::Thread;
using periapt::scheduler::ThreadHooks;
using periapt::scheduler::ThreadSystem;

// The physical limit: there and back, nothing remembered.
void bare_jump_pair(benchmark::State& state) {
  std::vector<char> stack(65536);
  void* there = make_fcontext(stack.data() + stack.size(), stack.size(), [](transfer_t t) {
    for (;;) t = jump_fcontext(t.fctx, nullptr);
  });
  for (auto _ : state) there = jump_fcontext(there, nullptr).fctx;
}
BENCHMARK(bare_jump_pair);

void suspend_forever(void* threads) {
  for (;;) static_cast<ThreadSystem*>(threads)->suspend();
}

// resume + suspend, over `range` threads in turn: one stays in the first-level cache, thousands don't.
void resume_suspend(benchmark::State& state) {
  ThreadSystem threads;
  std::vector<Thread*> all;
  for (int i = 0; i < state.range(0); ++i) all.push_back(threads.create(suspend_forever, &threads));
  for (Thread* t : all) threads.resume(t);
  std::size_t i = 0;
  for (auto _ : state) {
    threads.resume(all[i]);
    if (++i == all.size()) i = 0;
  }
}
BENCHMARK(resume_suspend)->Arg(1)->Arg(16)->Arg(256)->Arg(4096);

void create_run_end(benchmark::State& state) {
  ThreadSystem threads;
  for (auto _ : state) threads.resume(threads.create([](void*) {}, nullptr));
}
BENCHMARK(create_run_end);

// Two threads that hand over to each other directly when they yield.
void yield_direct(benchmark::State& state) {
  struct Pair {
    ThreadSystem threads;
    Thread* ready = nullptr;
    bool over = false;
  } pair;
  ThreadHooks hooks;
  hooks.context = &pair;
  hooks.awaken = [](void* p, Thread* t) { t->next = static_cast<Pair*>(p)->ready, static_cast<Pair*>(p)->ready = t; };
  hooks.choose = [](void* p) {  // not the one that has just yielded
    Pair& pair = *static_cast<Pair*>(p);
    Thread* self = pair.ready;
    Thread* other = self ? self->next : nullptr;
    if (!other) return pair.ready = nullptr, self;
    pair.ready = self;
    self->next = nullptr;
    return other;
  };
  pair.threads.set_hooks(hooks);
  pair.ready = pair.threads.create(
      [](void* p) {
        while (!static_cast<Pair*>(p)->over) static_cast<Pair*>(p)->threads.yield();
      },
      &pair);
  struct Timed {
    benchmark::State& state;
    Pair& pair;
  } timed{state, pair};
  pair.threads.resume(pair.threads.create(
      [](void* t) {
        Timed& timed = *static_cast<Timed*>(t);
        for (auto _ : timed.state) timed.pair.threads.yield();
        timed.pair.over = true;
      },
      &timed));
}
BENCHMARK(yield_direct);

}  // namespace

BENCHMARK_MAIN();
