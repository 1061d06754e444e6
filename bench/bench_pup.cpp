// What packing costs, beside what copying the same bytes costs: memcpy is the physical limit and stands first in each
// group. "args": the streams' own types are known (arguments of entry methods). "object": through a PUP::er& in another
// function (members of migrating objects).
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "pup.h"
#include "pup_stl.h"

namespace {

struct Particle {
  double mass = 1, position[3] = {1, 2, 3}, velocity[3] = {4, 5, 6};
  float softening = 0.1f;
  int order = 7;
  void pup(PUP::er& p) {
    p | mass;
    p | position;
    p | velocity;
    p | softening;
    p | order;
  }
};
static_assert(sizeof(Particle) == 64, "the benchmarks compare with copies of 64 bytes");

/// Larger in memory than packed.
struct PaddedParticle {
  char kind = 'a';
  double position[3] = {1, 2, 3};
  int order = 7;
  void pup(PUP::er& p) {
    p | kind;
    p | position;
    p | order;
  }
};

struct FlatParticle {
  double mass = 1, position[3] = {1, 2, 3}, velocity[3] = {4, 5, 6};
  float softening = 0.1f;
  int order = 7;
};

}  // namespace

PUPbytes(FlatParticle)

    namespace {
  /// Keeps the compiler from seeing through the stream.
  template <class T>
  [[gnu::noinline]] void through_er(PUP::er & p, T & value) {
    p | value;
  }

  alignas(64) char buffer[1 << 16];

  void scalars_memcpy(benchmark::State & state) {
    struct {
      double x = 1, y = 2;
      int i = 3, j = 4;
    } args;
    for (auto _ : state) {
      std::memcpy(buffer, &args, sizeof args);
      benchmark::DoNotOptimize(buffer);
      benchmark::ClobberMemory();
    }
  }
  void scalars_args_pack(benchmark::State & state) {
    double x = 1, y = 2;
    int i = 3, j = 4;
    for (auto _ : state) {
      PUP::toMem p(buffer, sizeof buffer);
      p | x;
      p | y;
      p | i;
      p | j;
      benchmark::DoNotOptimize(buffer);
      benchmark::ClobberMemory();
    }
  }
  void scalars_args_unpack(benchmark::State & state) {
    double x, y;
    int i, j;
    for (auto _ : state) {
      PUP::fromMem p(buffer, sizeof buffer);
      p | x;
      p | y;
      p | i;
      p | j;
      benchmark::DoNotOptimize(x);
      benchmark::DoNotOptimize(y);
      benchmark::DoNotOptimize(i);
      benchmark::DoNotOptimize(j);
    }
  }

  void object_memcpy(benchmark::State & state) {
    Particle particle;
    for (auto _ : state) {
      benchmark::DoNotOptimize(&particle);
      std::memcpy(buffer, &particle, sizeof particle);
      benchmark::ClobberMemory();
    }
  }
  template <class T>
  void object_size(benchmark::State & state) {
    T particle;
    for (auto _ : state) {
      PUP::sizer p;
      through_er(p, particle);
      benchmark::DoNotOptimize(p.size());
    }
  }
  template <class T>
  void object_pack(benchmark::State & state) {
    T particle;
    for (auto _ : state) {
      PUP::toMem p(buffer, sizeof buffer);
      through_er(p, particle);
      benchmark::ClobberMemory();
    }
  }
  template <class T>
  void object_unpack(benchmark::State & state) {
    T particle;
    for (auto _ : state) {
      PUP::fromMem p(buffer, sizeof buffer);
      through_er(p, particle);
      benchmark::ClobberMemory();
    }
  }

  template <class T>
  std::vector<char> packed(T & value) {
    std::vector<char> bytes(PUP::size(value));
    PUP::toMemBuf(value, bytes.data(), bytes.size());
    return bytes;
  }

  void vector_memcpy(benchmark::State & state) {
    std::vector<double> from(state.range(0), 1.5);
    std::vector<char> to(from.size() * sizeof(double) + 8);
    for (auto _ : state) {
      std::memcpy(to.data(), from.data(), from.size() * sizeof(double));
      benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * from.size() * sizeof(double));
  }
  void vector_pack(benchmark::State & state) {
    std::vector<double> from(state.range(0), 1.5);
    std::vector<char> to(from.size() * sizeof(double) + 8);
    for (auto _ : state) {
      PUP::toMem p(to.data(), to.size());
      through_er(p, from);
      benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * from.size() * sizeof(double));
  }
  void vector_construct(benchmark::State & state) {
    std::vector<double> from(state.range(0), 1.5);
    for (auto _ : state) {
      std::vector<double> to(from);
      benchmark::DoNotOptimize(to.data());
      benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * from.size() * sizeof(double));
  }
  void vector_unpack(benchmark::State & state) {
    std::vector<double> from(state.range(0), 1.5);
    const std::vector<char> bytes = packed(from);
    for (auto _ : state) {
      std::vector<double> to;
      PUP::fromMem p(bytes.data(), bytes.size());
      through_er(p, to);
      benchmark::DoNotOptimize(to.data());
      benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * from.size() * sizeof(double));
  }

  void particles_copy(benchmark::State & state) {
    std::vector<Particle> from(1000);
    for (auto _ : state) {
      std::memcpy(buffer, from.data(), from.size() * sizeof(Particle));
      benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(state.iterations() * from.size());
  }
  template <class T>
  void particles_pack(benchmark::State & state) {
    std::vector<T> from(1000);
    for (auto _ : state) {
      PUP::toMem p(buffer, sizeof buffer);
      through_er(p, from);
      benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(state.iterations() * from.size());
  }
  template <class T>
  void particles_unpack(benchmark::State & state) {
    std::vector<T> from(1000), to;
    const std::vector<char> bytes = packed(from);
    for (auto _ : state) {
      PUP::fromMem p(bytes.data(), bytes.size());
      through_er(p, to);
      benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(state.iterations() * from.size());
  }

  // Into a new vector each time: its memory and the construction of its items count too.
  template <class T>
  void particles_unpack_new(benchmark::State & state) {
    std::vector<T> from(state.range(0));
    const std::vector<char> bytes = packed(from);
    for (auto _ : state) {
      std::vector<T> to;
      PUP::fromMem p(bytes.data(), bytes.size());
      through_er(p, to);
      benchmark::DoNotOptimize(to.data());
      benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(state.iterations() * from.size());
  }

  void map_copy(benchmark::State & state) {
    std::map<int, std::string> from;
    for (int i = 0; i < 1000; ++i) from[i] = std::to_string(i);
    for (auto _ : state) {
      std::map<int, std::string> to(from);
      benchmark::DoNotOptimize(to);
    }
    state.SetItemsProcessed(state.iterations() * from.size());
  }
  void map_unpack(benchmark::State & state) {
    std::map<int, std::string> from;
    for (int i = 0; i < 1000; ++i) from[i] = std::to_string(i);
    const std::vector<char> bytes = packed(from);
    for (auto _ : state) {
      std::map<int, std::string> to;
      PUP::fromMem p(bytes.data(), bytes.size());
      through_er(p, to);
      benchmark::DoNotOptimize(to);
    }
    state.SetItemsProcessed(state.iterations() * from.size());
  }

}  // namespace

BENCHMARK(scalars_memcpy);
BENCHMARK(scalars_args_pack);
BENCHMARK(scalars_args_unpack);
BENCHMARK(object_memcpy);
BENCHMARK_TEMPLATE(object_size, Particle);
BENCHMARK_TEMPLATE(object_pack, Particle);
BENCHMARK_TEMPLATE(object_unpack, Particle);
BENCHMARK_TEMPLATE(object_pack, FlatParticle);
BENCHMARK_TEMPLATE(object_unpack, FlatParticle);
BENCHMARK(vector_memcpy)->Arg(8)->Arg(1000)->Arg(1 << 20);
BENCHMARK(vector_pack)->Arg(8)->Arg(1000)->Arg(1 << 20);
BENCHMARK(vector_construct)->Arg(8)->Arg(1000)->Arg(1 << 20);
BENCHMARK(vector_unpack)->Arg(8)->Arg(1000)->Arg(1 << 20);
BENCHMARK(particles_copy);
BENCHMARK_TEMPLATE(particles_pack, Particle);
BENCHMARK_TEMPLATE(particles_unpack, Particle);
BENCHMARK_TEMPLATE(particles_pack, FlatParticle);
BENCHMARK_TEMPLATE(particles_unpack, FlatParticle);
BENCHMARK_TEMPLATE(particles_unpack_new, Particle)->Arg(1000)->Arg(1000000);
BENCHMARK_TEMPLATE(particles_unpack_new, PaddedParticle)->Arg(1000)->Arg(1000000);
BENCHMARK(map_copy);
BENCHMARK(map_unpack);

BENCHMARK_MAIN();
