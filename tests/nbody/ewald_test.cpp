// Ewald's sum against constants of crystals, and the far images against Ewald's sum.
#include "examples/nbody/ewald.h"

#include <gtest/gtest.h>

#include <cmath>

#include "examples/nbody/direct.h"
#include "tests/nbody/particles.h"

namespace periapt::nbody {
namespace {

TEST(Ewald, TheDepthOfACubicLatticeAtItsPointsIsTheKnownConstant) {
  EXPECT_NEAR(ewald({0, 0, 0}, 0).depth, -2.837297479480619, 1e-10);  // e.g. Nijboer and de Wette (1957)
}

TEST(Ewald, TableSaltHasMadelungsConstant) {
  // Charges +-1 on a lattice of spacing 1/2 in the unit box, seen from one of them.
  double depth = ewald({0, 0, 0}, 0).depth;
  for (int site = 1; site < 8; ++site) {
    const Vec3 at{0.5 * (site & 1), 0.5 * (site >> 1 & 1), 0.5 * (site >> 2)};
    depth += (site == 1 || site == 2 || site == 4 || site == 7 ? -1 : 1) * ewald(at).depth;
  }
  EXPECT_NEAR(depth * 0.5, -1.747564594633182, 1e-10);
}

TEST(Ewald, IsPeriodicAndEvenAndFlatWhereSymmetryDemandsIt) {
  const Vec3 x{0.13, -0.31, 0.42};
  const Green here = ewald(x), there = ewald(x + Vec3{1, -2, 1}), mirrored = ewald(-x);
  EXPECT_NEAR(here.depth, there.depth, 1e-10);
  EXPECT_NEAR(here.depth, mirrored.depth, 1e-12);
  EXPECT_NEAR(norm(here.gradient - there.gradient), 0, 1e-9);
  EXPECT_NEAR(norm(here.gradient + mirrored.gradient), 0, 1e-12);
  EXPECT_NEAR(norm(ewald({0.5, 0.5, 0.5}).gradient), 0, 1e-12);
  EXPECT_NEAR(ewald({0.5, 0.2, 0.1}).gradient.x, 0, 1e-12);
}

TEST(Ewald, TheGradientIsThatOfTheDepth) {
  for (const int without : {-1, 0, 1}) {
    const Vec3 x{0.21, -0.12, 0.33};
    for (int axis = 0; axis < 3; ++axis) {
      Vec3 step;
      step[axis] = 1e-5;
      const double slope = (ewald(x + step, without).depth - ewald(x - step, without).depth) / 2e-5;
      EXPECT_NEAR(ewald(x, without).gradient[axis], slope, 1e-7 * (1 + std::abs(slope)));
    }
  }
}

TEST(FarImages, AreWhatEwaldsSumHasBeyondTheNeighbours) {
  const Box box{{-1, -1, -1}, 2};  // period 2: lengths scale
  const FarImages far(box);
  auto particles = strewnParticles(20);
  for (Particle& p : particles) p.position *= 2;
  particles[0].position = {-1, -1, -1};  // corners are the hardest
  particles[1].position = {0.9999, 0.9999, 0.9999};
  auto moments = far.noMoments();
  far.addMoments(particles, moments);
  far.addField(far.field(moments), particles, 0);
  for (const Particle& p : particles) {
    Vec3 acceleration;
    double potential = 0;
    for (const Particle& q : particles) {
      const Green g = ewald(0.5 * (p.position - q.position), 1);
      acceleration += q.mass / 4 * g.gradient;
      potential -= q.mass / 2 * g.depth;
    }
    EXPECT_LT(norm(p.acceleration - acceleration), 2e-4);
    EXPECT_NEAR(p.potential, potential, 2e-5);
  }
}

TEST(FarImages, MomentsOfPartsAddUp) {
  const FarImages far({{-0.5, -0.5, -0.5}, 1});
  const auto particles = strewnParticles(50);
  auto whole = far.noMoments(), parts = far.noMoments();
  far.addMoments(particles, whole);
  far.addMoments(std::span(particles).first(20), parts);
  far.addMoments(std::span(particles).subspan(20), parts);
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(whole[i], parts[i], 1e-14);
}

TEST(DirectSumPeriodic, IsEwaldsSumOverPairs) {
  const Box box{{-0.5, -0.5, -0.5}, 1};
  const auto particles = strewnParticles(12);
  const std::vector<std::uint32_t> at{0, 5, 11};
  const auto fields = directSumPeriodic(particles, at, box);
  for (std::size_t i = 0; i < at.size(); ++i) {
    Field exact;
    for (std::uint32_t j = 0; j < particles.size(); ++j) {
      const Green g = ewald(particles[at[i]].position - particles[j].position, at[i] == j ? 0 : -1);
      if (at[i] != j) exact.acceleration += particles[j].mass * g.gradient;
      exact.potential -= particles[j].mass * g.depth;
    }
    EXPECT_LT(norm(fields[i].acceleration - exact.acceleration), 1e-7 * norm(exact.acceleration));
    EXPECT_NEAR(fields[i].potential, exact.potential, 1e-8 * std::abs(exact.potential));
  }
}

}  // namespace
}  // namespace periapt::nbody
