// Where to cut the curve into pieces.
//
// The ends of a piece's key range must fall between leaves of the tree, and each piece should hold about the same. The
// cuts are found by asking how many particles lie between some keys, and again between keys that are closer: no piece
// needs to see the particles of another. A cut is only ever put at an edge inside a cell that holds more than a leaf
// may.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "examples/nbody/keys.h"
#include "examples/nbody/particle.h"

namespace periapt::nbody {

/// So many particles in one of the stretches between probes.
struct Filled {
  std::uint32_t stretch, count;
  bool operator==(const Filled&) const = default;
};

class Decomposer {
 public:
  /// `near`, rising: where cuts were not long ago. The cuts don't depend on it, but it takes fewer rounds to find them.
  Decomposer(int pieces, int bucket, std::vector<Key> near = {});

  /// Keys to count between, rising, from 0 to key_end; empty when the cuts are known.
  std::span<const Key> probes() const { return probes_; }
  /// What all particles fill: `stretch` i holds those with probes[i] <= key < probes[i + 1]. In rising order, each
  /// once.
  void counted(std::span<const Filled> filled);
  bool isDone() const { return probes_.empty(); }
  /// Where pieces begin: pieces + 1 keys from 0 to key_end. Piece p holds cuts[p] <= key < cuts[p + 1], perhaps
  /// nothing.
  const std::vector<Key>& cuts() const { return cuts_; }
  /// How many particles each piece holds.
  std::vector<std::uint64_t> totals() const;

 private:
  struct Edge {  // a place for a cut
    Key key;
    std::uint64_t rank;  // particles before it
  };
  std::uint64_t wanted(std::uint64_t p) const { return total_ * p / pieces_; }
  std::size_t probeAt(Key key, std::size_t first, std::size_t last) const;
  void ask(std::span<const Cell> cells);
  void choose();

  std::uint64_t pieces_, bucket_, total_ = 0;
  std::vector<Cell> cells_;  // that hold a wanted cut and may be cut
  std::vector<Edge> edges_;
  std::vector<Key> probes_;
  std::vector<Key> cuts_;
  std::vector<std::uint64_t> ranks_;  // of the cuts
};

/// The stretches between the probes that particles, sorted by key, fill; rising. Those of one of many pieces are few.
std::vector<Filled> filledBetween(std::span<const Particle> sorted, std::span<const Key> probes);
/// The same of all together, given those of several pieces one behind the other.
std::vector<Filled> addedUp(std::vector<Filled> several);
/// Counts of particles, sorted by key, between the probes.
std::vector<std::uint64_t> countBetween(std::span<const Particle> sorted, std::span<const Key> probes);

/// The cuts for particles that are all here, sorted by key.
std::vector<Key> decompose(std::span<const Particle> sorted, int pieces, int bucket);

/// Sorts by the keys as they are set (`setKeys`), then by `order`.
void sortByKey(std::vector<Particle>& particles);

}  // namespace periapt::nbody
