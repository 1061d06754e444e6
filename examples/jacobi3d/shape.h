// A block of cells as it lies in memory, and the parts of it: boxes of cells, and its six faces.
//
// Axes are 0, 1, 2 for x, y, z; x runs fastest. The cells 0 ... n-1 along each axis have ghosts, the cells -1 and n, of
// which those of a block's edges and corners are never read. Face f is the one before the cells (f even) or behind them
// (f odd) along axis f / 2; it is met by its neighbour's face f ^ 1.
#pragma once
#include "examples/gpu/both.h"

namespace periapt::jacobi3d {

inline constexpr int faces = 6;

/// The cells begin[axis] <= x[axis] < end[axis].
struct Box {
  int begin[3], end[3];

  PERIAPT_BOTH long cells() const {
    long product = 1;
    for (int axis = 0; axis < 3; ++axis) product *= end[axis] > begin[axis] ? end[axis] - begin[axis] : 0;
    return product;
  }
};

/// Boxes that have no cell in common.
struct Boxes {
  Box box[faces] = {};
  int count = 0;

  void add(const Box& more) {
    if (more.cells() > 0) box[count++] = more;
  }
  PERIAPT_BOTH long cells() const {
    long sum = 0;
    for (int i = 0; i < count; ++i) sum += box[i].cells();
    return sum;
  }
};

struct Cell {
  int x, y, z;
};

/// The `at`-th cell of all boxes.
PERIAPT_BOTH inline Cell cell_of(const Boxes& boxes, long at) {
  int i = 0;
  while (at >= boxes.box[i].cells()) at -= boxes.box[i++].cells();
  const Box& box = boxes.box[i];
  const long nx = box.end[0] - box.begin[0], ny = box.end[1] - box.begin[1];
  return {box.begin[0] + static_cast<int>(at % nx), box.begin[1] + static_cast<int>(at / nx % ny),
          box.begin[2] + static_cast<int>(at / nx / ny)};
}

struct Shape {
  int n[3] = {};
  long row = 0, plane = 0;  // doubles from a cell to the next one along y, along z

  static constexpr int line = 16;  // doubles of 128 bytes, to which the first cell of each row is aligned
  Shape() = default;
  Shape(int nx, int ny, int nz) : n{nx, ny, nz} {
    row = (line + nx + line) / line * line;
    plane = row * (ny + 2);
  }
  PERIAPT_BOTH long index(int x, int y, int z) const { return (z + 1) * plane + (y + 1) * row + line + x; }
  PERIAPT_BOTH long index(const Cell& cell) const { return index(cell.x, cell.y, cell.z); }
  /// Doubles of all of it, with ghosts.
  PERIAPT_BOTH long size() const { return plane * (n[2] + 2); }
  PERIAPT_BOTH long cells() const { return long{n[0]} * n[1] * n[2]; }
  Box all() const { return {{0, 0, 0}, {n[0], n[1], n[2]}}; }

  /// A face along z is sent from where it lies: a stretch of its plane. The others are packed.
  PERIAPT_BOTH static bool is_packed(int face) { return face < 4; }
  /// Doubles that travel for a face.
  PERIAPT_BOTH long face_size(int face) const {
    if (!is_packed(face)) return (n[1] - 1) * row + n[0];
    return long{n[2]} * n[face < 2 ? 1 : 0];
  }
  /// Where a packed face begins among all packed ones.
  PERIAPT_BOTH long packed_at(int face) const {
    long before = 0;
    for (int other = 0; other < face; ++other) before += face_size(other);
    return before;
  }
  /// Doubles of all packed faces.
  long packed_size() const { return packed_at(4); }
  /// Where a face along z lies: the cells that are sent, or the ghosts that they go to.
  long plane_at(int face, bool ghosts) const {
    return index(0, 0, face % 2 == 0 ? (ghosts ? -1 : 0) : (ghosts ? n[2] : n[2] - 1));
  }
};

/// The `at`-th cell of a packed face, or the ghost beyond it.
PERIAPT_BOTH inline Cell cell_of_face(const Shape& shape, int face, long at, bool ghost) {
  const int axis = face / 2;
  const int place = face % 2 == 0 ? (ghost ? -1 : 0) : (ghost ? shape.n[axis] : shape.n[axis] - 1);
  const int along = shape.n[axis == 0 ? 1 : 0];
  const int first = static_cast<int>(at % along), z = static_cast<int>(at / along);
  return axis == 0 ? Cell{place, first, z} : Cell{first, place, z};
}

/// Which faces have a neighbour: a bit for each.
struct Neighbours {
  unsigned bits = 0;

  PERIAPT_BOTH bool has(int face) const { return (bits >> face & 1) != 0; }
  int count() const {
    int sum = 0;
    for (int face = 0; face < faces; ++face) sum += has(face);
    return sum;
  }
};

/// The cells that need no neighbour's: they can be worked on before the halos are there.
Box inner(const Shape& shape, Neighbours neighbours);
/// All others, those at a face that has a neighbour.
Boxes outer(const Shape& shape, Neighbours neighbours);

/// The whole domain, cut into blocks of one shape; block b has the coordinates b % blocks[0] and so on.
struct Domain {
  int cells[3] = {128, 128, 128};
  int blocks[3] = {1, 1, 1};

  int count() const { return blocks[0] * blocks[1] * blocks[2]; }
  Shape shape() const { return {cells[0] / blocks[0], cells[1] / blocks[1], cells[2] / blocks[2]}; }
  /// The first cell of a block.
  Cell origin(int block) const;
  Neighbours neighbours(int block) const;
  int neighbour(int block, int face) const;
};

}  // namespace periapt::jacobi3d
