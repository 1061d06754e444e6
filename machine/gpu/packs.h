// Blocks of memory (layout.h) that are brought together in one piece, or put back from there, on the GPU where they
// lie: by one kernel, whatever their number.
//
// Where the GPU has no kernel, or the memory is of a kind that it may not touch (managed, mapped by hand, of a context
// of the program's), the driver copies row by row; and where rows have more than 2^32 units of what all of them are
// multiples of, at most 16 bytes. Either way nothing is written but the blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "machine/gpu/kernel_reach.h"
#include "machine/gpu/layout.h"
#include "machine/gpu/pack_orders.h"
#include "machine/gpu/rooms.h"
#include "machine/gpu/vendors.h"

namespace periapt::gpu {

/// What the blocks of a layout lie in, at offsets from `scattered`. A failure: it was freed, or is not as long.
Result<Memory> memory_of(Driver& driver, const Layout& layout, const std::byte* scattered);

/// Packs and unpacks on one GPU. Packing and unpacking have a stream each, so that what comes does not wait for what
/// goes. Used by one thread at a time.
class Packer {
 public:
  enum class Way : std::uint8_t { pack, unpack };

  /// A failure: the driver makes no stream. The first call of a process for a GPU may compile the kernel. `rooms` has
  /// the memory for lists of blocks, and outlives what begin() returns.
  static Result<std::unique_ptr<Packer>> make(Driver& driver, int gpu, Rooms& rooms);
  /// That of a process's GPU, or why there is none.
  static const Result<Kernel>& kernel(Driver& driver, int gpu);
  Packer(const Packer&) = delete;
  /// Waits for what was begun.
  ~Packer();

  /// May the kernel touch those bytes? As KernelReach says.
  bool touches(const void* address, std::uint64_t bytes, bool imported = false);
  /// From the blocks of a layout, at offsets from `scattered`, to `packed`, or back. Behind what the way's stream has
  /// to do; all memory is lent until it has got there, and what is returned is to be kept as long. A failure: the
  /// memory was freed or is not as long as the layout, and nothing was begun; or the driver refuses, or has no memory
  /// for a list, and of rows that it copies some may have been.
  Result<std::shared_ptr<const void>> begin(Way way, const std::shared_ptr<const Layout>& layout, std::byte* scattered,
                                            std::byte* packed, bool touched = false);
  /// Gives back the memory of lists that nothing reads at the moment: they are brought anew when they are needed.
  void drop_lists() { kept_.clear(); }
  OnGpu where() const { return {&driver_, streams_[0].gpu}; }
  /// By the driver's own name.
  void* stream(Way way) const { return streams_[static_cast<std::size_t>(way)].native; }

 private:
  struct List;
  /// The lists of blocks of a layout that are on the GPU, by the way that reads them. They stay as long as the program
  /// has the layout.
  struct Kept {
    std::shared_ptr<const Layout> layout;
    std::shared_ptr<const List> lists[2];
  };
  /// A list, and what is to be kept until the stream has got to what reads it.
  using Held = std::pair<std::shared_ptr<const List>, std::shared_ptr<const void>>;

  Packer(Driver& driver, Rooms& rooms, const Result<Kernel>& kernel, Stream pack, Stream unpack)
      : driver_(driver), rooms_(rooms), kernel_(kernel), streams_{pack, unpack}, reach_(driver, pack.gpu) {}
  Result<Held> list_of(Way way, const std::shared_ptr<const Layout>& layout);
  Status copy(Way way, const Layout& layout, std::byte* scattered, std::byte* packed);
  bool touches(const Memory& memory);

  Driver& driver_;
  Rooms& rooms_;
  const Result<Kernel>& kernel_;
  const Stream streams_[2];
  KernelReach reach_;
  std::vector<Kept> kept_;
};

}  // namespace periapt::gpu
