// The rival's force accuracy, made with our own tree: what a Barnes-Hut code in the manner of ChaNGa would give.
//
// Buckets of 12 particles; a cell is opened if the sphere of radius 2/sqrt(3) b / theta about its centre of mass
// touches the bucket's bounding box, b being the distance from there to the farthest corner of the cell's own bounding
// box (buckets so touched act particle by particle); moments up to hexadecapoles (degree 4) act on each particle.
// Images beyond the 26 neighbours are ours, that is nearly exact. All in double precision but for the moments.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "examples/nbody/direct.h"
#include "examples/nbody/walk.h"

namespace periapt::nbody {

/// `particles` must be sorted by key.
std::vector<Field> barnesHutHexadecapole(std::span<const Particle> particles, std::span<const std::uint32_t> at,
                                         const Gravity& gravity, int bucket = 12);

}  // namespace periapt::nbody
