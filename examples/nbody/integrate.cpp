// Block time steps.
#include "examples/nbody/integrate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace periapt::nbody {

double wantedStep(const Particle& p, double eta, double a) {
  const double g = norm(p.acceleration);
  if (g == 0 || p.softening == 0) return std::numeric_limits<double>::infinity();
  return eta * std::sqrt(p.softening * a * a * a / g);  // (a softening) / (g / a^2)
}

int rungFor(double wanted, const Stepping& stepping) {
  int rung = 0;
  for (double step = stepping.bigStep; step > wanted && rung < stepping.deepest; step /= 2) ++rung;
  return rung;
}

Totals& Totals::operator+=(const Totals& o) {
  mass += o.mass, kinetic += o.kinetic, potential += o.potential;
  momentum += o.momentum, angularMomentum += o.angularMomentum;
  return *this;
}

Totals totalsOf(std::span<const Particle> particles, double a) {
  Totals t;
  for (const Particle& p : particles) {
    t.mass += p.mass;
    t.kinetic += 0.5 * p.mass * norm2(p.velocity) / (a * a);
    t.potential += 0.5 * p.mass * p.potential / a;
    t.momentum += p.mass * p.velocity;
    t.angularMomentum += p.mass * cross(p.position, p.velocity);
  }
  return t;
}

void EnergyAccount::pass(double kinetic, double a) {
  work_ += 0.5 * (kinetic + kinetic_) * (a - a_);
  kinetic_ = kinetic;
  a_ = a;
}

const Totals& EnergyAccount::checked(const Totals& totals) {
  if (std::isfinite(totals.energy())) return totals;
  throw std::runtime_error(
      "the energy is no number: masses, places or velocities are too large, or particles without softening too near to "
      "each other");
}

double EnergyAccount::drift(const Totals& now, double a) {
  pass(checked(now).kinetic, a);
  depth_ = std::max(depth_, std::abs(a * now.potential));
  return depth_ > 0 ? (a * now.energy() + work_ - first_) / depth_ : 0;  // 0: a particle alone
}

BlockStep::BlockStep(const Cosmology& cosmology, const Stepping& stepping, double start, int deepestInUse)
    : cosmology_(cosmology), stepping_(stepping), start_(start), deepest_(deepestInUse) {}

int BlockStep::rung() const { return tick_ == 0 ? 0 : max_rung - std::countr_zero(tick_); }

BlockStep::Kicks BlockStep::kicks(int halves) const {
  Kicks factors{};
  for (int r = rung(); r <= deepest_; ++r) {
    // Half a step in ticks: the shortest step is one tick, so half of it is reckoned in time.
    const double half = halves * stepping_.bigStep / std::ldexp(2., r);
    factors[r] = half > 0 ? cosmology_.kick(time(), time() + half) : cosmology_.kick(time() + half, time());
  }
  return factors;
}

BlockStep::Kicks BlockStep::openKick() const { return kicks(1); }
BlockStep::Kicks BlockStep::closeKick() const { return kicks(-1); }

double BlockStep::advance() {
  const double from = time();
  tick_ += ticksOf(deepest_);
  return cosmology_.drift(from, time());
}

void kick(std::span<Particle> particles, const BlockStep::Kicks& kicks, int minRung) {
  for (Particle& p : particles) {
    if (p.rung >= minRung) p.velocity += kicks[p.rung] * p.acceleration;
  }
}

void drift(std::span<Particle> particles, double factor, double period) {
  for (Particle& p : particles) {
    p.position += factor * p.velocity;
    if (period > 0) {
      for (int axis = 0; axis < 3; ++axis) p.position[axis] -= period * std::floor(p.position[axis] / period + 0.5);
    }
  }
}

int chooseRungs(std::span<Particle> particles, const Stepping& stepping, double a, int minRung) {
  int deepest = 0;
  for (Particle& p : particles) {
    if (p.rung >= minRung) p.rung = std::uint8_t(std::max(minRung, rungFor(wantedStep(p, stepping.eta, a), stepping)));
    deepest = std::max<int>(deepest, p.rung);
  }
  return deepest;
}

}  // namespace periapt::nbody
