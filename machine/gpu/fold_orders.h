// What a kernel that combines two arrays of numbers is told (fold_kernel.inc). Compiled for GPUs too, by compilers that
// know no header of the system's.
#pragma once

namespace periapt::gpu {

using Word = unsigned long long;

enum class FoldOperation : unsigned { sum, product, max, min };
enum class FoldItem : unsigned { int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64 };

/// into[i] = operation(into[i], from[i]), for so many items. Addresses are whole multiples of an item's size.
struct FoldOrders {
  Word into, from, count;
  FoldOperation operation;
  FoldItem item;
};

}  // namespace periapt::gpu
