// The tree that the multicasts and reductions of a section go over: a pure function of where its members are.
//
// The PEs stand in a row: the root, then those behind it by number, around the end. The root takes itself out, cuts the
// rest of the row into as many pieces as it may have children, and each piece is the row of a child, that one first. So
// PEs of one host lie in one part of the tree, and what a child has to know of its part is one piece of the row.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/api/array_index.h"

namespace periapt {

struct SectionMember {
  CkArrayIndex index;    // nInts is 0: the member of a group on the PE that it stands at
  std::uint64_t id = 0;  // of the element, if the index is small enough; else 0
  std::int32_t collection = 0;
  std::uint32_t number = 0;  // in the section's list
  bool of_group() const { return index.nInts == 0; }
};

// A PE of the tree and the members that messages of the section are brought to there.
struct SectionStop {
  int pe = -1;
  std::vector<SectionMember> members;
};

constexpr int section_branching = 4;  // where the program asks for nothing

// The row: `places[i]` is the PE of members[i]. The root is first, with or without members.
std::vector<SectionStop> section_row(int root, int pes, const std::vector<SectionMember>& members,
                                     const std::vector<int>& places);
// The pieces [begin, end) of a row of `length` that belong to the children of its first.
std::vector<std::pair<std::size_t, std::size_t>> section_pieces(std::size_t length, int branching);

}  // namespace periapt
