// The projected density of particles as a picture: logarithm of mass per pixel, dark blue to white.
#pragma once

#include <span>
#include <vector>

#include "examples/nbody/particle.h"
#include "examples/nbody/png.h"

namespace periapt::nbody {

/// Mass on a square grid, seen along z. Maps of several pieces are added number by number.
class DensityMap {
 public:
  /// Shows x and y from centre - half to centre + half.
  DensityMap(int pixels, Vec3 centre, double half) : pixels_(pixels), centre_(centre), half_(half), mass_(pixels * pixels) {}

  /// Each particle is spread over a small cloud, so that few particles give a smooth picture as well.
  void add(std::span<const Particle> particles);
  std::vector<float>& mass() { return mass_; }
  Image image() const;

 private:
  int pixels_;
  Vec3 centre_;
  double half_;
  std::vector<float> mass_;
};

/// Half the side of a square about the origin that shows nearly all (98 %) of the particles.
double viewOf(std::span<const Particle> particles);

}  // namespace periapt::nbody
