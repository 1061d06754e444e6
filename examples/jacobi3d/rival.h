// What does the same steps another way, to be put beside a comparison's own figures. The example has none; bench/gpu
// has NCCL.
#pragma once

#include <string>

#include "examples/jacobi3d/shape.h"
#include "examples/jacobi3d/stencil.h"

namespace periapt::jacobi3d {

struct Rival {
  std::string name;
  std::string why_not;  // it has not run; "": it has
  double seconds = 0;   // of all steps
  Largest largest;      // after them and those of the warm-up
};
/// Runs it, on the calling PE; null where there is none.
using RunRival = Rival(const Domain& domain, int warm_up, int steps);
extern RunRival* const run_rival;

}  // namespace periapt::jacobi3d
