// Arrays of numbers that are combined item by item where they lie, on a GPU, and the memory that their sums are made
// in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "machine/gpu/fold_orders.h"
#include "machine/gpu/vendors.h"

namespace periapt::gpu {

/// Combines arrays on one GPU, one after the other. Used by one thread at a time.
class Folder {
 public:
  /// A failure says why the GPU has no kernel for it. The first call of a process for a GPU may compile that.
  static Result<std::unique_ptr<Folder>> make(Driver& driver, int gpu);
  /// That of a process's GPU, for make(), or why there is none.
  static const Result<Kernel>& kernel(Driver& driver, int gpu);
  Folder(const Folder&) = delete;
  /// Waits for what was begun.
  ~Folder();

  /// May the kernel read items of so many bytes there, `bytes` in all?
  bool reads(const void* address, std::uint64_t bytes, std::uint64_t item_bytes) const;
  /// Behind what was begun before. Both arrays are lent until the stream has got there.
  Status begin(const FoldOrders& orders);
  /// By the driver's own name.
  void* stream() const { return stream_.native; }

 private:
  Folder(Driver& driver, Kernel kernel, Stream stream) : driver_(driver), kernel_(kernel), stream_(stream) {}

  Driver& driver_;
  const Kernel kernel_;
  const Stream stream_;
};

/// Some memory: of a GPU, pinned, or, without a driver, of the heap.
struct Room {
  std::byte* at = nullptr;
  std::uint64_t bytes = 0;
  OnGpu where;
  Kind kind = Kind::host;
};

/// Memory for sums, kept for those that come next: to allocate and to free it waits for a GPU. Used by one thread at a
/// time.
class Rooms {
 public:
  Rooms() = default;
  Rooms(const Rooms&) = delete;
  ~Rooms();
  /// So many bytes at least. `kind`: device or pinned, of that GPU; host. Where there is no memory left, what is kept
  /// is freed first.
  Result<Room> take(OnGpu where, Kind kind, std::uint64_t least);
  void give(const Room& room);

 private:
  static void free(const Room& room);
  void free_all();
  std::vector<Room> free_;  ///< the one that was given back last is the last
};

}  // namespace periapt::gpu
