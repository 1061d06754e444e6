// What a kernel that combines arrays of numbers is told (fold_kernel.inc). Compiled for GPUs too, by compilers that
// know no header of the system's.
#pragma once

namespace periapt::gpu {

using Word = unsigned long long;

enum class FoldOperation : unsigned { sum, product, max, min };
enum class FoldItem : unsigned { int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64 };

/// into[i] = operation(... operation(from[0][i], from[1][i]) ..., from[sources - 1][i]), for so many items: always in
/// that order. Addresses are whole multiples of an item's size; `into` may be from[0].
struct FoldOrders {
  static constexpr unsigned kMostSources = 16;
  static constexpr unsigned kPack = 16;  ///< bytes that are read at a time where all addresses are multiples of it
  Word into, count;
  Word from[kMostSources];
  unsigned sources;
  FoldOperation operation;
  FoldItem item;
};

}  // namespace periapt::gpu
