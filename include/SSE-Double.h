// SSEDouble: two doubles side by side; four where the program is compiled for AVX and says CMK_USE_AVX. For processors
// that have either; for others there is none.
#pragma once
#include "runtime/containers/lanes.h"

#if defined(CMK_USE_AVX) && CMK_USE_AVX && defined(__AVX__)
#include <immintrin.h>

namespace periapt {
struct FourDoubles {
  typedef __m256d Vector;
  typedef __m256i Bits;
  static Vector root(Vector a) { return _mm256_sqrt_pd(a); }
  static Vector larger(Vector a, Vector b) { return _mm256_max_pd(a, b); }
  static int signs(Vector a) { return _mm256_movemask_pd(a); }
};
}  // namespace periapt

class SSEDouble : public periapt::Lanes<SSEDouble, periapt::FourDoubles> {
 public:
  SSEDouble() {}
  SSEDouble(double all) { val = _mm256_set1_pd(all); }
  SSEDouble(double a, double b, double c, double d) { val = _mm256_setr_pd(a, b, c, d); }
};
inline void storeu(double* to, const SSEDouble& a) { _mm256_storeu_pd(to, a.val); }

#elif defined(__SSE2__)
#include <emmintrin.h>

namespace periapt {
struct TwoDoubles {
  typedef __m128d Vector;
  typedef __m128i Bits;
  static Vector root(Vector a) { return _mm_sqrt_pd(a); }
  static Vector larger(Vector a, Vector b) { return _mm_max_pd(a, b); }
  static int signs(Vector a) { return _mm_movemask_pd(a); }
};
}  // namespace periapt

class SSEDouble : public periapt::Lanes<SSEDouble, periapt::TwoDoubles> {
 public:
  SSEDouble() {}
  SSEDouble(double both) { val = _mm_set1_pd(both); }
  SSEDouble(double a, double b) { val = _mm_setr_pd(a, b); }
};
inline void storeu(double* to, const SSEDouble& a) { _mm_storeu_pd(to, a.val); }
inline void storel(double* to, const SSEDouble& a) { _mm_storel_pd(to, a.val); }  // the first
inline void storeh(double* to, const SSEDouble& a) { _mm_storeh_pd(to, a.val); }  // the second

#endif
