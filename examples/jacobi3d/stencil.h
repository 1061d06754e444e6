// What is done to a cell, on GPUs and on processors alike; and what comes out, in closed form.
//
// The iteration is Jacobi's for Laplace's equation with 0 beyond the domain: a cell becomes the mean of its six
// neighbours. A product of sines that are 0 there keeps its form and shrinks by a known factor, so that the sum of two
// of them says, after any number of steps, what each cell has to hold. Each has other wave numbers along each axis:
// halos that are swapped, turned or late are seen.
#pragma once
#include <cmath>

#include "examples/jacobi3d/shape.h"

namespace periapt::jacobi3d {

PERIAPT_BOTH inline double relaxed(double west, double east, double south, double north, double below, double above) {
  return ((west + east) + (south + north) + (below + above)) * (1. / 6);
}

PERIAPT_BOTH inline double relaxed(const Shape& shape, const double* from, long at) {
  return relaxed(from[at - 1], from[at + 1], from[at - shape.row], from[at + shape.row], from[at - shape.plane],
                 from[at + shape.plane]);
}

inline constexpr int modes = 2;

/// After some steps.
struct Solution {
  int cells[3] = {};          // of the whole domain
  double height[modes] = {};  // of each mode

  Solution() = default;
  Solution(const Domain& domain, int steps) {
    for (int axis = 0; axis < 3; ++axis) cells[axis] = domain.cells[axis];
    for (int mode = 0; mode < modes; ++mode) {
      double factor = 0;
      for (int axis = 0; axis < 3; ++axis) factor += std::cos(waves(mode, axis) * pi / (cells[axis] + 1)) / 3;
      height[mode] = std::pow(factor, steps) / (1 + mode);
    }
  }
  PERIAPT_BOTH double at(const Cell& cell) const {
    const int place[3] = {cell.x, cell.y, cell.z};
    double sum = 0;
    for (int mode = 0; mode < modes; ++mode) {
      double product = height[mode];
      for (int axis = 0; axis < 3; ++axis)
        product *= sin(waves(mode, axis) * pi * (place[axis] + 1) / (cells[axis] + 1));
      sum += product;
    }
    return sum;
  }

 private:
  static constexpr double pi = 3.141592653589793;
  PERIAPT_BOTH static int waves(int mode, int axis) { return mode == 0 ? 1 + axis : 1 + (axis + 2) % 3; }
};

PERIAPT_BOTH inline Cell operator+(const Cell& a, const Cell& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }

/// The largest values of some cells, neither of them negative.
struct Largest {
  double error = 0;     // from what the cell has to hold
  double residual = 0;  // of Laplace's equation, as Jacobi's method has it: what a step changes
};

}  // namespace periapt::jacobi3d
