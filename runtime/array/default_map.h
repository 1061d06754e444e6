// Where the elements of an array live at first: placements, as pure functions from an index to a PE.
//
// The CkArrayMap classes that programs name (DefaultArrayMap, RRMap, BlockMap ...) hold one of these. All of them
// number the elements of a dense array in row-major order, the last dimension fastest; an index outside the bounds, or
// of an array without bounds (elements inserted one by one), goes round robin by value in one dimension and by hash in
// more.
//
//   Placement               DefaultArrayMap, BlockMap: contiguous blocks; the first (count mod PEs) have one more
//   Placement::fast         FastArrayMap: blocks of ceil(count / PEs), the last PEs may get none
//   Placement::round_robin  RRMap: element k on PE k mod PEs
//   Placement::by_node      +useNodeBlkMapping: blocks over processes, then over the PEs of each
//   Placement::hilbert      HilbertArrayMap: blocks along a Hilbert curve; two or three dimensions
//   Placement::table        ReadFileMap, Simple1DFileMap, PropMap, ConfigurableRRMap: a PE for each element
//
// With all of the first three element 0 is on PE 0.
// C++17.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/api/array_index.h"

namespace periapt {
namespace chare {

class Placement {
 public:
  // Blocks. `bounds` of dimension 0: an array without bounds. pes > 0.
  Placement(const CkArrayIndex& bounds, int pes);
  static Placement fast(const CkArrayIndex& bounds, int pes);
  static Placement round_robin(const CkArrayIndex& bounds, int pes);
  // The same number of PEs in every node.
  static Placement by_node(const CkArrayIndex& bounds, int nodes, int pes_per_node);
  static Placement hilbert(const CkArrayIndex& bounds, int pes);
  // Element k (row-major) on PE pe_of_element[k]; more elements than entries begin again at the first.
  static Placement table(const CkArrayIndex& bounds, int pes, std::vector<int> pe_of_element);

  int pe_of(const CkArrayIndex& index) const {
    const std::int64_t position = position_of(index);
    return position >= 0 ? pe_at(position) : pe_outside(index);
  }

  std::int64_t count() const { return count_; }
  // The number of an index in row-major order, -1 outside the bounds.
  std::int64_t position_of(const CkArrayIndex& index) const {
    if (index.dimension != bounds_.dimension) return -1;
    std::int64_t position = 0;
    for (int d = 0; d < bounds_.dimension; ++d) {
      const int i = index.coordinate(d), n = bounds_.coordinate(d);
      if (i < 0 || i >= n) return -1;
      position = position * n + i;
    }
    return bounds_.dimension == 0 ? -1 : position;
  }
  // The PE of the element of that number. 0 <= position < count().
  int pe_at(std::int64_t position) const;

  // When a PE's elements are a run of positions (blocks, fast): [first_on(pe), first_on(pe + 1)), so that a PE makes
  // its own without asking about all the others. Requires is_contiguous().
  bool is_contiguous() const { return kind_ == Kind::blocks || kind_ == Kind::fast; }
  std::int64_t first_on(int pe) const;

 private:
  enum class Kind : std::uint8_t { blocks, fast, round_robin, by_node, table };

  // `count` things over `parts` parts, the first (count mod parts) with one more.
  struct Blocks {
    std::int64_t smaller = 0, larger_parts = 0, in_larger = 0;
    Blocks() = default;
    Blocks(std::int64_t count, std::int64_t parts)
        : smaller(count / parts), larger_parts(count % parts), in_larger(larger_parts * (smaller + 1)) {}
    std::int64_t part_of(std::int64_t i) const {
      return i < in_larger ? i / (smaller + 1) : larger_parts + (i - in_larger) / smaller;
    }
    std::int64_t first_of(std::int64_t part) const {
      return part <= larger_parts ? part * (smaller + 1) : in_larger + (part - larger_parts) * smaller;
    }
    std::int64_t size_of(std::int64_t part) const { return smaller + (part < larger_parts); }
  };
  int pe_outside(const CkArrayIndex& index) const;

  CkArrayIndex bounds_;
  Kind kind_ = Kind::blocks;
  int pes_ = 1, pes_per_node_ = 1;
  std::int64_t count_ = 0;
  Blocks blocks_;  // over PEs; by_node: over nodes
  std::vector<int> table_;
};

// A file of PEs, one line for each element: one number, the PE (Simple1DFileMap), or four, coordinates that rank_of
// turns into a PE (ReadFileMap). Fatal, with file and line, on anything else.
std::vector<int> read_placement(const std::string& path, std::int64_t count, int pes,
                                const std::function<int(int x, int y, int z, int t)>& rank_of = nullptr);

// Contiguous blocks in proportion to the PEs' speeds (> 0); what rounding leaves goes to the PEs that lost most
// (PropMap).
std::vector<int> proportional_placement(std::int64_t count, const std::vector<double>& speeds);

// ConfigurableRRMap's text "objects_per_block pes_per_block pe_0 pe_1 ...": object i of each block is on the block's PE
// pe_i. Fatal, with the text, when it doesn't say that.
std::vector<int> configured_placement(const std::string& text, std::int64_t count, int pes);

}  // namespace chare
}  // namespace periapt
