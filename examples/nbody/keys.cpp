// The Peano-Hilbert curve.
#include "examples/nbody/keys.h"

#include <algorithm>
#include <array>
#include <limits>

namespace periapt::nbody {
namespace {

constexpr int axis_bits = key_bits / 3;

std::uint32_t gridCoordinate(double position, double low, double side) {
  constexpr double cells = double(1u << axis_bits);
  return std::uint32_t(std::clamp((position - low) / side * cells, 0.0, cells - 1));
}

/// Spreads 21 bits so that there are two zeros behind each.
Key spread(Key v) {
  v = (v | v << 32) & 0x001f00000000ffff;
  v = (v | v << 16) & 0x001f0000ff0000ff;
  v = (v | v << 8) & 0x100f00f00f00f00f;
  v = (v | v << 4) & 0x10c30c30c30c30c3;
  v = (v | v << 2) & 0x1249249249249249;
  return v;
}

}  // namespace

Key peanoHilbert(const Vec3& position, const Box& box) {
  std::array<std::uint32_t, 3> x;
  for (int axis = 0; axis < 3; ++axis) x[axis] = gridCoordinate(position[axis], box.low[axis], box.side);

  // From the largest cube down: undo the turn and the mirror that the curve makes in each octant.
  for (std::uint32_t bit = 1u << (axis_bits - 1); bit > 1; bit >>= 1) {
    const std::uint32_t below = bit - 1;
    for (int axis = 0; axis < 3; ++axis) {
      if (x[axis] & bit) {
        x[0] ^= below;
      } else {
        const std::uint32_t swapped = (x[0] ^ x[axis]) & below;
        x[0] ^= swapped;
        x[axis] ^= swapped;
      }
    }
  }
  // Gray code to place.
  x[1] ^= x[0];
  x[2] ^= x[1];
  std::uint32_t flip = 0;
  for (std::uint32_t bit = 1u << (axis_bits - 1); bit > 1; bit >>= 1) {
    if (x[2] & bit) flip ^= bit - 1;
  }
  for (auto& v : x) v ^= flip;
  return spread(x[0]) << 2 | spread(x[1]) << 1 | spread(x[2]);
}

Box boundingBox(std::span<const Particle> particles) {
  constexpr double far = std::numeric_limits<double>::max();
  Vec3 low{far, far, far}, high{-far, -far, -far};
  for (const Particle& p : particles) {
    for (int axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], p.position[axis]);
      high[axis] = std::max(high[axis], p.position[axis]);
    }
  }
  if (particles.empty()) return {};
  double side = 0;
  for (int axis = 0; axis < 3; ++axis) side = std::max(side, high[axis] - low[axis]);
  side = side > 0 ? side * (1 + 1e-6) : 1;
  const Vec3 middle = 0.5 * (low + high);
  return {middle - 0.5 * Vec3{side, side, side}, side};
}

}  // namespace periapt::nbody
