// Arrays of numbers that are combined item by item where they lie, on a GPU. rooms.h has the memory for their sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "machine/gpu/fold_orders.h"
#include "machine/gpu/kernel_reach.h"
#include "machine/gpu/vendors.h"

namespace periapt::gpu {

/// Combines arrays on one GPU, one order after the other. Used by one thread at a time.
class Folder {
 public:
  /// A failure says why the GPU has no kernel for it. The first call of a process for a GPU may compile that.
  static Result<std::unique_ptr<Folder>> make(Driver& driver, int gpu);
  /// That of a process's GPU, for make(), or why there is none.
  static const Result<Kernel>& kernel(Driver& driver, int gpu);
  Folder(const Folder&) = delete;
  /// Waits for what was begun.
  ~Folder();

  /// May the kernel read items of so many bytes there, `bytes` in all? `imported`: it is another process's memory. As
  /// KernelReach says.
  bool reads(const void* address, std::uint64_t bytes, std::uint64_t item_bytes, bool imported = false);
  /// Behind what was begun before. All arrays are lent until the stream has got there.
  Status begin(const FoldOrders& orders);
  /// By the driver's own name.
  void* stream() const { return stream_.native; }

 private:
  Folder(Driver& driver, Kernel kernel, Stream stream)
      : driver_(driver), kernel_(kernel), stream_(stream), reach_(driver, stream.gpu) {}

  Driver& driver_;
  const Kernel kernel_;
  const Stream stream_;
  KernelReach reach_;
};

}  // namespace periapt::gpu
