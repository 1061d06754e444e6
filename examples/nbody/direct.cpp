// Direct summation.
#include "examples/nbody/direct.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>

namespace periapt::nbody {

SplineForce splineForce(double r2, double twoH) {
  const double r = std::sqrt(r2);
  if (r2 >= twoH * twoH) return r2 > 0 ? SplineForce{1 / r, 1 / (r2 * r)} : SplineForce{0, 0};
  const double h = twoH / 2, u = r / h, h3 = h * h * h;
  if (u < 1) {
    return {(7. / 5 - 2. / 3 * u * u + 3. / 10 * std::pow(u, 4) - 1. / 10 * std::pow(u, 5)) / h,
            (4. / 3 - 6. / 5 * u * u + 1. / 2 * u * u * u) / h3};
  }
  return {
      (8. / 5 - 4. / 3 * u * u + u * u * u - 3. / 10 * std::pow(u, 4) + 1. / 30 * std::pow(u, 5)) / h - 1 / (15 * r),
      (8. / 3 - 3 * u + 6. / 5 * u * u - 1. / 6 * u * u * u) / h3 - 1 / (15 * r2 * r)};
}

std::vector<Field> directSum(std::span<const Particle> particles, std::span<const std::uint32_t> at) {
  std::vector<Field> fields;
  for (const std::uint32_t i : at) {
    const Particle& sink = particles[i];
    Field f;
    for (const Particle& p : particles) {
      if (&p == &sink) continue;
      const Vec3 to = p.position - sink.position;
      const SplineForce s = splineForce(norm2(to), double(p.softening) + sink.softening);
      f.acceleration += p.mass * s.pull * to;
      f.potential -= p.mass * s.depth;
    }
    fields.push_back(f);
  }
  return fields;
}

std::vector<Field> directSumPeriodic(std::span<const Particle> particles, std::span<const std::uint32_t> at,
                                     const Box& box) {
  // Lengths in periods. The split lets pairs be cut at 0.75 and waves at 12.
  constexpr double alpha = 8, cut = 0.75, pi = std::numbers::pi;
  constexpr int waves = 12;
  std::vector<Field> fields;
  double mass = 0;
  for (const Particle& p : particles) mass += p.mass;
  for (const std::uint32_t index : at) {
    const Particle& sink = particles[index];
    Field f;
    f.potential = mass * pi / (alpha * alpha) + sink.mass * 2 * alpha / std::sqrt(pi);
    for (const Particle& p : particles) {
      const Vec3 to = 1 / box.side * (p.position - sink.position);
      const Vec3 nearest{to.x - std::round(to.x), to.y - std::round(to.y), to.z - std::round(to.z)};
      const double twoH = (double(p.softening) + sink.softening) / box.side;
      for (int image = 0; image < 8; ++image) {
        Vec3 d = nearest;
        for (int axis = 0; axis < 3; ++axis) {
          if (image >> axis & 1) d[axis] -= d[axis] > 0 ? 1 : -1;
        }
        const double r2 = norm2(d);
        if (r2 > cut * cut || (image == 0 && &p == &sink)) continue;
        const double r = std::sqrt(r2);
        const double part = std::erfc(alpha * r) / r;
        double depth = part;
        double pull = (part + 2 * alpha / std::sqrt(pi) * std::exp(-alpha * alpha * r2)) / r2;
        if (r < twoH) {
          const SplineForce s = splineForce(r2, twoH);
          depth += s.depth - 1 / r;
          pull += s.pull - 1 / (r2 * r);
        }
        f.acceleration += p.mass * pull * d;
        f.potential -= p.mass * depth;
      }
    }
    fields.push_back(f);
  }

  // Waves: half of them, the other half being their conjugates.
  struct Wave {
    int i, j, k;
    std::complex<double> sum;
  };
  std::vector<Wave> all;
  for (int i = 0; i <= waves; ++i) {
    for (int j = i == 0 ? 0 : -waves; j <= waves; ++j) {
      for (int k = i == 0 && j == 0 ? 1 : -waves; k <= waves; ++k) {
        if (i * i + j * j + k * k <= waves * waves) all.push_back({i, j, k, 0});
      }
    }
  }
  using Phases = std::array<std::array<std::complex<double>, 2 * waves + 1>, 3>;
  const auto phasesAt = [&](const Particle& p) {
    Phases e;
    for (int axis = 0; axis < 3; ++axis) {
      for (int n = -waves; n <= waves; ++n) {
        e[axis][n + waves] = std::polar(1., 2 * pi * n * (p.position[axis] - box.low[axis]) / box.side);
      }
    }
    return e;
  };
  for (const Particle& p : particles) {
    const Phases e = phasesAt(p);
    int i = -1, j = 0;
    std::complex<double> ij;
    for (Wave& w : all) {
      if (w.i != i || w.j != j) i = w.i, j = w.j, ij = double(p.mass) * e[0][i + waves] * e[1][j + waves];
      const std::complex<double> k = e[2][w.k + waves];
      w.sum += std::complex(ij.real() * k.real() - ij.imag() * k.imag(), ij.real() * k.imag() + ij.imag() * k.real());
    }
  }
  for (std::size_t s = 0; s < at.size(); ++s) {
    const Phases e = phasesAt(particles[at[s]]);
    for (const Wave& w : all) {
      const int n2 = w.i * w.i + w.j * w.j + w.k * w.k;
      const double weight = 2 * std::exp(-pi * pi * n2 / (alpha * alpha)) / (pi * n2);
      const std::complex<double> here = e[0][w.i + waves] * e[1][w.j + waves] * e[2][w.k + waves];
      const std::complex<double> product = std::conj(here) * w.sum;
      fields[s].potential -= weight * product.real();
      fields[s].acceleration -= -2 * pi * weight * product.imag() * Vec3(w.i, w.j, w.k);
    }
  }
  for (Field& f : fields) {
    f.potential /= box.side;
    f.acceleration *= 1 / (box.side * box.side);
  }
  return fields;
}

std::vector<double> relativeErrors(std::span<const Particle> particles, std::span<const std::uint32_t> at,
                                   std::span<const Field> exact) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < at.size(); ++i) {
    errors.push_back(norm(particles[at[i]].acceleration - exact[i].acceleration) / norm(exact[i].acceleration));
  }
  std::ranges::sort(errors);
  return errors;
}

std::vector<std::uint32_t> sampleOf(std::size_t n, std::size_t count) {
  std::vector<std::uint32_t> indices;
  count = std::min(n, count);
  for (std::size_t i = 0; i < count; ++i) indices.push_back(std::uint32_t(i * n / count + n / count / 2));
  return indices;
}

}  // namespace periapt::nbody
