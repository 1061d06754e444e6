// Leapfrog with block time steps.
//
// A big step is cut into 2^rung steps for a particle on that rung; all steps begin and end where those of lower rungs
// may. Each is a kick over its first half, drifts (together with all other particles), and a kick over its second half
// with the force at its end (Quinn et al. 1997).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "examples/nbody/cosmology.h"
#include "examples/nbody/particle.h"

namespace periapt::nbody {

inline constexpr int max_rung = 29;

struct Stepping {
  double eta = 0.175;  // of the criterion: step <= eta sqrt(softening / acceleration)
  double bigStep = 0.01;
  int deepest = max_rung;  // rung that no particle goes beyond
};

/// The time a particle may go in one step, both softening and acceleration taken in physical lengths; a is the
/// expansion factor.
double wantedStep(const Particle& particle, double eta, double a);

/// The lowest rung whose step is no longer than `wanted`.
int rungFor(double wanted, const Stepping& stepping);

/// Sums over particles; add those of several pieces with +=.
struct Totals {
  double mass = 0;
  double kinetic = 0;    // 1/2 sum m (p/a)^2
  double potential = 0;  // 1/2 sum m phi / a
  Vec3 momentum;         // sum m p
  Vec3 angularMomentum;  // sum m x cross p, about the origin
  Totals& operator+=(const Totals& o);
  double energy() const { return kinetic + potential; }
};
Totals totalsOf(std::span<const Particle> particles, double a);

/// What a run should keep. Without expansion the energy; with it, by Layzer (1963) and Irvine, a (T + W) + integral of
/// T da, which is summed up on the way by the trapezoidal rule.
class EnergyAccount {
 public:
  /// Throws, as drift() does, when the energy is no number.
  EnergyAccount(const Totals& first, double a)
      : first_(a * checked(first).energy()), depth_(std::abs(a * first.potential)), a_(a), kinetic_(first.kinetic) {}
  /// On the way, whenever the expansion factor has changed.
  void pass(double kinetic, double a);
  /// Change of the conserved quantity since the start, relative to the largest potential energy seen.
  double drift(const Totals& now, double a);

 private:
  static const Totals& checked(const Totals& totals);
  double first_, depth_, a_, kinetic_, work_ = 0;
};

/// Where a big step stands. All that have the same deepest rung at each turn go through the same sequence:
///   kick(particles, openKick()); drift(particles, ...); forces for rungs >= rung(); kick(particles, closeKick());
///   new rungs; next(deepest rung in use)
/// until isDone(). At the start all particles have forces and rungs.
class BlockStep {
 public:
  BlockStep(const Cosmology& cosmology, const Stepping& stepping, double start, int deepestInUse);

  /// Half kicks by rung, for the particles whose step begins now (rungs >= rung()); 0 for the others.
  using Kicks = std::array<double, max_rung + 1>;
  Kicks openKick() const;
  /// Drift factor to the next time at which a step ends. Moves there.
  double advance();
  /// The lowest rung whose step ends (and the next begins) now: particles on it and above are in step.
  int rung() const;
  Kicks closeKick() const;
  /// Before the next turn: the deepest rung that has particles.
  void next(int deepestInUse) { deepest_ = deepestInUse; }
  bool isDone() const { return tick_ == ticks; }

  double time() const { return timeAt(tick_); }
  double expansion() const { return cosmology_.comoving ? cosmology_.expansionAt(time()) : 1; }
  /// The part of the big step that is done.
  double share() const { return double(tick_) / ticks; }

 private:
  static constexpr std::uint32_t ticks = 1u << max_rung;
  static std::uint32_t ticksOf(int rung) { return ticks >> rung; }
  double timeAt(std::uint32_t tick) const { return start_ + stepping_.bigStep * tick / ticks; }
  Kicks kicks(int halves) const;

  Cosmology cosmology_;
  Stepping stepping_;
  double start_;
  int deepest_;
  std::uint32_t tick_ = 0;
};

/// velocity += factor of the particle's rung * acceleration, for rungs >= minRung.
void kick(std::span<Particle> particles, const BlockStep::Kicks& kicks, int minRung);
/// position += factor * velocity; back into the box if there is a period.
void drift(std::span<Particle> particles, double factor, double period = 0);
/// New rungs for particles on rungs >= minRung, none of them below it. The deepest rung of all particles.
int chooseRungs(std::span<Particle> particles, const Stepping& stepping, double a, int minRung);

}  // namespace periapt::nbody
