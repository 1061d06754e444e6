// A point or a direction in space.
#pragma once

#include <cmath>

namespace periapt::nbody {

struct Vec3 {
  double x = 0, y = 0, z = 0;

  constexpr Vec3() = default;
  constexpr Vec3(double of_x, double of_y, double of_z) : x(of_x), y(of_y), z(of_z) {}

  double& operator[](int axis) { return (&x)[axis]; }
  double operator[](int axis) const { return (&x)[axis]; }
  Vec3& operator+=(const Vec3& o) { return x += o.x, y += o.y, z += o.z, *this; }
  Vec3& operator-=(const Vec3& o) { return x -= o.x, y -= o.y, z -= o.z, *this; }
  Vec3& operator*=(double s) { return x *= s, y *= s, z *= s, *this; }
};
static_assert(sizeof(Vec3) == 3 * sizeof(double), "the axes are addressed as an array");

inline Vec3 operator+(Vec3 a, const Vec3& b) { return a += b; }
inline Vec3 operator-(Vec3 a, const Vec3& b) { return a -= b; }
inline Vec3 operator-(const Vec3& a) { return {-a.x, -a.y, -a.z}; }
inline Vec3 operator*(double s, Vec3 a) { return a *= s; }
inline Vec3 operator*(Vec3 a, double s) { return a *= s; }
inline double dot(const Vec3& a, const Vec3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vec3 cross(const Vec3& a, const Vec3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline double norm2(const Vec3& a) { return dot(a, a); }
inline double norm(const Vec3& a) { return std::sqrt(norm2(a)); }

}  // namespace periapt::nbody
