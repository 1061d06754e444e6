// Places on a space-filling curve, and the cells of space that are stretches of it.
//
// A key is a particle's position on the Peano-Hilbert curve: 63 bits, 21 an axis. The first n bits of a key name a cell
// of space (a cube for n = 3k, a half or a quarter of one in between), so a cell is a contiguous range of keys, and a
// domain cut into key ranges is cut into compact pieces.
#pragma once

#include <bit>
#include <compare>
#include <cstdint>
#include <span>

#include "examples/nbody/particle.h"
#include "examples/nbody/vec3.h"

namespace periapt::nbody {

using Key = std::uint64_t;
inline constexpr int key_bits = 63;
inline constexpr Key key_end = Key{1} << key_bits;  // one past the largest key

/// The cube that all keys refer to. In a periodic run it is the period.
struct Box {
  Vec3 low;
  double side = 1;
};

/// A cube, slightly enlarged, around all positions.
Box boundingBox(std::span<const Particle> particles);

/// Hilbert (1891) in three dimensions, by the bit transpose of Skilling (2004, AIP Conf. Proc. 707, 381). Positions
/// outside the box take the key of the nearest point in it.
Key peanoHilbert(const Vec3& position, const Box& box);

/// The same for all particles: sets `key`. Several times faster, as it goes by vectors.
void setKeys(std::span<Particle> particles, const Box& box);

/// A cell: the keys that start with given bits. Held as those bits behind a sentinel 1, so that the whole box is 1 and
/// the halves of a cell c are 2c and 2c + 1.
struct Cell {
  Key bits = 1;

  int level() const { return std::bit_width(bits) - 1; }
  Key begin() const { return (bits << (key_bits - level())) & (key_end - 1); }
  Key end() const { return begin() + (Key{1} << (key_bits - level())); }
  bool holds(Cell other) const { return other.level() >= level() && other.bits >> (other.level() - level()) == bits; }
  Cell half(int which) const { return {bits << 1 | Key(which)}; }
  friend auto operator<=>(const Cell&, const Cell&) = default;
};

/// The smallest cell that holds both keys.
inline Cell commonCell(Key a, Key b) {
  const int differing = std::bit_width(a ^ b);
  return {(a | key_end) >> differing};
}

}  // namespace periapt::nbody
