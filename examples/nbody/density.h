// The projected density of particles as a picture: logarithm of mass per pixel, dark blue to white; and which PE they
// are on, a colour for each.
#pragma once

#include <span>
#include <vector>

#include "examples/nbody/particle.h"
#include "tools/png/png.h"

namespace periapt::nbody {

/// Mass on a square grid, seen along z. Grids of several pieces are added number by number.
class DensityMap {
 public:
  /// Shows x and y from centre - half to centre + half.
  DensityMap(int pixels, Vec3 centre, double half, bool domains = false)
      : pixels_(pixels), centre_(centre), half_(half), grid_((domains ? 5 : 2) * pixels * pixels), domains_(domains) {}

  /// `pe`: that they are on.
  void add(std::span<const Particle> particles, int pe = 0);
  /// Mass of each pixel, then number of particles of each; with domains also mass times red, green and blue of its PE.
  std::vector<float>& grid() { return grid_; }
  /// Where there are few particles the density is that of a wider surrounding, so that it is smooth everywhere.
  Image image() const;
  /// Each PE's colour, as bright as the density is high. Only with domains.
  Image domains() const;

 private:
  /// Of the mass, or what else there is of each pixel: by its place in the grid.
  std::vector<float> smoothed(int plane = 0) const;
  /// How bright each pixel is, 0 to 1.
  std::vector<double> brightness(const std::vector<float>& density) const;

  int pixels_;
  Vec3 centre_;
  double half_;
  std::vector<float> grid_;
  bool domains_;
};

/// Half the side of a square about the origin that shows nearly all (95 %) of the particles.
double viewOf(std::span<const Particle> particles);

}  // namespace periapt::nbody
