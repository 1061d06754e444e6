// SSEFloat: four floats side by side. For processors that have SSE2; for others there is none.
#pragma once
#include "runtime/containers/lanes.h"

#ifdef __SSE2__
#include <emmintrin.h>

namespace periapt {
struct FourFloats {
  typedef __m128 Vector;
  typedef __m128i Bits;
  static Vector root(Vector a) { return _mm_sqrt_ps(a); }
  static Vector larger(Vector a, Vector b) { return _mm_max_ps(a, b); }
  static int signs(Vector a) { return _mm_movemask_ps(a); }
};
}  // namespace periapt

class SSEFloat : public periapt::Lanes<SSEFloat, periapt::FourFloats> {
 public:
  SSEFloat() {}
  SSEFloat(float all) { val = _mm_set1_ps(all); }
  SSEFloat(float a, float b, float c, float d) { val = _mm_setr_ps(a, b, c, d); }
};
inline void storeu(float* to, const SSEFloat& a) { _mm_storeu_ps(to, a.val); }

#endif
