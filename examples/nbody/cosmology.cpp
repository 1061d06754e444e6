// Integrals over the expansion.
#include "examples/nbody/cosmology.h"

#include <algorithm>
#include <cmath>

namespace periapt::nbody {
namespace {

/// Gauss-Legendre with 10 points on panels.
template <class F>
double integral(double from, double to, int panels, F f) {
  struct Point {
    double at, weight;
  };
  constexpr Point points[] = {{0.1488743389816312, 0.2955242247147529},
                              {0.4333953941292472, 0.2692667193099963},
                              {0.6794095682990244, 0.2190863625159820},
                              {0.8650633666889845, 0.1494513491505806},
                              {0.9739065285171717, 0.0666713443086881}};
  const double half = (to - from) / panels / 2;
  double sum = 0;
  for (int panel = 0; panel < panels; ++panel) {
    const double middle = from + (2 * panel + 1) * half;
    for (const Point& p : points) sum += p.weight * (f(middle - p.at * half) + f(middle + p.at * half));
  }
  return sum * half;
}

/// Integral of da / (a^(1 + power) H) over the stretch, in log a, where it is smooth.
double overExpansion(const Cosmology& c, double from, double to, int power) {
  const int panels = 1 + int(2 * std::abs(std::log(to / from)));
  return integral(std::log(from), std::log(to), panels, [&](double log_a) {
    const double a = std::exp(log_a);
    return 1 / (std::pow(a, power) * c.hubble(a));
  });
}

}  // namespace

double Cosmology::hubble(double a) const {
  return h0 * std::sqrt(omega0 / (a * a * a) + (1 - omega0 - lambda) / (a * a) + lambda);
}

double Cosmology::timeAt(double a) const {
  // dt = da / (a H) = 2 s^2 ds / (s^3 H) with a = s^2: smooth down to 0, where s^3 H tends to h0 sqrt(omega0).
  return integral(0, std::sqrt(a), 8, [&](double s) { return 2 * s * s / (s * s * s * hubble(s * s)); });
}

double Cosmology::expansionAt(double time) const {
  double a = std::pow(1.5 * h0 * std::sqrt(omega0) * time, 2. / 3);  // exact while matter rules
  for (int i = 0; i < 50; ++i) {
    const double step = (time - timeAt(a)) * a * hubble(a);
    a = std::max(a + step, a / 4);
    if (std::abs(step) < 1e-14 * a) break;
  }
  return a;
}

double Cosmology::drift(double from, double to) const {
  return comoving ? overExpansion(*this, expansionAt(from), expansionAt(to), 2) : to - from;
}

double Cosmology::kick(double from, double to) const {
  return comoving ? overExpansion(*this, expansionAt(from), expansionAt(to), 1) : to - from;
}

}  // namespace periapt::nbody
