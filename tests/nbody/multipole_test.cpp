// Series in the derivatives of 1/r against 1/r itself.
#include "examples/nbody/multipole.h"

#include <gtest/gtest.h>

#include <cmath>

#include "examples/nbody/vec3.h"

namespace periapt::nbody {
namespace {

Series<double> exponentialOf(const Vec3& v) {
  Series<double> e;
  exponential(v.x, v.y, v.z, e);
  return e;
}

/// Derivatives of 1/r at r, not only on the unit sphere.
Series<double> derivativesAt(const Vec3& r) {
  const double length = norm(r);
  Series<double> d;
  derivatives(r.x / length, r.y / length, r.z / length, d);
  for (int k = 0; k < terms; ++k) d[k] /= std::pow(length, powers[k].degree() + 1);
  return d;
}

TEST(Multipole, PlacesAndPowersAreInverse) {
  for (int k = 0; k < terms; ++k) {
    EXPECT_EQ(place(powers[k].a, powers[k].b, powers[k].c), k);
    EXPECT_LE(powers[k].c, 1);
  }
}

TEST(Multipole, FirstDerivativesAreThoseOfTheTextbook) {
  const Vec3 r{1.2, -0.7, 0.4};
  const Series<double> d = derivativesAt(r);
  const double l = norm(r);
  EXPECT_NEAR(d[0], 1 / l, 1e-14);
  EXPECT_NEAR(d[place(1, 0, 0)], -r.x / std::pow(l, 3), 1e-14);
  EXPECT_NEAR(d[place(0, 0, 1)], -r.z / std::pow(l, 3), 1e-14);
  EXPECT_NEAR(d[place(2, 0, 0)], (3 * r.x * r.x - l * l) / std::pow(l, 5), 1e-14);
  EXPECT_NEAR(d[place(0, 1, 1)], 3 * r.y * r.z / std::pow(l, 5), 1e-14);
}

TEST(Multipole, ExponentialsMultiplyToTheExponentialOfTheSum) {
  const Vec3 a{0.3, -0.2, 0.5}, b{-0.1, 0.4, 0.25};
  Series<double> product{};
  multiply(exponentialOf(a), exponentialOf(b), product);
  const Series<double> sum = exponentialOf(a + b);
  for (int k = 0; k < terms; ++k) EXPECT_NEAR(product[k], sum[k], 1e-15) << "term " << k;
}

TEST(Multipole, MomentsSeenFromAfarGiveThePotentialToTheOrder) {
  const Vec3 inside{0.05, -0.08, 0.03}, point{0.9, 0.5, -0.6};
  const double potential = contracted<0>(exponentialOf(-inside), derivativesAt(point));
  const double ratio = norm(inside) / norm(point);
  EXPECT_NEAR(potential * norm(point - inside), 1, 2 * std::pow(ratio, order + 1));
  EXPECT_GT(std::abs(potential - 1 / norm(point)), 1e-3) << "the monopole alone would not do";
}

TEST(Multipole, ALocalExpansionGivesTheFieldAroundItsCentre) {
  const Vec3 source{0.05, -0.08, 0.03}, apart{1, 0.7, -0.8}, offset{0.06, 0.02, -0.07};
  Series<double> local;
  contract(exponentialOf(-source), derivativesAt(apart), [&](auto k, double v) { local[k] = v; });
  // By way of another centre, as from a cell to its child.
  const Vec3 step{0.02, 0.05, -0.03};
  Series<double> moved;
  contract(exponentialOf(step), local, [&](auto k, double v) { moved[k] = v; });
  const Series<double> here = exponentialOf(offset - step);
  const Vec3 exact = apart + offset - source;
  const double ratio = (norm(source) + norm(offset)) / norm(apart);
  EXPECT_NEAR(contracted<0>(here, moved) * norm(exact), 1, 2 * std::pow(ratio, order + 1));
  const double pull = -1 / std::pow(norm(exact), 3), allowed = 2 * order * std::pow(ratio, order);
  EXPECT_NEAR(contracted<place(1, 0, 0)>(here, moved), pull * exact.x, allowed);
  EXPECT_NEAR(contracted<place(0, 1, 0)>(here, moved), pull * exact.y, allowed);
  EXPECT_NEAR(contracted<place(0, 0, 1)>(here, moved), pull * exact.z, allowed);
  EXPECT_LT(allowed, 1e-2) << "the bound is worth something";
}

}  // namespace
}  // namespace periapt::nbody
