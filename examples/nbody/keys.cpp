// The Peano-Hilbert curve.
#include "examples/nbody/keys.h"

#include <algorithm>
#include <limits>

namespace periapt::nbody {
namespace {

constexpr int axis_bits = key_bits / 3;

std::uint32_t gridCoordinate(double position, double low, double side) {
  constexpr double cells = double(1u << axis_bits);
  return std::uint32_t(std::clamp((position - low) / side * cells, 0.0, cells - 1));
}

/// Grid coordinates of some particles by axis, and in their place the key's bits by axis.
constexpr int batch = 16;
using Batch = std::uint32_t[3][batch];

/// Without branches, and the innermost loop over particles, so that the compiler makes vectors of them.
void toCurve(Batch& x) {
  // From the largest cube down: undo the turn and the mirror that the curve makes in each octant.
  for (int level = axis_bits - 1; level > 0; --level) {
    const std::uint32_t below = (1u << level) - 1;
    for (int axis = 0; axis < 3; ++axis) {
      for (int i = 0; i < batch; ++i) {
        const std::uint32_t mirrored = -(x[axis][i] >> level & 1);  // all ones or none
        const std::uint32_t swapped = (x[0][i] ^ x[axis][i]) & below & ~mirrored;
        x[0][i] ^= swapped | (below & mirrored);
        x[axis][i] ^= swapped;
      }
    }
  }
  // Gray code to place.
  for (int i = 0; i < batch; ++i) {
    x[1][i] ^= x[0][i];
    x[2][i] ^= x[1][i];
  }
  std::uint32_t flip[batch] = {};
  for (int level = axis_bits - 1; level > 0; --level) {
    const std::uint32_t below = (1u << level) - 1;
    for (int i = 0; i < batch; ++i) flip[i] ^= below & -(x[2][i] >> level & 1);
  }
  for (auto& coordinates : x) {
    for (int i = 0; i < batch; ++i) coordinates[i] ^= flip[i];
  }
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

void setKeys(std::span<Particle> particles, const Box& box) {
  for (std::size_t first = 0; first < particles.size(); first += batch) {
    const std::size_t n = std::min<std::size_t>(batch, particles.size() - first);
    Batch x = {};
    for (std::size_t i = 0; i < n; ++i) {
      for (int axis = 0; axis < 3; ++axis) {
        x[axis][i] = gridCoordinate(particles[first + i].position[axis], box.low[axis], box.side);
      }
    }
    toCurve(x);
    for (std::size_t i = 0; i < n; ++i) {
      particles[first + i].key = spread(x[0][i]) << 2 | spread(x[1][i]) << 1 | spread(x[2][i]);
    }
  }
}

Key peanoHilbert(const Vec3& position, const Box& box) {
  Particle p;
  p.position = position;
  setKeys({&p, 1}, box);
  return p.key;
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
