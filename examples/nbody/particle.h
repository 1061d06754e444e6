// One particle, as it is integrated, sorted, migrated and written. Everything the tree walk reads in its inner loops
// is copied into structure-of-arrays form when the tree is built (tree.h).
#pragma once

#include <cstdint>
#include <type_traits>

#include "examples/nbody/vec3.h"

namespace periapt::nbody {

enum class Kind : std::uint8_t { dark, star, gas };  // gas moves as a collisionless particle

struct Particle {
  std::uint64_t key = 0;  // place on the Peano-Hilbert curve (keys.h)
  Vec3 position;          // comoving when the run is
  Vec3 velocity;          // canonical, a^2 dx/dt, when the run is comoving
  Vec3 acceleration;      // of the latest force evaluation
  double potential = 0;   // per unit mass, its own share left out
  float mass = 0;
  float softening = 0;      // h: two particles attract as points beyond h_1 + h_2
  std::uint32_t order = 0;  // place in the input file
  std::uint8_t rung = 0;    // steps by (big step) / 2^rung
  Kind kind = Kind::dark;
};
static_assert(std::is_trivially_copyable_v<Particle> && sizeof(Particle) == 8 + 3 * 24 + 8 + 16,
              "particles travel between pieces as bytes");

}  // namespace periapt::nbody
