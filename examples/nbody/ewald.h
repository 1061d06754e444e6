// Gravity of a periodic universe. All of it is G = 1; the mean density does not gravitate (a uniform background of
// negative mass is understood), as in comoving coordinates.
//
// The tree walk sums the box and its 26 neighbours. What all images further away do is a smooth function in the box,
// and is added to each particle by `FarImages`.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "examples/nbody/keys.h"
#include "examples/nbody/particle.h"

namespace periapt::nbody {

/// What a point mass and all its images make: sum of 1/r less the background, and its gradient.
struct Green {
  double depth = 0;  // potential is -depth
  Vec3 gradient;     // acceleration of a particle at x by a mass at 0
};

/// Ewald's sum (1921) for period 1, to about 1e-12. `without` images up to that many periods away along each axis (0:
/// the mass itself; 1: it and its 26 neighbours); -1 for the whole sum.
Green ewald(const Vec3& x, int without = -1);

/// The field of all images beyond the neighbours, by interpolation.
///
/// The depth at x made by mass at y is f(x - y), f being analytic well beyond the box. It is written as a double series
/// of Chebyshev polynomials T in the coordinates of x and y, of total degree up to `degree` in each. So the masses
/// enter through their moments, sums of m T_i(x) T_j(y) T_k(z), which can be added up in any order and over any number
/// of pieces, and the field is again a short series. With degree 8 the relative error of the depth is some 1e-6.
class FarImages {
 public:
  static constexpr int degree = 8;
  using Moments = std::vector<double>;

  explicit FarImages(const Box& box);

  Moments noMoments() const;
  void addMoments(std::span<const Particle> particles, Moments& moments) const;
  /// The series of the field made by moments of all particles.
  std::vector<double> field(const Moments& moments) const;
  /// Adds the field to acceleration and potential of particles on rungs >= minRung.
  void addField(const std::vector<double>& field, std::span<Particle> particles, int minRung) const;

 private:
  struct Operator;
  Box box_;
  std::shared_ptr<const Operator> operator_;
};

}  // namespace periapt::nbody
