// What tells a piece of work apart from others in two runs of a program: where it comes from, and what it is for. Those
// that are alike in this come in the same order in both runs, as one PE puts them all.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/scheduler/ordering.h"

namespace periapt {
class PeObjects;
}

namespace periapt::order {

struct Piece {
  std::int32_t source = 0;  // see Arrival
  bool thread = false;      // a thread goes on: `element` is its number
  Target target = Target::none;
  std::uint16_t entry = 0;
  std::uint32_t collection = 0;
  std::uint64_t element = 0;

  static Piece of(const Arrival& arrival);
  bool operator==(const Piece&) const = default;
  // When and how often it comes depends on time.
  bool unordered() const;
  // What one sender sends to the same receiver keeps its order, whatever else is done to it. 0: of the runtime, which
  // counts on the order of all that one PE sends to another.
  std::uint64_t receiver() const;
  // "Piece[3]::work(int n) from PE 2". On a PE.
  std::string describe(PeObjects& objects) const;
};

struct PieceHash {
  std::size_t operator()(const Piece& piece) const;
};

}  // namespace periapt::order
