// The inner loops, for every instruction set that this machine has, against the same sums in double precision.
#include "examples/nbody/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "examples/nbody/direct.h"
#include "examples/nbody/multipole.h"
#include "tests/nbody/particles.h"

namespace periapt::nbody {
namespace {

class KernelsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    kernels_ = kernelsFor(GetParam());
    if (kernels_ == nullptr) GTEST_SKIP() << "this machine cannot run " << GetParam();
  }
  const Kernels* kernels_ = nullptr;
};

/// Sources in columns, filled up as the kernel wants them.
struct Columns {
  std::vector<float> x, y, z, mass, softening;
  explicit Columns(const std::vector<Particle>& particles) {
    for (const Particle& p : particles) push(p);
    while (x.size() % near_padding != 0) {
      Particle far;
      far.position = {1e9, 1e9, 1e9};
      push(far);
    }
  }
  void push(const Particle& p) {
    x.push_back(float(p.position.x)), y.push_back(float(p.position.y)), z.push_back(float(p.position.z));
    mass.push_back(p.mass), softening.push_back(p.softening);
  }
  NearSources sources() const { return {x.data(), y.data(), z.data(), mass.data(), softening.data(), x.size()}; }
};

TEST_P(KernelsTest, ParticlesFeelNewtonOutsideAndTheSplineInside) {
  for (const float softening : {0.f, 0.03f, 0.4f}) {
    auto particles = strewnParticles(83, softening);
    for (Particle& p : particles) {
      for (int axis = 0; axis < 3; ++axis) p.position[axis] = float(p.position[axis]);
    }
    const Columns columns(particles);
    const std::size_t sinks = 7;  // a block of four, and a rest
    std::vector<float> ax(sinks), ay(sinks), az(sinks), potential(sinks);
    kernels_->particles(columns.sources(),
                        {columns.x.data(), columns.y.data(), columns.z.data(), columns.softening.data(), ax.data(),
                         ay.data(), az.data(), potential.data(), sinks});
    const std::vector<std::uint32_t> at{0, 1, 2, 3, 4, 5, 6};
    const auto exact = directSum(particles, at);
    for (std::size_t i = 0; i < sinks; ++i) {
      const Vec3 difference = Vec3(ax[i], ay[i], az[i]) - exact[i].acceleration;
      EXPECT_LT(norm(difference), 1e-5 * norm(exact[i].acceleration))
          << "softening " << softening << ", particle " << i;
      const double own = softening > 0 ? 1.4 * particles[i].mass / softening : 0;
      EXPECT_NEAR(potential[i] + own, exact[i].potential, 1e-5 * std::abs(exact[i].potential) + 2e-6 * own);
    }
  }
}

TEST_P(KernelsTest, AnUnsoftenedPairAtDistanceZeroFeelsNothing) {
  std::vector<Particle> particles(2);
  particles[0].mass = particles[1].mass = 1;
  const Columns columns(particles);
  float out[4] = {};
  kernels_->particles(columns.sources(), {columns.x.data(), columns.y.data(), columns.z.data(),
                                          columns.softening.data(), &out[0], &out[1], &out[2], &out[3], 1});
  for (const float v : out) EXPECT_EQ(v, 0);
}

TEST_P(KernelsTest, CellsActAsTheSeriesSay) {
  constexpr std::size_t count = 21;  // not a whole number of vectors
  constexpr float sinkScale = 0.3f;
  std::uint64_t state = 3;
  std::vector<float> moments(count * terms + near_padding);
  std::vector<FarSource> sources;
  Series<double> exact{};
  for (std::size_t s = 0; s < count; ++s) {
    float* own = &moments[s * terms];
    for (int k = 0; k < terms; ++k) own[k] = float(strewn(state) - 0.5);
    FarSource source{float(strewn(state) + 1), float(-strewn(state)), float(strewn(state) - 2), 0.4f, own};
    sources.push_back(source);
    const double r = norm({source.x, source.y, source.z});
    Series<double> d, m;
    derivatives(source.x / r, source.y / r, source.z / r, d);
    for (int k = 0; k < terms; ++k) m[k] = own[k] * std::pow(source.scale / r, powers[k].degree());
    contract(m, d, [&](auto k, double v) { exact[k] += v / r * std::pow(sinkScale / r, powers[k].degree()); });
  }
  Series<double> local{};
  kernels_->cells(sources.data(), count, sinkScale, local.term);
  double largest = 0;
  for (int k = 0; k < terms; ++k) largest = std::max(largest, std::abs(exact[k]));
  for (int k = 0; k < terms; ++k) EXPECT_NEAR(local[k], exact[k], 2e-6 * largest) << "term " << k;
}

TEST_P(KernelsTest, CellsBecomeTheirParentAsTheSeriesSay) {
  constexpr std::size_t count = 21;
  std::uint64_t state = 5;
  std::vector<float> moments(2 * count * terms + near_padding), out(count * terms);
  std::vector<Merger> mergers(count);
  for (float& m : moments) m = float(strewn(state) - 0.5);
  for (std::size_t i = 0; i < count; ++i) {
    mergers[i].moments = &out[i * terms];
    for (Merger::Child& child : mergers[i].children) {
      child = {float(strewn(state) - 0.5), float(strewn(state) - 0.5), float(strewn(state) - 0.5), float(strewn(state)),
               &moments[(2 * i + std::size_t(&child - mergers[i].children)) * terms]};
    }
  }
  kernels_->merge(mergers.data(), count);
  for (std::size_t i = 0; i < count; ++i) {
    Series<double> exact{};
    for (const Merger::Child& child : mergers[i].children) {
      Series<double> shift, scaled;
      exponential(double(child.x), double(child.y), double(child.z), shift);
      for (int k = 0; k < terms; ++k) scaled[k] = child.moments[k] * std::pow(double(child.scale), powers[k].degree());
      multiply(scaled, shift, exact);
    }
    for (int k = 0; k < terms; ++k) EXPECT_NEAR(out[i * terms + k], exact[k], 2e-6) << "parent " << i << ", term " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, KernelsTest, testing::Values("base", "avx2", "avx512"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Kernels, AnUnknownSetIsNotThere) { EXPECT_EQ(kernelsFor("mmx"), nullptr); }

}  // namespace
}  // namespace periapt::nbody
