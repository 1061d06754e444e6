// Initial conditions.
#include "examples/nbody/initial.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace periapt::nbody {
namespace {

constexpr double pi = std::numbers::pi;

/// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  double uniform() {  // in (0, 1)
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (double((z ^ z >> 31) >> 11) + 0.5) / double(1ull << 53);
  }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * pi * uniform()); }
  Vec3 direction() {
    const double z = 2 * uniform() - 1, angle = 2 * pi * uniform(), r = std::sqrt(1 - z * z);
    return {r * std::cos(angle), r * std::sin(angle), z};
  }

 private:
  std::uint64_t state_;
};

/// At rest in the middle, in the middle; numbered.
void settle(std::vector<Particle>& particles) {
  Vec3 place, speed;
  double mass = 0;
  for (const Particle& p : particles) place += p.mass * p.position, speed += p.mass * p.velocity, mass += p.mass;
  std::uint32_t order = 0;
  for (Particle& p : particles) {
    p.position -= 1 / mass * place;
    p.velocity -= 1 / mass * speed;
    p.order = order++;
  }
}

/// Distribution function of Hernquist's model (his eq. 17) for a unit mass and radius, q = sqrt(-E), up to a factor.
double hernquistDistribution(double q) {
  const double q2 = q * q, s = 1 - q2;
  return (3 * std::asin(q) + q * std::sqrt(s) * (1 - 2 * q2) * (8 * q2 * q2 - 8 * q2 - 3)) / std::pow(s, 2.5);
}

/// A speed at depth psi = 1 / (1 + r), by rejection under the largest of v^2 f.
double hernquistSpeed(double psi, Random& random) {
  const double escape = std::sqrt(2 * psi);
  const auto density = [&](double v) {
    return v * v * hernquistDistribution(std::sqrt(std::max(0., psi - v * v / 2)));
  };
  double most = 0;
  for (int i = 1; i < 50; ++i) most = std::max(most, density(escape * i / 50));
  while (true) {
    const double v = escape * random.uniform();
    if (1.1 * most * random.uniform() < density(v)) return v;
  }
}

Vec3 turned(const Vec3& v, double inclination) {
  const double c = std::cos(inclination), s = std::sin(inclination);
  return {c * v.x + s * v.z, v.y, c * v.z - s * v.x};
}

}  // namespace

std::vector<Particle> plummer(std::size_t count, double softening, std::uint64_t seed) {
  Random random(seed);
  std::vector<Particle> particles(count);
  for (Particle& p : particles) {
    double r;
    do r = 1 / std::sqrt(std::pow(random.uniform(), -2. / 3) - 1);
    while (r > 10);
    // Speed in units of escape: density q^2 (1 - q^2)^(7/2), below 0.1.
    double q;
    do q = random.uniform();
    while (0.1 * random.uniform() > q * q * std::pow(1 - q * q, 3.5));
    p.position = r * random.direction();
    p.velocity = q * std::sqrt(2.) * std::pow(1 + r * r, -0.25) * random.direction();
    p.mass = float(std::pow(1.01, -1.5) / count);  // what lies within the cut
    p.softening = float(softening);
  }
  settle(particles);
  return particles;
}

std::vector<Particle> hernquist(std::size_t count, double softening, std::uint64_t seed) {
  Random random(seed);
  std::vector<Particle> particles(count);
  for (Particle& p : particles) {
    double r;
    do {
      const double root = std::sqrt(random.uniform());  // of the mass inside r, (r / (1 + r))^2
      r = root / (1 - root);
    } while (r > 50);
    p.position = r * random.direction();
    p.velocity = hernquistSpeed(1 / (1 + r), random) * random.direction();
    p.mass = float(50. * 50 / (51. * 51) / count);  // what lies within the cut
    p.softening = float(softening);
  }
  settle(particles);
  return particles;
}

namespace {

/// A disc of stars in a Hernquist halo, at rest at the origin.
std::vector<Particle> discGalaxy(std::size_t count, double softening, double inclination, std::uint64_t haloSeed,
                                 Random& random) {
  constexpr double disc_mass = 0.1, disc_scale = 0.4, disc_edge = 2.5;
  const std::size_t disc = count / 3;
  std::vector<Particle> all = hernquist(count - disc, softening, haloSeed);
  for (std::size_t i = 0; i < disc; ++i) {
    double r;  // an exponential disc
    do r = -disc_scale * std::log(random.uniform() * random.uniform());
    while (r > disc_edge);
    const double angle = 2 * pi * random.uniform();
    // Circular in the halo and, roughly, the disc inside.
    const double inside = 1 - std::exp(-r / disc_scale) * (1 + r / disc_scale);
    const double speed = std::sqrt(r / ((1 + r) * (1 + r)) + disc_mass * inside / r);
    Particle p;
    p.kind = Kind::star;
    p.position = turned({r * std::cos(angle), r * std::sin(angle), 0.03 * random.normal()}, inclination);
    p.velocity = turned({-speed * std::sin(angle), speed * std::cos(angle), 0.03 * random.normal()}, inclination);
    p.mass = float(disc_mass / disc);
    p.softening = float(softening);
    all.push_back(p);
  }
  return all;
}

}  // namespace

std::vector<Particle> galaxy(std::size_t count, double softening, std::uint64_t seed) {
  Random random(seed);
  std::vector<Particle> all = discGalaxy(count, softening, 0.5, seed * 2, random);
  settle(all);
  return all;
}

std::vector<Particle> collision(std::size_t count, double softening, std::uint64_t seed) {
  constexpr struct {
    Vec3 place, speed;
    double inclination;
  } galaxies[] = {{{-4, -1, 0}, {0.3, 0.1, 0}, 0.35}, {{4, 1, 0}, {-0.3, -0.1, 0}, -1.2}};

  Random random(seed);
  std::vector<Particle> all;
  for (int which = 0; which < 2; ++which) {
    const auto& [place, speed, inclination] = galaxies[which];
    const std::size_t share = which == 0 ? count / 2 : count - count / 2;
    for (Particle p : discGalaxy(share, softening, inclination, seed * 2 + which, random)) {
      p.position += place;
      p.velocity += speed;
      all.push_back(p);
    }
  }
  settle(all);
  return all;
}

std::vector<Particle> zeldovich(int side, double a, const Cosmology& cosmology, std::uint64_t seed) {
  struct Wave {
    Vec3 k;
    double amplitude, phase;
  };
  // Longest waves strongest; today the longest would have crossed its own crest (a k amplitude > 1).
  Random random(seed);
  std::vector<Wave> waves;
  for (int i = -3; i <= 3; ++i) {
    for (int j = -3; j <= 3; ++j) {
      for (int k = 0; k <= 3; ++k) {
        const int n2 = i * i + j * j + k * k;
        if (n2 == 0 || n2 > 9) continue;
        waves.push_back(
            {2 * pi * Vec3(i, j, k), 0.03 / std::pow(n2, 1.25) * random.normal(), 2 * pi * random.uniform()});
      }
    }
  }
  // Growing mode while matter rules: displacement ~ a, so p = a^2 H displacement.
  const double speed = a * a * cosmology.hubble(a);
  std::vector<Particle> particles;
  for (int i = 0; i < side * side * side; ++i) {
    Particle p;
    const Vec3 q =
        1. / side * Vec3(i / (side * side) + 0.5, i / side % side + 0.5, i % side + 0.5) - Vec3{0.5, 0.5, 0.5};
    Vec3 displacement;
    for (const Wave& w : waves) {
      displacement += a * w.amplitude * std::sin(dot(w.k, q) + w.phase) / norm(w.k) * 2 * pi * w.k * (1 / norm(w.k));
    }
    p.position = q + displacement;
    for (int axis = 0; axis < 3; ++axis) p.position[axis] -= std::floor(p.position[axis] + 0.5);
    p.velocity = speed * displacement;
    p.mass = float(cosmology.omega0 / (side * side * side));
    p.softening = float(0.05 / side);
    p.order = std::uint32_t(i);
    particles.push_back(p);
  }
  return particles;
}

}  // namespace periapt::nbody
