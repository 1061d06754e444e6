// Particles for tests, the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "examples/nbody/particle.h"

namespace periapt::nbody {

/// Uniform in [0, 1).
inline double strewn(std::uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return double(state >> 11) / double(1ull << 53);
}

/// In [-1/2, 1/2)^3, masses about 1 / count; a third of them in a clump, so that trees are uneven.
inline std::vector<Particle> strewnParticles(std::size_t count, float softening = 0, std::uint64_t seed = 7) {
  std::vector<Particle> particles(count);
  std::uint64_t state = seed;
  for (std::size_t i = 0; i < count; ++i) {
    Particle& p = particles[i];
    const double scale = i % 3 == 0 ? 0.02 : 1;
    for (int axis = 0; axis < 3; ++axis) p.position[axis] = (strewn(state) - 0.5) * scale + (i % 3 == 0 ? 0.2 : 0);
    p.mass = float((0.5 + strewn(state)) / double(count));
    p.softening = softening;
    p.order = std::uint32_t(i);
  }
  return particles;
}

}  // namespace periapt::nbody
