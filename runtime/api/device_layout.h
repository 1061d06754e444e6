// Strided memory in calls: which elements of some memory a nocopydevice array is made of (device_buffer.h). C++17, and
// no vendor's toolkit: reached from charm++.h.
//
//   auto column = CkDeviceLayout::vector<double>(rows, 1, columns);      // rows x 1 elements, a row's length apart
//   // .ci: entry void halo(int n, nocopydevice double x[n]);
//   block[next].halo(rows, CkDeviceBuffer(d_field, column, stream));
//
//   void halo(int& n, double*& x, CkDeviceBufferPost* post) { x = d_field + columns - 1; post[0].layout = column; }
//
// The elements stand in the message in the order of the layout, one behind the other. Each side has a layout of its own
// or none: they need not be alike, but hold as many elements. On a GPU they are packed and unpacked by one kernel each;
// what lies between the blocks is neither read nor written. A layout is a value, cheap to copy, to be made once and
// used often. All numbers are elements of T; the element with the lowest address is the one that the pointer points to,
// or lies behind it.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/pup/pup.h"

namespace periapt::gpu {
struct Layout;
}

class CkDeviceLayout {
 public:
  using Numbers = std::vector<std::ptrdiff_t>;

  // All in one piece, of any length.
  CkDeviceLayout() = default;

  // `count` blocks of `length` elements, whose first ones are `stride` elements apart. As MPI_Type_vector().
  template <class T>
  static CkDeviceLayout vector(std::ptrdiff_t count, std::ptrdiff_t length, std::ptrdiff_t stride) {
    return make_vector(count, length, stride, sizeof(T));
  }
  // Blocks that begin `offsets[i]` elements behind the pointer, `lengths[i]` elements each, in this order. As
  // MPI_Type_indexed().
  template <class T>
  static CkDeviceLayout indexed(const Numbers& offsets, const Numbers& lengths) {
    return make_indexed(offsets, lengths, sizeof(T));
  }
  // Of an array of `sizes` elements, whose first one the pointer points to, those from `starts` on, `subsizes` of them;
  // for each of its one to four dimensions, of which the last one is that of neighbours (C's order). As
  // MPI_Type_create_subarray().
  template <class T>
  static CkDeviceLayout subarray(const Numbers& sizes, const Numbers& subsizes, const Numbers& starts) {
    return make_subarray(sizes, subsizes, starts, sizeof(T));
  }
  // Ends the run with a sentence: a negative number, lists of different lengths, no dimension or more than four, a
  // subarray that reaches out of its array, or blocks that end beyond the addresses that there are. Where nothing is in
  // it (a count of 0) it is a layout of 0 bytes, of which 0 elements are sent.

  bool is_contiguous() const { return !layout_; }
  // Of all its blocks together; 0 of one that is contiguous, which has any length.
  std::size_t bytes() const;
  // From the pointer to the end of the block that ends last.
  std::size_t extent() const;
  const std::shared_ptr<const periapt::gpu::Layout>& get() const { return layout_; }

  // It goes along with a chare or a message: which elements it is of, not their memory. Made anew where it comes to.
  void pup(PUP::er& p);

 private:
  static CkDeviceLayout make_vector(std::ptrdiff_t count, std::ptrdiff_t length, std::ptrdiff_t stride,
                                    std::size_t item);
  static CkDeviceLayout make_indexed(const Numbers& offsets, const Numbers& lengths, std::size_t item);
  static CkDeviceLayout make_subarray(const Numbers& sizes, const Numbers& subsizes, const Numbers& starts,
                                      std::size_t item);

  std::shared_ptr<const periapt::gpu::Layout> layout_;
};
