// The expanding universe, and how long a step is in it.
//
// Coordinates are comoving, x; velocities canonical, p = a^2 dx/dt; G = 1. The equations of motion are
//   dx/dt = p / a^2,   dp/dt = g / a,   g being the gravity of the comoving positions,
// so a leapfrog drifts by p times the integral of dt/a^2 and kicks by g times the integral of dt/a (Quinn et al. 1997).
#pragma once

namespace periapt::nbody {

struct Cosmology {
  bool comoving = false;  // otherwise a = 1 for all time
  double omega0 = 0.3;    // matter
  double lambda = 0.7;    // vacuum; the rest is curvature
  double h0 = 2.894405;   // sqrt(8 pi / 3): the critical density is 1

  double hubble(double a) const;
  /// Time since the big bang.
  double timeAt(double a) const;
  double expansionAt(double time) const;
  /// Integral of dt / a^2 and of dt / a from one time to another.
  double drift(double from, double to) const;
  double kick(double from, double to) const;
};

}  // namespace periapt::nbody
