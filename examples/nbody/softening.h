// The force of the cubic spline (kernels.h), for floats and for vectors of lanes (simd.h).
#pragma once

#include "examples/gpu/both.h"

namespace periapt::nbody {

inline constexpr double tiny = 1e-36;  // squares of distances below are none

// What is asked of a T; lanes have the same.
PERIAPT_BOTH inline float select(bool condition, float a, float b) { return condition ? a : b; }
PERIAPT_BOTH inline float quotient(float a, float b) { return a / b; }
PERIAPT_BOTH inline float reciprocalSqrt(float x) { return gpu_example::reciprocal_sqrt(x); }

/// Potential depth and force / distance of a unit mass at distance r, softened over 2 h.
template <class T>
struct Softened {
  T depth, pull;
};

template <class T>
[[gnu::always_inline]] PERIAPT_BOTH inline Softened<T> softened(T r2, T twoH) {
  const T zero(0), least(tiny);
  const T inverse = reciprocalSqrt(select(r2 > least, r2, least));
  const T inverse3 = inverse * inverse * inverse;
  // With h = 0 only pairs at distance 0 are within reach: 1/h = 0 makes all of it vanish.
  const T perH = select(twoH > zero, quotient(T(2), select(twoH > zero, twoH, T(1))), zero);
  const T perH3 = perH * perH * perH;
  const T u = r2 * inverse * perH, u2 = u * u, u3 = u2 * u;
  const T innerDepth = perH * (T(1.4) - u2 * (T(2. / 3) - u2 * (T(0.3) - T(0.1) * u)));
  const T innerPull = perH3 * (T(4. / 3) - u2 * (T(1.2) - T(0.5) * u));
  const T outerDepth = perH * (T(1.6) - u2 * (T(4. / 3) - u + u2 * (T(0.3) - T(1. / 30) * u))) - T(1. / 15) * inverse;
  const T outerPull = perH3 * (T(8. / 3) - T(3) * u + T(1.2) * u2 - T(1. / 6) * u3) - T(1. / 15) * inverse3;
  const auto inner = u < T(1), within = r2 < twoH * twoH + least;
  return {select(within, select(inner, innerDepth, outerDepth), inverse),
          select(within, select(inner, innerPull, outerPull), inverse3)};
}

}  // namespace periapt::nbody
