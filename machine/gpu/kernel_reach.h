// Which memory kernels of ours on one GPU may touch.
#pragma once

#include <cstdint>
#include <map>

#include "machine/gpu/kind_cache.h"
#include "machine/gpu/vendor.h"

namespace periapt::gpu {

/// Used by one thread at a time.
class KernelReach {
 public:
  KernelReach(Driver& driver, int gpu) : driver_(driver), gpu_(gpu), kinds_(driver) {}

  bool touches(const Memory& memory);
  /// Those bytes: of this GPU, pinned, and of another GPU where the bus allows it; what is `imported` from another
  /// process, only if it was opened at this GPU.
  bool touches(const void* address, std::uint64_t bytes, bool imported = false);

 private:
  Driver& driver_;
  const int gpu_;
  KindCache kinds_;
  std::map<int, bool> reached_;  ///< which other GPUs this one has been let to
};

}  // namespace periapt::gpu
