// Starts that the program makes itself. The same numbers on every machine: own generator, no library distributions.
#pragma once

#include <cstdint>
#include <vector>

#include "examples/nbody/cosmology.h"
#include "examples/nbody/particle.h"

namespace periapt::nbody {

/// Plummer's sphere in equilibrium, cut at 10 radii: mass 1 (without the cut), scale radius 1, G = 1 (Aarseth, Henon,
/// Wielen 1974).
std::vector<Particle> plummer(std::size_t count, double softening, std::uint64_t seed = 1);

/// Hernquist's sphere (1990) in equilibrium, cut at 50 scale radii; velocities from its distribution function.
std::vector<Particle> hernquist(std::size_t count, double softening, std::uint64_t seed = 1);

/// A disc of stars in a Hernquist halo.
std::vector<Particle> galaxy(std::size_t count, double softening, std::uint64_t seed = 1);

/// Two disc galaxies in Hernquist halos on a nearly parabolic orbit, inclined to it by different angles.
std::vector<Particle> collision(std::size_t count, double softening, std::uint64_t seed = 1);

/// side^3 particles on a lattice in the unit box, displaced along one wave and some random ones as the growing mode
/// tells (Zel'dovich 1970) at expansion factor a; canonical velocities. Softening is 1/20 of the lattice spacing.
std::vector<Particle> zeldovich(int side, double a, const Cosmology& cosmology, std::uint64_t seed = 1);

}  // namespace periapt::nbody
