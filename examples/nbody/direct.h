// Gravity by summing over all pairs, in double precision: what the tree walk is measured against.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "examples/nbody/keys.h"
#include "examples/nbody/particle.h"

namespace periapt::nbody {

struct Field {
  Vec3 acceleration;
  double potential = 0;
};

/// The field of all particles at those with the given indices.
std::vector<Field> directSum(std::span<const Particle> particles, std::span<const std::uint32_t> at);

/// The same with all periodic images, by Ewald's sum; relative error some 1e-9.
std::vector<Field> directSumPeriodic(std::span<const Particle> particles, std::span<const std::uint32_t> at,
                                     const Box& box);

/// How far the accelerations held by the particles are from `exact`, relative to `exact`, in rising order.
std::vector<double> relativeErrors(std::span<const Particle> particles, std::span<const std::uint32_t> at,
                                   std::span<const Field> exact);

/// `count` indices below n, evenly strewn and always the same.
std::vector<std::uint32_t> sampleOf(std::size_t n, std::size_t count);

/// Depth and pull / distance of a unit mass, softened by the cubic spline over 2 h (kernels.h).
struct SplineForce {
  double depth, pull;
};
SplineForce splineForce(double r2, double twoH);

}  // namespace periapt::nbody
