// vector2d: points and directions in the plane. C++17: reached from vector2d.h.
#pragma once
#include <algorithm>
#include <cmath>

typedef double real;

class vector2d {
 public:
  real x, y;

  vector2d() {}  // leaves them unset
  explicit vector2d(real both) : x(both), y(both) {}
  explicit vector2d(int both) : x(both), y(both) {}
  vector2d(real x, real y) : x(x), y(y) {}

  operator real*() { return &x; }
  operator const real*() const { return &x; }

  int operator==(const vector2d& b) const { return x == b.x && y == b.y; }
  int operator!=(const vector2d& b) const { return !(*this == b); }
  vector2d operator+(const vector2d& b) const { return {x + b.x, y + b.y}; }
  vector2d operator-(const vector2d& b) const { return {x - b.x, y - b.y}; }
  vector2d operator*(real s) const { return {x * s, y * s}; }
  friend vector2d operator*(real s, const vector2d& v) { return v * s; }
  vector2d operator/(real s) const { return {x / s, y / s}; }
  vector2d operator-() const { return {-x, -y}; }
  void operator+=(const vector2d& b) { *this = *this + b; }
  void operator-=(const vector2d& b) { *this = *this - b; }
  void operator*=(real s) { *this = *this * s; }
  void operator/=(real s) { *this = *this / s; }

  real magSqr() const { return dot(*this); }
  real mag() const { return std::sqrt(magSqr()); }
  real distSqr(const vector2d& b) const { return (*this - b).magSqr(); }
  real dist(const vector2d& b) const { return (*this - b).mag(); }
  real dot(const vector2d& b) const { return x * b.x + y * b.y; }
  real cosAng(const vector2d& b) const { return dot(b) / (mag() * b.mag()); }
  vector2d dir() const { return *this / mag(); }
  vector2d perp() const { return {-y, x}; }  // turned left by a quarter
  vector2d& scale(const vector2d& b) { return *this = {x * b.x, y * b.y}; }
  real max() const { return std::max(x, y); }
  // Each coordinate at least as large as the other's.
  void enlarge(const vector2d& b) { *this = {std::max(x, b.x), std::max(y, b.y)}; }
};
