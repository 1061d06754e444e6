// One force evaluation of particles that are all in this process: what the chares of nbody.ci do with messages, done
// with function calls. For tests, for the reference driver, and to read first.
#pragma once

#include <vector>

#include "examples/nbody/decompose.h"
#include "examples/nbody/ewald.h"
#include "examples/nbody/walk.h"

namespace periapt::nbody {

struct SerialOptions {
  int pieces = 1;
  /// As between processes: every node of another piece is asked for, and comes later, in excerpts of some nodes.
  bool fetch = false;
};

/// Sets acceleration and potential of particles on rungs >= minRung. Sorts all particles along the curve.
Work evaluateGravity(std::vector<Particle>& particles, const Gravity& gravity, int minRung = 0,
                     const SerialOptions& options = {});

}  // namespace periapt::nbody
