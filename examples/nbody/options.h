// What a run is to be: the command line of nbody and nbody_serial.
#pragma once

#include <string>
#include <vector>

#include "examples/nbody/integrate.h"
#include "examples/nbody/tipsy.h"
#include "examples/nbody/walk.h"

namespace periapt::nbody {

struct Options {
  std::string tipsy;  // file to start from; else:
  std::string ic = "collision";
  int particles = 20000;
  double softening = 0;  // 0: from the file, or 0.8 N^(-1/3) of a made start
  std::uint64_t seed = 1;

  bool comoving = false;
  Cosmology cosmology;
  double period = 0;        // 0: isolated
  double endExpansion = 1;  // comoving: the run goes there in `steps` equal steps of time

  int steps = 10;
  double bigStep = 0.1;  // not comoving
  double eta = 0.175;
  double theta = 0.525;  // until redshift 2, if comoving
  double theta2 = 0.7;   // from then on, and when not comoving unless theta is given
  int bucket = 16;
  int pieces = 0;                 // 0: as fits
  int balanceEvery = 1;           // big steps
  bool share = true;              // parts of walks with PEs of the process that have nothing to do
  bool gpu = false;               // walks by GPUs, where there are any
  bool gpusOnHost = false;        // by the processor, the way that GPUs do
  bool evaluations = false;       // a line for each force evaluation
  int timeForces = 0;             // so many evaluations of the first forces, and what they took
  std::uint64_t shuffleSeed = 0;  // not 0: pieces move about between phases, at random

  std::string out = "nbody";
  int frames = 0;        // a picture every so many big steps; 0: none
  bool domains = false;  // with each picture one of the domains of PEs
  int snapshots = 0;     // a Tipsy file every so many
  int pixels = 1024;
  bool json = false;

  Gravity gravityAt(double a) const;
};

/// Parses the command line. Prints what is wrong, or the help, and returns false with the exit code to leave with.
bool parseOptions(int argc, char** argv, const char* name, Options& options, int& exitCode);

/// What a run begins with: particles with canonical velocities, and the time (the expansion factor if comoving). Fills
/// in what follows from it (softening, big step).
Snapshot startOf(Options& options);

/// Particles as a Tipsy file has them, velocities dx/dt.
Snapshot snapshotOf(std::vector<Particle> particles, double a, double time, bool comoving);

}  // namespace periapt::nbody
