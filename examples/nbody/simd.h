// A vector of floats as wide as the instruction set the including file is compiled for, and the few operations the
// kernels need. kernels.cpp is compiled once for each instruction set; the set's name is in every type's name, so that
// the linker keeps the copies apart.
#pragma once

#include <cstring>

#if defined(__AVX512F__)
#define PERIAPT_NBODY_ISA avx512
#define PERIAPT_NBODY_WIDTH 16
#include <immintrin.h>
#elif defined(__AVX2__)
#define PERIAPT_NBODY_ISA avx2
#define PERIAPT_NBODY_WIDTH 8
#include <immintrin.h>
#else
#define PERIAPT_NBODY_ISA base
#define PERIAPT_NBODY_WIDTH 4
#endif

namespace periapt::nbody::PERIAPT_NBODY_ISA {

struct Lanes {
  static constexpr int width = PERIAPT_NBODY_WIDTH;
  typedef float Vector __attribute__((vector_size(4 * width)));
  typedef int Mask __attribute__((vector_size(4 * width)));

  Vector v;

  Lanes() = default;
  Lanes(Vector vector) : v(vector) {}
  explicit Lanes(double s) : v(Vector{} + float(s)) {}

  static Lanes load(const float* p) {
    Lanes l;
    std::memcpy(&l.v, p, sizeof l.v);
    return l;
  }
  void store(float* p) const { std::memcpy(p, &v, sizeof v); }

  friend Lanes operator+(Lanes a, Lanes b) { return a.v + b.v; }
  friend Lanes operator-(Lanes a, Lanes b) { return a.v - b.v; }
  friend Lanes operator*(Lanes a, Lanes b) { return a.v * b.v; }
  friend Lanes operator-(Lanes a) { return -a.v; }
  friend Mask operator<(Lanes a, Lanes b) { return a.v < b.v; }
  friend Mask operator>(Lanes a, Lanes b) { return a.v > b.v; }

  float sum() const {
    float s = 0;
    for (int i = 0; i < width; ++i) s += v[i];
    return s;
  }
};

/// a where the mask is set, b elsewhere.
inline Lanes select(Lanes::Mask mask, Lanes a, Lanes b) { return mask ? a.v : b.v; }

inline Lanes quotient(Lanes a, Lanes b) { return a.v / b.v; }

inline bool any(Lanes::Mask mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask(__m512i(mask), __m512i(mask)) != 0;
#elif defined(__AVX2__)
  return !_mm256_testz_si256(__m256i(mask), __m256i(mask));
#else
  int set = 0;
  for (int i = 0; i < Lanes::width; ++i) set |= mask[i];
  return set != 0;
#endif
}

/// 1/sqrt(x) to about 1e-7: the instruction's estimate and one Newton step. Infinite or not a number for x = 0.
inline Lanes reciprocalSqrt(Lanes x) {
#if defined(__AVX512F__)
  const Lanes y = Lanes::Vector(_mm512_maskz_rsqrt14_ps(0xffff, x.v));
#elif defined(__AVX2__)
  const Lanes y = Lanes::Vector(_mm256_rsqrt_ps(x.v));
#else
  Lanes exact;
  for (int i = 0; i < Lanes::width; ++i) exact.v[i] = 1 / __builtin_sqrtf(x.v[i]);
  return exact;
#endif
#if defined(__AVX2__)
  // AVX-512 includes AVX2
  return y * (Lanes(1.5) - Lanes(0.5) * x * y * y);
#endif
}

}  // namespace periapt::nbody::PERIAPT_NBODY_ISA
