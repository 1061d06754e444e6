// Rungs and steps; galaxies stay what they are; waves grow as they should.
#include "examples/nbody/integrate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "examples/nbody/initial.h"
#include "examples/nbody/serial.h"

namespace periapt::nbody {
namespace {

TEST(Rungs, AreTheLowestWhoseStepIsShortEnough) {
  const Stepping stepping{0.2, 1.0, 6};
  EXPECT_EQ(rungFor(2, stepping), 0);
  EXPECT_EQ(rungFor(1, stepping), 0);
  EXPECT_EQ(rungFor(0.99, stepping), 1);
  EXPECT_EQ(rungFor(0.25, stepping), 2);
  EXPECT_EQ(rungFor(0.24, stepping), 3);
  EXPECT_EQ(rungFor(1e-9, stepping), 6) << "no deeper than allowed";
  EXPECT_EQ(rungFor(0, stepping), 6);
}

TEST(Rungs, FollowSofteningAndAcceleration) {
  Particle p;
  p.softening = 0.04f;
  p.acceleration = {0, 4, 0};
  EXPECT_NEAR(wantedStep(p, 0.5, 1), 0.05, 1e-8);
  EXPECT_NEAR(wantedStep(p, 0.5, 0.25), 0.05 / 8, 1e-9) << "comoving: softening a, acceleration / a^2";
  p.acceleration = {};
  EXPECT_TRUE(std::isinf(wantedStep(p, 0.5, 1)));
}

TEST(Rungs, NeverFallBelowTheRungThatEndsNow) {
  std::vector<Particle> particles(3);
  for (int i = 0; i < 3; ++i) particles[i].rung = std::uint8_t(i + 1), particles[i].softening = 1;
  EXPECT_EQ(chooseRungs(particles, {0.2, 1}, 1, 2), 2);
  EXPECT_EQ(particles[0].rung, 1) << "in the middle of its step";
  EXPECT_EQ(particles[1].rung, 2);
  EXPECT_EQ(particles[2].rung, 2);
}

TEST(BlockStep, EveryRungIsKickedAndDriftedOverTheWholeStep) {
  const Cosmology cosmology{true};
  const double t0 = cosmology.timeAt(0.2), big = cosmology.timeAt(0.3) - t0;
  constexpr int deepest = 4;
  BlockStep block(cosmology, {0.2, big}, t0, deepest);
  std::array<double, deepest + 1> kicked{};
  std::array<int, deepest + 1> kicks{};
  double drifted = 0;
  int turns = 0;
  for (; !block.isDone(); block.next(deepest), ++turns) {
    const auto open = block.openKick();
    drifted += block.advance();
    const auto close = block.closeKick();
    for (int r = 0; r <= deepest; ++r) kicked[r] += open[r] + close[r], kicks[r] += open[r] != 0;
  }
  EXPECT_EQ(turns, 16);
  EXPECT_NEAR(drifted, cosmology.drift(t0, t0 + big), 1e-10);
  for (int r = 0; r <= deepest; ++r) {
    EXPECT_NEAR(kicked[r], cosmology.kick(t0, t0 + big), 1e-10) << "rung " << r;
    EXPECT_EQ(kicks[r], 1 << r);
  }
}

TEST(BlockStep, TheDeepestRungMayChangeOnTheWay) {
  BlockStep block({}, {0.2, 1}, 0, 1);
  EXPECT_EQ(block.advance(), 0.5);
  EXPECT_EQ(block.rung(), 1);
  block.next(3);
  EXPECT_EQ(block.advance(), 0.125);
  EXPECT_EQ(block.rung(), 3);
  block.next(3);  // a step of rung 2 cannot begin at 5/8
  EXPECT_EQ(block.advance(), 0.125);
  EXPECT_EQ(block.rung(), 2);
  block.next(2);
  EXPECT_EQ(block.advance(), 0.25);
  EXPECT_TRUE(block.isDone());
  EXPECT_EQ(block.rung(), 0);
}

/// Steps a whole run and gives the energies at the start and the end.
std::pair<Totals, Totals> run(std::vector<Particle>& particles, const Cosmology& cosmology, const Stepping& stepping,
                              const Gravity& gravity, double time, int steps) {
  double a = cosmology.comoving ? cosmology.expansionAt(time) : 1;
  evaluateGravity(particles, gravity);
  int deepest = chooseRungs(particles, stepping, a, 0);
  const Totals first = totalsOf(particles, a);
  for (int step = 0; step < steps; ++step) {
    BlockStep block(cosmology, stepping, time, deepest);
    while (!block.isDone()) {
      kick(particles, block.openKick(), block.rung());
      drift(particles, block.advance(), gravity.periodic ? gravity.period : 0);
      evaluateGravity(particles, gravity, block.rung());
      kick(particles, block.closeKick(), block.rung());
      a = block.expansion();
      block.next(deepest = chooseRungs(particles, stepping, a, block.rung()));
    }
    time = block.time();
  }
  return {first, totalsOf(particles, a)};
}

TEST(Integration, AnEnergyThatIsNoNumberEndsIt) {
  Totals fine;
  fine.kinetic = 1, fine.potential = -2;
  Totals wrong = fine;
  wrong.potential = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(EnergyAccount(wrong, 1), std::runtime_error);
  EnergyAccount account(fine, 1);
  EXPECT_EQ(account.drift(fine, 1), 0);
  EXPECT_THROW(account.drift(wrong, 1), std::runtime_error);
}

TEST(Integration, AnIsolatedGalaxyKeepsItsEnergyAndMomentum) {
  auto particles = plummer(2000, 0.05);
  const auto [first, last] = run(particles, {}, {0.15, 0.25}, {}, 0, 8);
  EXPECT_GT(std::ranges::max(particles, {}, &Particle::rung).rung, 0) << "steps of several lengths were used";
  EXPECT_LT(std::abs(last.energy() - first.energy()), 1e-3 * std::abs(first.energy()));
  EXPECT_LT(norm(last.momentum), 1e-4);
  EXPECT_LT(norm(last.angularMomentum - first.angularMomentum), 1e-4);
}

TEST(Integration, ATwoBodyOrbitClosesAfterOnePeriod) {
  std::vector<Particle> particles(2);
  for (int i : {0, 1}) {
    particles[i].mass = 0.5f;
    particles[i].position = {i == 0 ? 0.5 : -0.5, 0, 0};
    particles[i].velocity = {0, i == 0 ? 0.5 : -0.5, 0};  // a circle of separation 1 and total mass 1
    particles[i].order = std::uint32_t(i);
  }
  constexpr double period = 2 * 3.14159265358979;
  run(particles, {}, {1, period / 1000}, {}, 0, 1000);
  std::ranges::sort(particles, {}, &Particle::order);
  EXPECT_NEAR(particles[0].position.x, 0.5, 1e-3);
  EXPECT_NEAR(particles[0].position.y, 0, 1e-3);
}

TEST(Integration, SmallWavesGrowWithTheExpansionWhileMatterRules) {
  Cosmology cosmology{true, 1, 0, 2.894405};
  constexpr double a0 = 0.02, a1 = 0.08;
  auto particles = zeldovich(8, a0, cosmology);
  for (Particle& p : particles) p.softening = 0.02f;
  const auto now = [&](double a) { return zeldovich(8, a, cosmology); };
  Gravity gravity;
  gravity.periodic = true;
  gravity.theta = 0.4;
  const double t0 = cosmology.timeAt(a0), t1 = cosmology.timeAt(a1);
  run(particles, cosmology, {0.3, (t1 - t0) / 4}, gravity, t0, 4);
  const auto expected = now(a1), start = now(a0);
  std::ranges::sort(particles, {}, &Particle::order);
  double moved = 0, missed = 0;
  for (std::size_t i = 0; i < particles.size(); ++i) {
    moved += norm2(expected[i].position - start[i].position);
    missed += norm2(particles[i].position - expected[i].position);
  }
  // A coarse lattice does not grow its shortest waves quite as a fluid does.
  EXPECT_LT(std::sqrt(missed / moved), 0.1);
}

TEST(InitialConditions, SpheresAreInEquilibrium) {
  for (auto particles : {plummer(4000, 0.01), hernquist(4000, 0.01)}) {
    evaluateGravity(particles, {});
    const Totals t = totalsOf(particles, 1);
    EXPECT_NEAR(t.mass, 1, 0.04);
    EXPECT_NEAR(-2 * t.kinetic / t.potential, 1, 0.08) << "the virial theorem";
    EXPECT_LT(norm(t.momentum), 1e-6);
  }
}

TEST(InitialConditions, ACollisionIsBoundToMeetAndHasDiscs) {
  const auto particles = collision(3000, 0.02);
  EXPECT_EQ(particles.size(), 3000u);
  EXPECT_EQ(std::ranges::count(particles, Kind::star, &Particle::kind), 1000);
  for (std::size_t i = 0; i < particles.size(); ++i) EXPECT_EQ(particles[i].order, i);
}

}  // namespace
}  // namespace periapt::nbody
