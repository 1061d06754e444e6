// What lies in memory that a driver of this process's GPUs knows, read and written while the caller waits: of an object
// that moves, or that a checkpoint keeps. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "machine/gpu/vendor.h"

namespace periapt::gpu {

class Contents {
 public:
  /// Those of so many bytes at an address. A failure: no driver knows them, or not all.
  static Result<Contents> at(const void* address, std::uint64_t bytes);
  /// Of new memory on the GPU that is the calling thread's, the first one if it has none. `kind`: may_be_made().
  static Result<Contents> make(MemoryType kind, std::uint64_t bytes);
  static bool may_be_made(MemoryType kind) { return kind != MemoryType::host && kind != MemoryType::vmm; }

  std::byte* begin() const { return begin_; }
  MemoryType kind() const { return kind_; }

  /// Of the bytes from `offset` on, when the GPU has done all that it has been given so far.
  Status read(void* to, std::uint64_t offset, std::uint64_t bytes) const;
  /// They are there when this returns.
  Status write(const void* from, std::uint64_t offset, std::uint64_t bytes) const;
  /// Gives the memory back.
  Status free() const { return driver_->free(gpu_, kind_, begin_); }

 private:
  Contents(Driver& driver, int gpu, MemoryType kind, std::byte* begin)
      : driver_(&driver), gpu_(gpu), kind_(kind), begin_(begin) {}
  Status copy(void* to, const void* from, std::uint64_t bytes) const;

  Driver* driver_;
  int gpu_;
  MemoryType kind_;
  std::byte* begin_;
};

}  // namespace periapt::gpu
