// Blocks of memory (layout.h) that are brought together in one piece, or put back from there, on the GPU where they
// lie: by one kernel, whatever their number.
//
// Where the GPU has no kernel, or the memory is of a kind that it may not touch (managed, mapped by hand, of a context
// of the program's), the driver copies row by row. Either way nothing is written but the blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/status.h"
#include "machine/gpu/layout.h"
#include "machine/gpu/pack_orders.h"
#include "machine/gpu/vendors.h"

namespace periapt::gpu {

/// Packs and unpacks on one GPU. Packing and unpacking have a stream each, so that what comes does not wait for what
/// goes. Used by one thread at a time.
class Packer {
 public:
  enum class Way : std::uint8_t { pack, unpack };

  /// A failure: the driver makes no stream. The first call of a process for a GPU may compile the kernel.
  static Result<std::unique_ptr<Packer>> make(Driver& driver, int gpu);
  /// That of a process's GPU, or why there is none.
  static const Result<Kernel>& kernel(Driver& driver, int gpu);
  Packer(const Packer&) = delete;
  /// Waits for what was begun.
  ~Packer();

  /// May the kernel touch those bytes? Another GPU's too, where the bus allows it; what is `imported` from another
  /// process, only if it was opened at this GPU.
  bool touches(const void* address, std::uint64_t bytes, bool imported = false);
  /// From the blocks of a layout, at offsets from `scattered`, to `packed`, or back. Behind what the way's stream has
  /// to do; all memory is lent until it has got there, and what is returned is to be kept as long. A failure: nothing
  /// was begun, because the memory was freed or is not as long as the layout, or the driver refuses.
  Result<std::shared_ptr<const void>> begin(Way way, const std::shared_ptr<const Layout>& layout, std::byte* scattered,
                                            std::byte* packed);
  OnGpu where() const { return {&driver_, streams_[0].gpu}; }
  /// By the driver's own name.
  void* stream(Way way) const { return streams_[static_cast<std::size_t>(way)].native; }

 private:
  struct List;
  /// Lists of blocks that are on the GPU, for those that come next. The one that was used last is the last.
  struct Kept {
    std::shared_ptr<const Layout> layout;
    Way way;
    std::shared_ptr<const List> list;
  };

  Packer(Driver& driver, const Result<Kernel>& kernel, Stream pack, Stream unpack)
      : driver_(driver), kernel_(kernel), streams_{pack, unpack} {}
  Result<std::shared_ptr<const List>> list_of(Way way, const std::shared_ptr<const Layout>& layout);
  Status copy(Way way, const Layout& layout, std::byte* scattered, std::byte* packed);
  bool touches(const Memory& memory);

  Driver& driver_;
  const Result<Kernel>& kernel_;
  const Stream streams_[2];
  std::vector<Kept> kept_;
  std::map<int, bool> reached_;  ///< which other GPUs this one has been let to
};

}  // namespace periapt::gpu
