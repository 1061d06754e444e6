// Integrals over the expansion against closed forms and another quadrature.
#include "examples/nbody/cosmology.h"

#include <gtest/gtest.h>

#include <cmath>

namespace periapt::nbody {
namespace {

/// Simpson's rule in a, with very many points.
template <class F>
double simpson(double from, double to, F f) {
  constexpr int n = 20000;
  const double h = (to - from) / n;
  double sum = f(from) + f(to);
  for (int i = 1; i < n; ++i) sum += (i % 2 == 1 ? 4 : 2) * f(from + i * h);
  return sum * h / 3;
}

TEST(Cosmology, TimeInAFlatUniverseWithVacuumIsTheClosedForm) {
  const Cosmology c{true, 0.3, 0.7, 2.894405};
  for (const double a : {0.01, 0.05, 0.3, 1., 1.7}) {
    const double exact = 2 / (3 * c.h0 * std::sqrt(0.7)) * std::asinh(std::sqrt(0.7 / 0.3) * std::pow(a, 1.5));
    EXPECT_NEAR(c.timeAt(a), exact, 1e-9 * exact) << "a = " << a;
  }
}

TEST(Cosmology, EinsteinAndDeSitterHavePowers) {
  const Cosmology c{true, 1, 0, 2};
  const double t0 = c.timeAt(0.1), t1 = c.timeAt(0.8);
  EXPECT_NEAR(t1, 2 / (3 * c.h0) * std::pow(0.8, 1.5), 1e-12);
  EXPECT_NEAR(c.drift(t0, t1), 2 / c.h0 * (std::pow(0.1, -0.5) - std::pow(0.8, -0.5)), 1e-9);
  EXPECT_NEAR(c.kick(t0, t1), 2 / c.h0 * (std::pow(0.8, 0.5) - std::pow(0.1, 0.5)), 1e-9);
}

TEST(Cosmology, ExpansionIsTheInverseOfTime) {
  for (const Cosmology c : {Cosmology{true, 0.3, 0.7, 2.894405}, {true, 0.3, 0, 1}, {true, 1, 0, 1}}) {
    for (const double a : {0.02, 0.05, 0.5, 1., 1.5}) EXPECT_NEAR(c.expansionAt(c.timeAt(a)), a, 1e-10 * a);
  }
}

TEST(Cosmology, KicksAndDriftsAreTheirIntegrals) {
  const Cosmology c{true, 0.3, 0.6, 2.894405};  // with curvature
  const double a0 = 0.05, a1 = 0.9;
  const double t0 = c.timeAt(a0), t1 = c.timeAt(a1);
  EXPECT_NEAR(t1 - t0, simpson(a0, a1, [&](double a) { return 1 / (a * c.hubble(a)); }), 1e-9);
  EXPECT_NEAR(c.drift(t0, t1), simpson(a0, a1, [&](double a) { return 1 / (a * a * a * c.hubble(a)); }), 1e-7);
  EXPECT_NEAR(c.kick(t0, t1), simpson(a0, a1, [&](double a) { return 1 / (a * a * c.hubble(a)); }), 1e-8);
  const double middle = 0.3 * t0 + 0.7 * t1;
  EXPECT_NEAR(c.kick(t0, middle) + c.kick(middle, t1), c.kick(t0, t1), 1e-9);
}

TEST(Cosmology, WithoutExpansionTimeIsTime) {
  const Cosmology c;
  EXPECT_EQ(c.drift(1, 3), 2);
  EXPECT_EQ(c.kick(1, 3), 2);
}

}  // namespace
}  // namespace periapt::nbody
