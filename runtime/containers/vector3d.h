// CkVector3d: points and directions in space; boxes and half-spaces of them. C++17: reached from ckvector3d.h.
// Right-handed: x cross y is +z.
#pragma once
#include <algorithm>
#include <cmath>

#include "runtime/pup/operators.h"

template <class Real>
class CkVector3dT {
 public:
  Real x, y, z;

  CkVector3dT() = default;  // leaves them unset: arrays of millions are made
  explicit CkVector3dT(int all) : CkVector3dT(Real(all), Real(all), Real(all)) {}
  explicit CkVector3dT(float all) : CkVector3dT(Real(all), Real(all), Real(all)) {}
  explicit CkVector3dT(double all) : CkVector3dT(Real(all), Real(all), Real(all)) {}
  CkVector3dT(Real x, Real y, Real z) : x(x), y(y), z(z) {}
  CkVector3dT(const Real* xyz) : CkVector3dT(xyz[0], xyz[1], xyz[2]) {}
  template <class Other>
  CkVector3dT(const CkVector3dT<Other>& o) : CkVector3dT(Real(o.x), Real(o.y), Real(o.z)) {}

  operator Real*() { return &x; }
  operator const Real*() const { return &x; }

  int operator==(const CkVector3dT& b) const { return x == b.x && y == b.y && z == b.z; }
  int operator!=(const CkVector3dT& b) const { return !(*this == b); }
  CkVector3dT operator+(const CkVector3dT& b) const { return {x + b.x, y + b.y, z + b.z}; }
  CkVector3dT operator-(const CkVector3dT& b) const { return {x - b.x, y - b.y, z - b.z}; }
  CkVector3dT operator*(Real s) const { return {x * s, y * s, z * s}; }
  friend CkVector3dT operator*(Real s, const CkVector3dT& v) { return v * s; }
  CkVector3dT operator/(Real s) const { return {x / s, y / s, z / s}; }
  CkVector3dT operator-() const { return {-x, -y, -z}; }
  void operator+=(const CkVector3dT& b) { *this = *this + b; }
  void operator-=(const CkVector3dT& b) { *this = *this - b; }
  void operator*=(Real s) { *this = *this * s; }
  void operator/=(Real s) { *this = *this / s; }

  Real magSqr() const { return dot(*this); }
  Real mag() const { return static_cast<Real>(std::sqrt(magSqr())); }
  Real distSqr(const CkVector3dT& b) const { return (*this - b).magSqr(); }
  Real dist(const CkVector3dT& b) const { return (*this - b).mag(); }
  Real dot(const CkVector3dT& b) const { return x * b.x + y * b.y + z * b.z; }
  Real cosAng(const CkVector3dT& b) const { return dot(b) / (mag() * b.mag()); }
  CkVector3dT dir() const { return *this / mag(); }
  CkVector3dT cross(const CkVector3dT& b) const { return {y * b.z - z * b.y, z * b.x - x * b.z, x * b.y - y * b.x}; }
  Real max() const { return std::max({x, y, z}); }
  // Each coordinate at least as large as the other's.
  void enlarge(const CkVector3dT& b) { *this = {std::max(x, b.x), std::max(y, b.y), std::max(z, b.z)}; }

  void pup(PUP::er& p) {
    p | x;
    p | y;
    p | z;
  }
};
typedef CkVector3dT<double> CkVector3d;
typedef CkVector3dT<float> CkVector3f;
typedef CkVector3dT<int> CkVector3i;

// A box along the axes.
class CkBbox3d {
 public:
  CkVector3d min, max;
  CkBbox3d() { empty(); }
  void empty() {
    min = CkVector3d(1e30);
    max = CkVector3d(-1e30);
  }
  bool isEmpty() const { return min.x > max.x; }
  void add(const CkVector3d& p) {
    min = {std::min(min.x, p.x), std::min(min.y, p.y), std::min(min.z, p.z)};
    max.enlarge(p);
  }
  void add(const CkBbox3d& b) {
    add(b.min);
    add(b.max);
  }
  void pup(PUP::er& p) {
    p | min;
    p | max;
  }
};

// The points p with n . p + d >= 0.
class CkHalfspace3d {
 public:
  CkVector3d n;  // normal of its plane, towards the inside
  double d = 0;

  CkHalfspace3d() = default;
  // The plane through three points; inside is the side of a right hand's thumb.
  CkHalfspace3d(const CkVector3d& a, const CkVector3d& b, const CkVector3d& c) { init(a, b, c); }
  CkHalfspace3d(const CkVector3d& a, const CkVector3d& b, const CkVector3d& c, const CkVector3d& inside) {
    initCheck(a, b, c, inside);
  }
  CkHalfspace3d(const CkVector3d& normal, const CkVector3d& on_plane) : n(normal), d(-normal.dot(on_plane)) {}
  void init(const CkVector3d& a, const CkVector3d& b, const CkVector3d& c) {
    n = (b - a).cross(c - a);
    d = -n.dot(a);
  }
  void initCheck(const CkVector3d& a, const CkVector3d& b, const CkVector3d& c, const CkVector3d& inside) {
    init(a, b, c);
    if (side(inside) < 0) {
      n = -n;
      d = -d;
    }
  }
  // Positive inside, negative outside.
  double side(const CkVector3d& p) const { return n.dot(p) + d; }
  // t such that from + t * direction is on the plane, and that point.
  double intersect(const CkVector3d& from, const CkVector3d& direction) const { return -side(from) / n.dot(direction); }
  CkVector3d intersectPt(const CkVector3d& from, const CkVector3d& direction) const {
    return from + direction * intersect(from, direction);
  }
};
