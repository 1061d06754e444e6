// Tipsy files: the snapshots of the N-body codes from Seattle (PKDGRAV, GASOLINE, ChaNGa).
//
// A header (time, number of particles, dimensions, number of gas, dark and star particles, 4 bytes of padding that some
// files lack), then the particles by kind, all numbers 4-byte floats. "Standard" files are big-endian, "native" ones
// whatever the machine was; which of the two is told by the number of dimensions, which is 3.
#pragma once

#include <bit>
#include <string>
#include <vector>

#include "examples/nbody/particle.h"

namespace periapt::nbody {

struct Snapshot {
  double time = 0;                  // the expansion factor when the run is comoving
  std::vector<Particle> particles;  // velocities as in the file: dx/dt
};

/// Throws std::runtime_error that says what is wrong, where, and how many bytes were expected and found.
Snapshot readTipsy(const std::string& path);

/// In the order of `Particle::order`, gas first, then dark, then stars. All as the kind they are; of gas, what gravity
/// knows not is 0.
void writeTipsy(const std::string& path, const Snapshot& snapshot, std::endian endian = std::endian::big);

}  // namespace periapt::nbody
