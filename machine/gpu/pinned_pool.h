// Pinned memory in pieces of one size, through which bytes of a GPU go where it cannot be reached directly. A bounded
// number of them: what finds none waits until one comes back.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/gpu/vendor.h"
#include "machine/ucx-like/buffer.h"

namespace periapt::gpu {

/// Used by one thread at a time. All that it has given out comes back before it ends.
class PinnedPool {
 public:
  /// `most` pieces of `bytes` each, made when they are first needed, at `gpu`.
  PinnedPool(Driver& driver, int gpu, std::uint64_t bytes, std::size_t most)
      : driver_(driver), gpu_(gpu), bytes_(bytes), most_(most) {}
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;
  ~PinnedPool();

  /// A piece that goes back when it is released. Empty: all are in use. A failure: there is no pinned memory at all;
  /// once there is a piece, less than `most` will do.
  Result<ucx::Buffer> take();

  std::uint64_t piece_bytes() const { return bytes_; }
  std::size_t made() const { return made_; }
  std::size_t in_use() const { return made_ - free_.size(); }

 private:
  Driver& driver_;
  const int gpu_;
  const std::uint64_t bytes_;
  std::size_t most_;
  std::size_t made_ = 0;
  std::vector<std::byte*> free_;
};

}  // namespace periapt::gpu
