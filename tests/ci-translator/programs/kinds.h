// What kinds.ci leans on: a constant and a class that is plain bytes.
#pragma once
#include "pup_stl.h"
constexpr int SIZE = 4;
struct Particle {
  double x, y, z;
};
PUPbytes(Particle)
