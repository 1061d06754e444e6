// The projected density of particles as a picture: logarithm of mass per pixel, dark blue to white.
#pragma once

#include <span>
#include <vector>

#include "examples/nbody/particle.h"
#include "examples/nbody/png.h"

namespace periapt::nbody {

/// Mass on a square grid, seen along z. Grids of several pieces are added number by number.
class DensityMap {
 public:
  /// Shows x and y from centre - half to centre + half.
  DensityMap(int pixels, Vec3 centre, double half)
      : pixels_(pixels), centre_(centre), half_(half), grid_(2 * pixels * pixels) {}

  void add(std::span<const Particle> particles);
  /// Mass of each pixel, then number of particles of each.
  std::vector<float>& grid() { return grid_; }
  /// Where there are few particles the density is that of a wider surrounding, so that it is smooth everywhere.
  Image image() const;

 private:
  std::vector<float> smoothed() const;

  int pixels_;
  Vec3 centre_;
  double half_;
  std::vector<float> grid_;
};

/// Half the side of a square about the origin that shows nearly all (95 %) of the particles.
double viewOf(std::span<const Particle> particles);

}  // namespace periapt::nbody
