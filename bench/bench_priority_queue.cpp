// The scheduler's queues: a ring alone, no priority, few priorities, a priority each; std::priority_queue beside them.
#include <benchmark/benchmark.h>

#include <functional>
#include <queue>
#include <random>
#include <tuple>
#include <vector>

#include "runtime/scheduler/priority_queue.h"

namespace {

using periapt::scheduler::PriorityQueue;
using periapt::scheduler::Ring;

void ring_alone(benchmark::State& state) {
  Ring<void*> fifo;
  for (int i = 0; i < state.range(0); ++i) fifo.push_back(&fifo);
  for (auto _ : state) {
    fifo.push_back(&fifo);
    benchmark::DoNotOptimize(fifo.pop_front());
  }
}
BENCHMARK(ring_alone)->Arg(0)->Arg(1000);

void no_priority(benchmark::State& state) {
  PriorityQueue<void*> queue;
  for (int i = 0; i < state.range(0); ++i) queue.push(&queue);
  for (auto _ : state) {
    queue.push(&queue);
    benchmark::DoNotOptimize(queue.pop());
  }
}
BENCHMARK(no_priority)->Arg(0)->Arg(1000);

std::vector<int> random_priorities(int distinct) {
  std::mt19937 random(1);
  std::vector<int> priorities(1 << 16);
  for (int& p : priorities) {
    p = static_cast<int>(random() % distinct) - distinct / 2;
    if (p >= 0) ++p;  // 0 is no priority
  }
  return priorities;
}

// One in, one out, with range(0) waiting and range(1) different priorities.
void int_priorities(benchmark::State& state) {
  const auto priorities = random_priorities(static_cast<int>(state.range(1)));
  PriorityQueue<void*> queue;
  std::size_t i = 0;
  const auto next = [&] { return priorities[i++ & 0xffff]; };
  for (int n = 0; n < state.range(0); ++n) queue.push_int(&queue, next());
  for (auto _ : state) {
    queue.push_int(&queue, next());
    benchmark::DoNotOptimize(queue.pop());
  }
}
BENCHMARK(int_priorities)
    ->Args({0, 1})
    ->Args({1000, 1})
    ->Args({1000, 8})
    ->Args({1000, 1 << 30})
    ->Args({100000, 8})
    ->Args({100000, 1 << 30});

// The same from the standard library, FIFO by a counter.
void std_priority_queue(benchmark::State& state) {
  const auto priorities = random_priorities(static_cast<int>(state.range(1)));
  using Item = std::tuple<int, unsigned long, void*>;
  std::priority_queue<Item, std::vector<Item>, std::greater<Item>> queue;
  unsigned long i = 0;
  const auto push = [&] {
    queue.emplace(priorities[i & 0xffff], i, &queue);
    ++i;
  };
  for (int n = 0; n < state.range(0); ++n) push();
  for (auto _ : state) {
    push();
    benchmark::DoNotOptimize(queue.top());
    queue.pop();
  }
}
BENCHMARK(std_priority_queue)
    ->Args({0, 1})
    ->Args({1000, 8})
    ->Args({1000, 1 << 30})
    ->Args({100000, 8})
    ->Args({100000, 1 << 30});

}  // namespace

BENCHMARK_MAIN();
