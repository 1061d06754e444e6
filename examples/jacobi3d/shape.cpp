#include "examples/jacobi3d/shape.h"

#include <algorithm>

namespace periapt::jacobi3d {
namespace {

// In block numbers, to the neighbour behind the cells along each axis.
int stride(const Domain& domain, int axis) {
  return axis == 0 ? 1 : axis == 1 ? domain.blocks[0] : domain.blocks[0] * domain.blocks[1];
}
int coordinate(const Domain& domain, int block, int axis) { return block / stride(domain, axis) % domain.blocks[axis]; }

}  // namespace

Box inner(const Shape& shape, Neighbours neighbours) {
  Box box = shape.all();
  for (int axis = 0; axis < 3; ++axis) {
    if (neighbours.has(2 * axis)) ++box.begin[axis];
    if (neighbours.has(2 * axis + 1)) --box.end[axis];
  }
  return box;
}

/// From z on, each axis leaves to the next one what it has not taken.
Boxes outer(const Shape& shape, Neighbours neighbours) {
  Boxes boxes;
  Box left = shape.all();
  for (int axis = 2; axis >= 0; --axis) {
    if (neighbours.has(2 * axis)) {
      Box before = left;
      before.end[axis] = std::min(left.begin[axis] + 1, left.end[axis]);
      boxes.add(before);
      left.begin[axis] = before.end[axis];
    }
    if (neighbours.has(2 * axis + 1)) {
      Box behind = left;
      behind.begin[axis] = std::max(left.end[axis] - 1, left.begin[axis]);
      boxes.add(behind);
      left.end[axis] = behind.begin[axis];
    }
  }
  return boxes;
}

Cell Domain::origin(int block) const {
  const Shape each = shape();
  return {each.n[0] * coordinate(*this, block, 0), each.n[1] * coordinate(*this, block, 1),
          each.n[2] * coordinate(*this, block, 2)};
}

Neighbours Domain::neighbours(int block) const {
  Neighbours neighbours;
  for (int axis = 0; axis < 3; ++axis) {
    if (coordinate(*this, block, axis) > 0) neighbours.bits |= 1u << 2 * axis;
    if (coordinate(*this, block, axis) < blocks[axis] - 1) neighbours.bits |= 2u << 2 * axis;
  }
  return neighbours;
}

int Domain::neighbour(int block, int face) const { return block + (face % 2 == 0 ? -1 : 1) * stride(*this, face / 2); }

}  // namespace periapt::jacobi3d
