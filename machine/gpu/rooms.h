// Memory of ours for what a PE makes on its way: sums, arrays that are packed, lists for kernels. It is kept for what
// comes next, because to allocate and to free it waits for a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "machine/gpu/vendors.h"

namespace periapt::gpu {

/// Some memory: of a GPU, pinned, or, without a driver, of the heap.
struct Room {
  std::byte* at = nullptr;
  std::uint64_t bytes = 0;
  OnGpu where;
  MemoryType kind = MemoryType::host;
};

/// Used by one thread at a time. Of each GPU and kind as many bytes are kept as were out at once: a program that has
/// the same number out in each step allocates in the first one alone.
class Rooms {
 public:
  Rooms() = default;
  Rooms(const Rooms&) = delete;
  /// Frees what is kept; what is out stays.
  ~Rooms();
  /// So many bytes at least. `kind`: device or pinned, of that GPU; host. Where there is no memory left, what is kept
  /// there is freed first. A failure: that does not suffice.
  Result<Room> take(OnGpu where, MemoryType kind, std::uint64_t least);
  /// What take() gave; nothing reads or writes it any more.
  void give(const Room& room);

 private:
  /// Those of one GPU and kind.
  struct Shelf {
    OnGpu where;
    MemoryType kind = MemoryType::host;
    std::vector<Room> kept;  ///< the one that was given back last is the last
    std::uint64_t kept_bytes = 0, out_bytes = 0, most_out_bytes = 0;
  };

  Shelf& shelf_of(OnGpu where, MemoryType kind);
  static bool allocate(Room& room, Status& why);
  static void free(const Room& room);
  static void free_oldest(Shelf& shelf);

  std::vector<Shelf> shelves_;
};

}  // namespace periapt::gpu
