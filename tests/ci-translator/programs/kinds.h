// What kinds.ci leans on: a constant and a class that is plain bytes.
#pragma once
#include "pup_stl.h"
constexpr int SIZE = 4;
struct Particle {
  double x, y, z;
};
PUPbytes(Particle) struct Settings { int steps; };
inline void operator|(PUP::er& p, Settings*& settings) { p | settings->steps; }
