// Folding contributions: one double, a kilobyte, a megabyte, and beside it the bare loop; ids and placements.
#include <benchmark/benchmark.h>

#include <vector>

#include "runtime/api/array_index.h"
#include "runtime/api/reducers.h"
#include "runtime/array/default_map.h"

namespace {

using namespace periapt::chare;

Contribution part_of(std::vector<double>& data) {
  Contribution c;
  c.data = data.data();
  c.size = data.size() * sizeof(double);
  return c;
}

void fold_sum_double(benchmark::State& state) {
  std::vector<double> a(static_cast<std::size_t>(state.range(0)), 1), b = a;
  Contribution into = part_of(a);
  const Contribution from = part_of(b);
  for (auto _ : state) benchmark::DoNotOptimize(fold(CkReduction::sum_double, into, from, 0));
  state.SetBytesProcessed(state.iterations() * state.range(0) * 8);
}
BENCHMARK(fold_sum_double)->Arg(1)->Arg(128)->Arg(1 << 17);

void bare_loop(benchmark::State& state) {
  std::vector<double> a(static_cast<std::size_t>(state.range(0)), 1), b = a;
  for (auto _ : state) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * 8);
}
BENCHMARK(bare_loop)->Arg(1)->Arg(128)->Arg(1 << 17);

void fold_nop(benchmark::State& state) {
  Contribution a, b;
  for (auto _ : state) benchmark::DoNotOptimize(fold(CkReduction::nop, a, b, 0));
}
BENCHMARK(fold_nop);

void id_and_back(benchmark::State& state) {
  int i = 0;
  for (auto _ : state) {
    const CkArrayIndex index =
        state.range(0) == 1 ? CkArrayIndex(CkArrayIndex1D(++i)) : CkArrayIndex3D(++i & 1023, 2, 3);
    benchmark::DoNotOptimize(index_of(compact_id(index)));
  }
}
BENCHMARK(id_and_back)->Arg(1)->Arg(3);

void place(benchmark::State& state) {
  const Placement blocks(CkArrayIndex1D(1000000), 7);
  int i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(blocks.pe_of(CkArrayIndex1D(i)));
    if (++i == 1000000) i = 0;
  }
}
BENCHMARK(place);

}  // namespace

BENCHMARK_MAIN();
