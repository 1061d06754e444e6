// Series in the derivatives of 1/r: multipole moments, local expansions, and how they are moved and exchanged.
//
// The potential of a mass m at c + e, seen from R + c + d, is m exp(d.D) exp(-e.D) applied to 1/R, D being the
// gradient. So everything here is a polynomial in D = (Dx, Dy, Dz), cut after degree `order`. Because 1/R is harmonic,
// Dz^2 may be replaced by -(Dx^2 + Dy^2) everywhere: only powers 0 and 1 of Dz are ever held, 2n + 1 coefficients of
// degree n, (order + 1)^2 in all. (They carry what the spherical harmonics of degree n carry, without angles or complex
// numbers.)
//
//   moments of a cell     M = sum m exp(-e.D)           a polynomial                     (particle to moments)
//   about another centre  M' = M exp(-s.D)              `multiply`                       (moments to moments)
//   field of a cell       L_a = sum_b M_b (D_{a+b} 1/R)  `contract` with `derivatives`    (moments to local)
//   about another centre  L'_a = sum_b exp(s.D)_b L_{a+b}  `contract` with `exponential`  (local to local)
//   field at a point      the same for a = 1, Dx, Dy, Dz                                 (local to particle)
//
// T is any arithmetic type: double, float, or a vector of lanes (simd.h).
#pragma once

#include <utility>

#include "examples/gpu/both.h"

namespace periapt::nbody {

/// Highest degree held. 6 gave the least time for an accuracy (README.md).
#ifndef PERIAPT_NBODY_ORDER
#define PERIAPT_NBODY_ORDER 6
#endif
inline constexpr int order = PERIAPT_NBODY_ORDER;
inline constexpr int terms = (order + 1) * (order + 1);

/// Place of Dx^a Dy^b Dz^c, c being 0 or 1.
PERIAPT_BOTH constexpr int place(int a, int b, int c) {
  const int n = a + b + c;
  return n * n + (c == 0 ? b : n + 1 + b);
}

struct Power {
  int a, b, c;
  PERIAPT_BOTH constexpr int degree() const { return a + b + c; }
};
/// One value a term. (A plain array: kernels.cpp may not use inline functions of the standard library.)
template <class T>
struct Series {
  T term[terms];
  PERIAPT_BOTH constexpr T& operator[](int k) { return term[k]; }
  PERIAPT_BOTH constexpr const T& operator[](int k) const { return term[k]; }
};

inline constexpr auto powers = [] {
  Series<Power> list{};
  for (int n = 0; n <= order; ++n) {
    for (int b = 0; b <= n; ++b) list[place(n - b, b, 0)] = {n - b, b, 0};
    for (int b = 0; b < n; ++b) list[place(n - 1 - b, b, 1)] = {n - 1 - b, b, 1};
  }
  return list;
}();

namespace detail {

/// Calls f(integral_constant<0>) ... f(integral_constant<N-1>): a loop that is gone at run time.
template <int N, class F>
[[gnu::always_inline]] PERIAPT_BOTH inline void unrolled(F&& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, I>{}), ...);
  }
  (std::make_integer_sequence<int, N>{});
}

/// Coefficient of Dx^a Dy^b Dz^c for c up to 2.
template <int A, int B, int C, class T>
[[gnu::always_inline]] PERIAPT_BOTH inline T coefficient(const Series<T>& s) {
  if constexpr (C < 2) {
    return s[place(A, B, C)];
  } else {
    return -(s[place(A + 2, B, 0)] + s[place(A, B + 2, 0)]);
  }
}

}  // namespace detail

/// exp(x Dx + y Dy + z Dz): degree n is degree n-1 times (x Dx + y Dy + z Dz) / n.
template <class T>
[[gnu::always_inline]] PERIAPT_BOTH inline void exponential(T x, T y, T z, Series<T>& e) {
  e[0] = T(1);
  detail::unrolled<terms - 1>([&](auto i) __attribute__((always_inline)) {
    constexpr Power p = powers[i + 1];
    constexpr int a = p.a, b = p.b, c = p.c;
    T sum = T(0);
    if constexpr (a > 0) sum = sum + x * e[place(a - 1, b, c)];
    if constexpr (b > 0) sum = sum + y * e[place(a, b - 1, c)];
    if constexpr (c > 0) sum = sum + z * e[place(a, b, 0)];
    if constexpr (c == 0 && a > 1) sum = sum - z * e[place(a - 2, b, 1)];
    if constexpr (c == 0 && b > 1) sum = sum - z * e[place(a, b - 2, 1)];
    e[i + 1] = sum * T(1.0 / p.degree());
  });
}

/// All derivatives of 1/r at the point (x, y, z) of the unit sphere: r^2 n D_k = -(2n-1) sum k_i x_i D_{k-i}
/// - (n-1) sum k_i (k_i - 1) D_{k-2i} (Duan and Krasny 2001).
template <class T>
[[gnu::always_inline]] PERIAPT_BOTH inline void derivatives(T x, T y, T z, Series<T>& d) {
  d[0] = T(1);
  detail::unrolled<terms - 1>([&](auto i) __attribute__((always_inline)) {
    constexpr Power p = powers[i + 1];
    constexpr int a = p.a, b = p.b, c = p.c, n = p.degree();
    T first = T(0), second = T(0);
    if constexpr (a > 0) first = first + T(a) * x * d[place(a - 1, b, c)];
    if constexpr (b > 0) first = first + T(b) * y * d[place(a, b - 1, c)];
    if constexpr (c > 0) first = first + z * d[place(a, b, 0)];
    if constexpr (a > 1) second = second + T(a * (a - 1)) * d[place(a - 2, b, c)];
    if constexpr (b > 1) second = second + T(b * (b - 1)) * d[place(a, b - 2, c)];
    d[i + 1] = -(first * T(double(2 * n - 1) / n));
    if constexpr (a > 1 || b > 1) d[i + 1] = d[i + 1] - second * T(double(n - 1) / n);
  });
}

/// sum += s * t as polynomials in D.
template <class T>
[[gnu::always_inline]] PERIAPT_BOTH inline void multiply(const Series<T>& s, const Series<T>& t, Series<T>& sum) {
  detail::unrolled<terms>([&](auto i) __attribute__((always_inline)) {
    constexpr int I = i;
    constexpr int partners = (order - powers[I].degree() + 1) * (order - powers[I].degree() + 1);
    detail::unrolled<partners>([&](auto j) __attribute__((always_inline)) {
      constexpr int J = j;
      constexpr int a = powers[I].a + powers[J].a, b = powers[I].b + powers[J].b, c = powers[I].c + powers[J].c;
      const T product = s[I] * t[J];
      if constexpr (c < 2) {
        sum[place(a, b, c)] = sum[place(a, b, c)] + product;
      } else {
        sum[place(a + 2, b, 0)] = sum[place(a + 2, b, 0)] - product;
        sum[place(a, b + 2, 0)] = sum[place(a, b + 2, 0)] - product;
      }
    });
  });
}

/// One coefficient of `contract`: sum over b of s_b f_{k+b}.
template <int K, class T>
[[gnu::always_inline]] PERIAPT_BOTH inline T contracted(const Series<T>& s, const Series<T>& f) {
  constexpr int partners = (order - powers[K].degree() + 1) * (order - powers[K].degree() + 1);
  T sum = s[0] * f[K];
  detail::unrolled<partners - 1>([&](auto j) __attribute__((always_inline)) {
    constexpr int J = j + 1;
    sum =
        sum +
        s[J] * detail::coefficient<powers[K].a + powers[J].a, powers[K].b + powers[J].b, powers[K].c + powers[J].c>(f);
  });
  return sum;
}

/// out(K, sum_b s_b f_{K+b}) for every coefficient K.
template <class T, class Out>
[[gnu::always_inline]] PERIAPT_BOTH inline void contract(const Series<T>& s, const Series<T>& f, Out&& out) {
  detail::unrolled<terms>([&](auto k) __attribute__((always_inline)) { out(k, contracted<int(k)>(s, f)); });
}

}  // namespace periapt::nbody
