// What a run is to be: the command line, and what of it each block is told.
#pragma once

#include <string>

#include "examples/jacobi3d/shape.h"
#include "pup.h"

/// How the steps of a block and its exchange go together.
enum Way {
  alone,    // no exchange at all: what the machine can do, and a wrong result
  apart,    // all halos of all blocks first, then all cells
  overlap,  // cells that need no halo meanwhile
};

/// Steps without neighbours that a block gives its GPU before the first of them is done.
inline constexpr int ahead = 2;

struct Plan {
  periapt::jacobi3d::Domain domain;
  bool wants_gpu = true;
  bool balances = false;
};
PUPbytes(Plan)

    struct Options {
  Plan plan;
  int steps = 100, warm_up = 10;
  int balance_every = 0;  // steps; 0: never
  Way way = overlap;
  bool compare = false;  // all ways, one after another
};

/// Parses the command line. Prints what is wrong, or the help, and returns false with the status to leave with. The
/// number of PEs says how many blocks there are unless the options do.
bool parseOptions(int argc, char** argv, int pes, Options& options, int& status);

/// What is wrong with how the domain is to be cut: a sentence, or "".
std::string wrongWith(const periapt::jacobi3d::Domain& domain);
