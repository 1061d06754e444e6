#pragma once
constexpr int SIZE = 4;
struct Particle {
  double x, y, z;
};
