// Types that kinds.ci names.
#pragma once
#include "pup_stl.h"
constexpr int SIZE = 4;
struct Particle {
  double x, y, z;
};
PUPbytes(Particle)
