// What a source does from afar to a sink's local expansion, for floats and for vectors of lanes (simd.h).
#pragma once

#include "examples/nbody/multipole.h"
#include "examples/nbody/softening.h"

namespace periapt::nbody {

/// The source's centre is (x, y, z) away. `moments_of(moments)` sets them. Every length is taken in units of the
/// distance, then of the sink's scale, so that all numbers stay near 1.
template <class T, class MomentsOf>
[[gnu::always_inline]] PERIAPT_BOTH inline void actFromAfar(T x, T y, T z, T sourceScale, T sinkScale,
                                                            MomentsOf&& moments_of, Series<T>& sum) {
  const T inverse = reciprocalSqrt(x * x + y * y + z * z);
  Series<T> field, moments;
  derivatives(x * inverse, y * inverse, z * inverse, field);
  moments_of(moments);
  const T sourceRatio = sourceScale * inverse, sinkRatio = sinkScale * inverse;
  T sourcePower[order + 1], sinkPower[order + 1];
  sourcePower[0] = T(1), sinkPower[0] = inverse;
  for (int n = 0; n < order; ++n) {
    sourcePower[n + 1] = sourcePower[n] * sourceRatio;
    sinkPower[n + 1] = sinkPower[n] * sinkRatio;
  }
  detail::unrolled<terms>([&](auto k) __attribute__((always_inline)) {
    constexpr int degree = powers[k].degree();
    moments[k] = moments[k] * sourcePower[degree];
  });
  contract(
      moments, field, [&](auto k, T value) __attribute__((always_inline)) {
        constexpr int degree = powers[k].degree();
        sum[k] = sum[k] + value * sinkPower[degree];
      });
}

}  // namespace periapt::nbody
