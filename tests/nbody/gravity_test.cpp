// The tree walk against direct sums, and against itself with the domain cut otherwise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "examples/nbody/accuracy.h"
#include "examples/nbody/direct.h"
#include "examples/nbody/initial.h"
#include "examples/nbody/serial.h"
#include "examples/nbody/tipsy.h"
#include "tests/nbody/particles.h"

namespace periapt::nbody {
namespace {

struct Percentiles {
  double median, p99;
};
Percentiles of(const std::vector<double>& sorted) {
  return {sorted[sorted.size() / 2], sorted[sorted.size() * 99 / 100]};
}

Percentiles errorsAt(std::vector<Particle> particles, const Gravity& gravity, std::size_t samples) {
  evaluateGravity(particles, gravity);
  const auto at = sampleOf(particles.size(), samples);
  const auto exact =
      gravity.periodic ? directSumPeriodic(particles, at, gravity.box(particles)) : directSum(particles, at);
  return of(relativeErrors(particles, at, exact));
}

/// By place in the input, so that runs can be compared.
std::vector<Particle> inOrder(std::vector<Particle> particles) {
  std::ranges::sort(particles, {}, &Particle::order);
  return particles;
}

void expectSame(const std::vector<Particle>& a, const std::vector<Particle>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  double mean = 0, depth = 0;
  for (const Particle& p : a)
    mean += norm(p.acceleration) / double(a.size()), depth += std::abs(p.potential) / double(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_LE(norm(a[i].acceleration - b[i].acceleration), tolerance * (mean + norm(a[i].acceleration)))
        << "particle " << i;
    ASSERT_NEAR(a[i].potential, b[i].potential, tolerance * (depth + std::abs(a[i].potential)));
  }
}

struct Bound {
  double theta, median, p99;
};

TEST(Gravity, ErrorsFallWithTheOpeningAngle) {
  const auto particles = plummer(8000, 0.02);
  // The bounds, here and below, are twice what was measured.
  for (const Bound b : {Bound{0.9, 6e-4, 1.4e-2}, {0.7, 1.2e-4, 6e-3}, {0.525, 2e-5, 1.7e-3}, {0.35, 8e-7, 9e-5}}) {
    Gravity gravity;
    gravity.theta = b.theta;
    const Percentiles e = errorsAt(particles, gravity, 500);
    EXPECT_LT(e.median, b.median) << "theta " << b.theta;
    EXPECT_LT(e.p99, b.p99) << "theta " << b.theta;
  }
}

TEST(Gravity, PeriodicErrorsFallWithTheOpeningAngle) {
  Cosmology cosmology;
  const auto particles = zeldovich(16, 0.3, cosmology);
  for (const Bound b : {Bound{0.7, 1.2e-2, 0.15}, {0.525, 1.8e-3, 1.3e-2}, {0.35, 1.2e-4, 1e-3}}) {
    Gravity gravity;
    gravity.theta = b.theta;
    gravity.periodic = true;
    const Percentiles e = errorsAt(particles, gravity, 60);
    EXPECT_LT(e.median, b.median) << "theta " << b.theta;
    EXPECT_LT(e.p99, b.p99) << "theta " << b.theta;
  }
}

TEST(Gravity, AWalkThatOpensEverythingIsTheDirectSum) {
  const auto particles = strewnParticles(400, 0.05f);
  Gravity gravity;
  gravity.theta = 0.01;
  EXPECT_LT(errorsAt(particles, gravity, 400).p99, 1e-5);
}

TEST(Gravity, DoesNotDependOnThePieces) {
  for (const bool periodic : {false, true}) {
    const auto particles = strewnParticles(4000, 0.002f);
    Gravity gravity;
    gravity.periodic = periodic;
    auto whole = particles;
    evaluateGravity(whole, gravity);
    for (const SerialOptions options : {SerialOptions{7}, {64}, {7, true}, {64, true}}) {
      auto cut = particles;
      evaluateGravity(cut, gravity, 0, options);
      SCOPED_TRACE(testing::Message() << options.pieces << " pieces, fetched " << options.fetch << ", periodic "
                                      << periodic);
      expectSame(inOrder(whole), inOrder(cut), 3e-6);
    }
  }
}

TEST(Gravity, ActiveParticlesFeelWhatTheyFeelWhenAllAreActive) {
  auto all = strewnParticles(3000, 0.002f);
  auto some = all;
  for (Particle& p : some) p.rung = p.order % 50 == 0 ? 3 : 1;
  Gravity gravity;
  gravity.periodic = true;
  evaluateGravity(all, gravity);
  evaluateGravity(some, gravity, 2, {5});
  all = inOrder(all), some = inOrder(some);
  double mean = 0;
  for (const Particle& p : all) mean += norm(p.acceleration) / 3000;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (some[i].rung < 2) {
      EXPECT_EQ(norm(some[i].acceleration), 0);
    } else {
      EXPECT_LT(norm(all[i].acceleration - some[i].acceleration), 3e-6 * mean);
    }
  }
}

TEST(Gravity, FewParticlesAndParticlesInOnePlaceAreNoTrouble) {
  for (const int count : {1, 2, 5}) {
    auto particles = strewnParticles(count);
    evaluateGravity(particles, {}, 0, {3});
    for (const Particle& p : particles) EXPECT_TRUE(std::isfinite(norm(p.acceleration)));
  }
  std::vector<Particle> same(100);
  for (Particle& p : same) p.mass = 1, p.softening = 0.1f;
  evaluateGravity(same, {});
  for (const Particle& p : same) {
    EXPECT_EQ(norm(p.acceleration), 0);
    EXPECT_NEAR(p.potential, -99 * 1.4 / 0.1, 1e-2);
  }
}

TEST(Gravity, MassesFarApartInSizeAndPlaceStayFinite) {
  auto particles = strewnParticles(1000);
  particles[0].position = {1e6, -1e6, 3e5};
  particles[1].mass = 1e10f;
  for (Particle& p : particles) p.mass *= 1e-15f;
  evaluateGravity(particles, {});
  for (const Particle& p : particles) EXPECT_TRUE(std::isfinite(norm(p.acceleration)) && std::isfinite(p.potential));
}

TEST(Gravity, OnCube300IsNoLessAccurateThanHexadecapolesOnParticles) {
  const char* given = std::getenv("PERIAPT_SHARED");
  const std::filesystem::path shared = given ? given : PERIAPT_SOURCE_DIR "/../shared";
  const auto file = shared / "data" / "cube300.tbin";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
  auto particles = readTipsy(file).particles;
  ASSERT_EQ(particles.size(), 110592u);
  Gravity gravity;
  gravity.periodic = true;
  gravity.theta = 0.525;
  for (Particle& p : particles) {
    for (int axis = 0; axis < 3; ++axis) p.position[axis] -= std::floor(p.position[axis] + 0.5);
  }
  evaluateGravity(particles, gravity);
  const auto at = sampleOf(particles.size(), 40);
  const auto exact = directSumPeriodic(particles, at, gravity.box(particles));
  const Percentiles ours = of(relativeErrors(particles, at, exact));
  const auto rival = barnesHutHexadecapole(particles, at, gravity);
  auto asRival = particles;
  for (std::size_t i = 0; i < at.size(); ++i) asRival[at[i]].acceleration = rival[i].acceleration;
  const Percentiles theirs = of(relativeErrors(asRival, at, exact));
  EXPECT_LT(ours.median, theirs.median);
  EXPECT_LT(ours.p99, theirs.p99);
  RecordProperty("median", std::to_string(ours.median));
}

}  // namespace
}  // namespace periapt::nbody
