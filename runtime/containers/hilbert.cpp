// See hilbert.h. From the largest cube down, each of `dim` bits of the number says which half of the cube on each axis;
// the curve enters a cube in one corner, and leaves it in that corner's neighbour along one axis, the direction: C.
// Hamilton and A. Rau-Chaplin, "Compact Hilbert indices", Information Processing Letters 105, 2008.
#include "runtime/containers/hilbert.h"

#include <climits>
#include <cstdint>
#include <string>

#include "base/fatal.h"

namespace {
using Bits = std::uint32_t;  // one of each axis; bit dim - 1 is that of the first coordinate

class Cube {
 public:
  // Cubes of 2^levels: the direction turns with the levels, so that a point's number does not depend on them.
  Cube(int dim, int levels) : dim_(dim), direction_((dim - 1 - levels % dim + dim) % dim) {}
  // The halves that number `part` of the cube's 2^dim parts lies in, and the other way.
  Bits halves(Bits part) const { return turn(gray(part), direction_ + 1) ^ entry_; }
  Bits part(Bits halves) const { return from_gray(turn(halves ^ entry_, dim_ - (direction_ + 1) % dim_)); }
  void enter(Bits part) {
    if (part != 0) {
      entry_ ^= turn(gray((part - 1) / 2 * 2), direction_ + 1);
      direction_ += ones(part % 2 == 0 ? part - 1 : part);
    }
    direction_ = (direction_ + 1) % dim_;
  }

 private:
  static Bits gray(Bits i) { return i ^ (i >> 1); }
  static Bits from_gray(Bits code) {
    for (int shift = 1; shift < 32; shift *= 2) code ^= code >> shift;
    return code;
  }
  // How many ones `i` ends with.
  static int ones(Bits i) {
    int count = 0;
    for (; (i & 1) != 0; i >>= 1) ++count;
    return count;
  }
  // To the left within dim bits.
  Bits turn(Bits bits, int by) const {
    by %= dim_;
    return ((bits << by) | (bits >> (dim_ - by))) & ((Bits(1) << dim_) - 1);
  }
  int dim_;
  int direction_;
  Bits entry_ = 0;
};

void check_dimensions(int dim) {
  if (dim < 1 || dim > 31)
    periapt::fatal("a Hilbert curve of " + std::to_string(dim) + " dimensions is asked for", "hilbert.h", "",
                   "1 to 31 are possible");
}
}  // namespace

std::vector<int> int_to_Hilbert(int i, int dim) {
  check_dimensions(dim);
  if (i < 0)
    periapt::fatal("point " + std::to_string(i) + " of a Hilbert curve is asked for", "int_to_Hilbert()", "",
                   "points are counted from 0");
  const auto number = static_cast<std::uint64_t>(i);
  int levels = 1;
  while (number >> (levels * dim) != 0) ++levels;
  Cube cube(dim, levels);
  std::vector<int> coords(static_cast<std::size_t>(dim));
  for (int level = levels - 1; level >= 0; --level) {
    const Bits part = static_cast<Bits>(number >> (level * dim)) & ((Bits(1) << dim) - 1);
    const Bits halves = cube.halves(part);
    for (int axis = 0; axis < dim; ++axis) coords[axis] |= static_cast<int>(halves >> (dim - 1 - axis) & 1) << level;
    cube.enter(part);
  }
  return coords;
}

int Hilbert_to_int(const std::vector<int>& coords, int dim) {
  check_dimensions(dim);
  if (static_cast<int>(coords.size()) != dim)
    periapt::fatal("a point of " + std::to_string(coords.size()) + " coordinates on a Hilbert curve of " +
                       std::to_string(dim) + " dimensions",
                   "Hilbert_to_int()", "", "as many coordinates as dimensions");
  int levels = 1;
  for (const int at : coords) {
    if (at < 0)
      periapt::fatal("a point with coordinate " + std::to_string(at) + " is not on a Hilbert curve", "Hilbert_to_int()",
                     "", "coordinates are 0 or more");
    while (at >> levels != 0) ++levels;
  }
  Cube cube(dim, levels);
  std::uint64_t number = 0;
  for (int level = levels - 1; level >= 0; --level) {
    Bits halves = 0;
    for (const int at : coords) halves = halves << 1 | static_cast<Bits>(at >> level & 1);
    const Bits part = cube.part(halves);
    number = number << dim | part;
    if (number > INT_MAX)
      periapt::fatal("a point's number on a Hilbert curve of " + std::to_string(dim) + " dimensions is no int",
                     "Hilbert_to_int()", "", "points nearer to the origin");
    cube.enter(part);
  }
  return static_cast<int>(number);
}
