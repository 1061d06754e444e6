// ckcomplex: a complex number of doubles, as older programs use it; new ones have std::complex. C++17: ckcomplex.h.
#pragma once
#include <cmath>
#include <ostream>

#include "runtime/pup/operators.h"

typedef double RealType;

struct ckcomplex {
  RealType re;
  RealType im;

  ckcomplex(RealType re = 0, RealType im = 0) : re(re), im(im) {}
  RealType getMagSqr() const { return re * re + im * im; }
  ckcomplex conj() const { return {re, -im}; }
  bool notzero() const { return re != 0 || im != 0; }
  ckcomplex multiplyByi() const { return {-im, re}; }

  friend ckcomplex operator+(ckcomplex a, ckcomplex b) { return {a.re + b.re, a.im + b.im}; }
  friend ckcomplex operator-(ckcomplex a, ckcomplex b) { return {a.re - b.re, a.im - b.im}; }
  friend ckcomplex operator*(RealType a, ckcomplex b) { return {a * b.re, a * b.im}; }
  friend ckcomplex operator*(ckcomplex a, RealType b) { return {a.re * b, a.im * b}; }
  friend ckcomplex operator*(ckcomplex a, ckcomplex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  friend ckcomplex operator/(ckcomplex a, RealType b) { return {a.re / b, a.im / b}; }
  void operator+=(ckcomplex b) { *this = *this + b; }
  void operator-=(ckcomplex b) { *this = *this - b; }
  void operator*=(ckcomplex b) { *this = *this * b; }
  friend std::ostream& operator<<(std::ostream& out, const ckcomplex& a) {
    return out << "(" << a.re << "," << a.im << ")";
  }
};
typedef ckcomplex complex;
PUPbytes(ckcomplex)

    inline int isfinite(complex a) {
  return std::isfinite(a.re) && std::isfinite(a.im);
}
inline RealType norm(complex a) { return a.getMagSqr(); }
inline RealType abs(complex a) { return std::sqrt(norm(a)); }
