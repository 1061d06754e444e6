// What the driver tells the pieces at each phase, and what it gets back. All of it travels as bytes.
#pragma once

#include <cstdint>

#include "charm++.h"
#include "examples/nbody/integrate.h"
#include "examples/nbody/tree.h"
#include "examples/nbody/walk.h"

// The generated code names them without the namespace.
using periapt::nbody::Box;
using periapt::nbody::Key;
using periapt::nbody::Particle;
using periapt::nbody::Root;
using Count = std::uint64_t;
using Byte = unsigned char;

/// How much of a walk is done before others on the PE have their turn.
inline constexpr std::size_t sinks_at_a_time = 64;

/// So many rungs are told apart by balancing: what a PE does for those from the last one on is one load.
inline constexpr int balanced_rungs = 8;

/// What stays the same for the whole run.
struct Settings {
  periapt::nbody::Cosmology cosmology;
  periapt::nbody::Stepping stepping;
  double period = 0;     // 0: isolated
  double view = 1;       // half the side of a picture
  bool domains = false;  // pictures of which PE particles are on, too
  int bucket = 16;
  int piecesABranch = 1;
  int pixels = 0;
  bool gpusOnHost = false;  // gpu_walk.h: for tests
};

/// The opening half kick of particles on rungs >= rung, then a drift of all.
struct Motion {
  periapt::nbody::BlockStep::Kicks kicks{};
  int rung = 0;
  double drift = 0;
};

/// Forces on rungs >= rung at expansion factor a, then the closing half kick.
struct Forces {
  periapt::nbody::Gravity gravity;
  periapt::nbody::BlockStep::Kicks kicks{};
  int rung = 0;
  double a = 1;
  bool onGpu = false;
};

/// Sums over all pieces, after a force evaluation. Doubles alone, so that the reduction adds them up.
struct Tally {
  static constexpr int rungs = periapt::nbody::max_rung + 1;
  double onRung[rungs] = {};
  double forces = 0, cellPairs = 0, particlePairs = 0, tests = 0;
  periapt::nbody::Totals totals;

  int deepest() const {
    int rung = rungs - 1;
    while (rung > 0 && onRung[rung] == 0) --rung;
    return rung;
  }
};
static_assert(sizeof(Tally) == sizeof(double) * (Tally::rungs + 4 + 3 + 6), "a tally is summed up as doubles");

/// What one PE had to do in a force evaluation.
struct PeWork {
  double tests = 0;   // of the walks of its pieces, parts that others have walked too
  double blocks = 0;  // that its process has fetched; of the first PE of each
};

PUPbytes(Settings) PUPbytes(Motion) PUPbytes(Forces) PUPbytes(periapt::nbody::Box) PUPbytes(periapt::nbody::Particle)
    PUPbytes(periapt::nbody::Root)
