// The inner loops for one instruction set. Built once for each (CMakeLists.txt), so it must not use anything inline of
// the standard library: such a function compiled here could be the copy the linker keeps for the whole program.
#include "examples/nbody/kernels.h"

#include "examples/nbody/far.h"
#include "examples/nbody/multipole.h"
#include "examples/nbody/simd.h"
#include "examples/nbody/softening.h"

namespace periapt::nbody::PERIAPT_NBODY_ISA {
namespace {

constexpr int width = Lanes::width;
static_assert(near_padding % width == 0);

/// Swaps the second block of `half` lanes of a with the first of b, in every 2 * half lanes.
template <int half, int... lane>
[[gnu::always_inline]] inline void swapBlocks(Lanes& a, Lanes& b, std::integer_sequence<int, lane...>) {
  const Lanes::Vector first = a.v, second = b.v;
  a.v = __builtin_shufflevector(first, second, (lane & half ? width + lane - half : lane)...);
  b.v = __builtin_shufflevector(first, second, (lane & half ? width + lane : lane + half)...);
}

/// Rows to columns, in place: blocks of half the width are swapped across the diagonal, then of a quarter ...
template <int half = width / 2>
[[gnu::always_inline]] inline void transpose(Lanes (&rows)[width]) {
  detail::unrolled<width>([&](auto i) __attribute__((always_inline)) {
    if constexpr ((i & half) == 0) swapBlocks<half>(rows[i], rows[i + half], std::make_integer_sequence<int, width>{});
  });
  if constexpr (half > 1) transpose<half / 2>(rows);
}

/// Takes `terms` floats from each of `width` places so that each vector holds one term of all.
[[gnu::always_inline]] inline void gather(const float* const (&from)[width], Series<Lanes>& columns) {
  detail::unrolled<(terms + width - 1) / width>([&](auto block) __attribute__((always_inline)) {
    constexpr int first = block * width;
    Lanes rows[width];
    detail::unrolled<width>([&](auto i) __attribute__((always_inline)) { rows[i] = Lanes::load(from[i] + first); });
    transpose(rows);
    detail::unrolled<width>([&](auto i) __attribute__((always_inline)) {
      if constexpr (first + i < terms) columns[first + i] = rows[i];
    });
  });
}

void cells(const FarSource* sources, std::size_t count, float sinkScale, double* local) {
  static constexpr float nothing[terms + near_padding] = {};
  Series<Lanes> sum;
  for (int k = 0; k < terms; ++k) sum[k] = Lanes(0);

  for (std::size_t first = 0; first < count; first += width) {
    alignas(64) float xs[width], ys[width], zs[width], scales[width];
    const float* rows[width];
    for (int lane = 0; lane < width; ++lane) {
      const bool real = first + lane < count;
      const FarSource& s = sources[real ? first + lane : first];
      xs[lane] = s.x, ys[lane] = s.y, zs[lane] = s.z, scales[lane] = s.scale;
      rows[lane] = real ? s.moments : nothing;
    }
    const Lanes x = Lanes::load(xs), y = Lanes::load(ys), z = Lanes::load(zs);
    actFromAfar(
        x, y, z, Lanes::load(scales),
        Lanes(sinkScale), [&rows](Series<Lanes> & moments) __attribute__((always_inline)) { gather(rows, moments); },
        sum);
  }
  for (int k = 0; k < terms; ++k) local[k] += sum[k].sum();
}

void merge(const Merger* mergers, std::size_t count) {
  for (std::size_t first = 0; first < count; first += width) {
    const std::size_t last = count - first < width ? count : first + width;
    Series<Lanes> sum;
    for (int k = 0; k < terms; ++k) sum[k] = Lanes(0);
    for (int which = 0; which < 2; ++which) {
      alignas(64) float xs[width], ys[width], zs[width], scales[width];
      const float* rows[width];
      for (int lane = 0; lane < width; ++lane) {
        const Merger::Child& child = mergers[first + lane < last ? first + lane : first].children[which];
        xs[lane] = child.x, ys[lane] = child.y, zs[lane] = child.z, scales[lane] = child.scale;
        rows[lane] = child.moments;
      }
      Series<Lanes> moments, shift;
      gather(rows, moments);
      const Lanes scale = Lanes::load(scales);
      Lanes power = Lanes(1);
      for (int n = 0, k = 0; n <= order; ++n, power = power * scale) {
        for (; k < (n + 1) * (n + 1); ++k) moments[k] = moments[k] * power;
      }
      exponential(Lanes::load(xs), Lanes::load(ys), Lanes::load(zs), shift);
      multiply(moments, shift, sum);
    }
    for (std::size_t lane = 0; first + lane < last; ++lane) {
      for (int k = 0; k < terms; ++k) mergers[first + lane].moments[k] = sum[k].v[lane];
    }
  }
}

[[gnu::noinline]] Softened<Lanes> softenedLanes(Lanes r2, Lanes twoH) { return softened(r2, twoH); }

/// All sources on `count` sinks at once, whose sums stay in registers.
template <int count>
[[gnu::always_inline]] inline void act(const NearSources& sources, const NearSinks& sinks, std::size_t first) {
  Lanes x[count], y[count], z[count], h[count], ax[count], ay[count], az[count], depth[count];
  for (int i = 0; i < count; ++i) {
    x[i] = Lanes(sinks.x[first + i]), y[i] = Lanes(sinks.y[first + i]), z[i] = Lanes(sinks.z[first + i]);
    h[i] = Lanes(sinks.softening[first + i]);
    ax[i] = ay[i] = az[i] = depth[i] = Lanes(0);
  }
  for (std::size_t j = 0; j < sources.size; j += width) {
    const Lanes xj = Lanes::load(sources.x + j), yj = Lanes::load(sources.y + j), zj = Lanes::load(sources.z + j);
    const Lanes mj = Lanes::load(sources.mass + j), hj = Lanes::load(sources.softening + j);
    for (int i = 0; i < count; ++i) {
      const Lanes dx = xj - x[i], dy = yj - y[i], dz = zj - z[i], twoH = hj + h[i];
      const Lanes r2 = dx * dx + dy * dy + dz * dz;
      const Lanes inverse = reciprocalSqrt(r2);
      Lanes massDepth = mj * inverse, massPull = massDepth * inverse * inverse;
      const Lanes reach2 = twoH * twoH;
      if (any(r2 < reach2 + Lanes(tiny))) [[unlikely]] {
        const Softened<Lanes> s = softenedLanes(r2, twoH);
        massDepth = mj * s.depth, massPull = mj * s.pull;
      }
      ax[i] = ax[i] + massPull * dx, ay[i] = ay[i] + massPull * dy, az[i] = az[i] + massPull * dz;
      depth[i] = depth[i] + massDepth;
    }
  }
  for (int i = 0; i < count; ++i) {
    sinks.ax[first + i] += ax[i].sum(), sinks.ay[first + i] += ay[i].sum(), sinks.az[first + i] += az[i].sum();
    sinks.potential[first + i] -= depth[i].sum();
  }
}

void particles(const NearSources& sources, const NearSinks& sinks) {
  std::size_t i = 0;
  for (; i + 4 <= sinks.size; i += 4) act<4>(sources, sinks, i);
  for (; i < sinks.size; ++i) act<1>(sources, sinks, i);
}

}  // namespace

#define PERIAPT_NBODY_TEXT(x) #x
#define PERIAPT_NBODY_NAME(x) PERIAPT_NBODY_TEXT(x)
extern const Kernels kernels{PERIAPT_NBODY_NAME(PERIAPT_NBODY_ISA), cells, particles, merge};

}  // namespace periapt::nbody::PERIAPT_NBODY_ISA
