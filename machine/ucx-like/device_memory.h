// What the engine needs of memory that a processor may not touch, or not simply: that of GPUs.
//
// The engine knows no vendor. The layer above hands over how one is made (ContextRequest::device_memory; machine/gpu
// has one over the vendors' drivers), and a worker makes its own when memory of such a kind is named for the first
// time, here or by a peer: before that, and where there is none, nothing of it costs anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "machine/ucx-like/buffer.h"
#include "machine/ucx-like/dma_buf.h"
#include "machine/ucx-like/transport.h"

namespace periapt::ucx {

/// An address of this process, and what its user says lies there.
struct Place {
  std::byte* at = nullptr;
  MemoryKind kind = MemoryKind::host;
};

/// A peer's memory, where it can be copied from and to here as long as `at` is held.
struct Mapping {
  std::shared_ptr<std::byte> at;
  MemoryKind kind = MemoryKind::host;
};

/// Memory that its driver gave out in one piece: other devices are given all of it.
struct Allocation {
  std::byte* begin = nullptr;
  std::uint64_t size = 0;
  std::uint64_t number = 0;  ///< another one when the address comes back with other memory
};

/// Used by one thread at a time, like a worker. Nothing here waits for a GPU but finish(). Completions are made from
/// progress() only.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  /// Between memory of any kinds, one of them at least not the host's, and of any size. Both sides are lent until the
  /// completion. A failure: nothing was begun, and it says why (memory that was freed, two vendors' GPUs).
  virtual Status copy(Place to, Place from, std::uint64_t bytes, Completion& completion) = 0;
  /// `reached` when a stream of the program's, by its driver's own name, has done what it has been given so far. The
  /// memory says which driver's it is, and of a default stream the GPU; without an address its kind alone does.
  /// true: it has already, and `reached` is not told.
  virtual Result<bool> when_reached(void* stream, Place memory, Completion& reached) = 0;
  /// copy() then: `from` is the memory. `bytes` is not 0.
  virtual Status copy_when_reached(void* stream, Place to, Place from, std::uint64_t bytes, Completion& completion) = 0;

  /// What lies at an address; what no driver knows is the host's.
  virtual MemoryKind kind_of(const void* address) = 0;
  /// The memory that an address lies in, for other workers to map: at most 200 bytes. Empty: there is nothing to say.
  virtual std::vector<std::byte> describe(Place memory) = 0;
  /// Where [address, address + bytes) of what a worker has described can be copied from and to here. The bytes come
  /// from outside. `local`: what is copied to or from there; the GPU that it lies on is to reach the mapping. A failure
  /// says why it cannot be mapped: they have to go another way.
  virtual Result<Mapping> map(std::span<const std::byte> described, std::uint64_t address, std::uint64_t bytes,
                              Place local) = 0;

  /// What [memory.at, memory.at + bytes) lies in. A failure: memory of that sort is not for other devices.
  virtual Result<Allocation> allocation_of(Place memory, std::uint64_t bytes) = 0;
  /// Where the GPU is in /sys that memory lies on, for topology::distance_between(). Empty: it lies on none.
  virtual std::string folder_of(Place memory) = 0;
  /// For devices that read and write it themselves.
  virtual Result<DmaBuf> share(const Allocation& allocation) = 0;
  /// They do from now on. What they have written is seen by copies that begin here after it was told of, and by all
  /// that the program gives the GPU after that.
  virtual void written_by_devices(const Allocation& allocation) = 0;

  /// Memory of the host that copies go through fastest: piece_bytes() of it, until it is released. Empty: all of it is
  /// in use. A failure: there is none.
  virtual Result<Buffer> piece() = 0;
  virtual std::uint64_t piece_bytes() const = 0;

  /// Returns how many completions were made.
  virtual int progress() = 0;
  /// Is there something that progress() has to look for? Nothing tells of its end.
  virtual bool is_busy() const = 0;
  /// Waits until all is done that was begun. Its completions are not made.
  virtual void finish() = 0;
  /// What was wrong with what failed last; "": nothing has.
  virtual const std::string& failure() const = 0;

  /// Whole pages of the host's, to and from which much will be copied: copies of GPUs whose memory is `near` go there
  /// and back without a piece in between from now on, where the driver allows it. They stay mapped as long as this
  /// lives. Costs some ms the first time.
  virtual void pin(std::span<std::byte> pages, Place near) = 0;
};
/// nullptr: this process has no memory but the host's.
using MakeDeviceMemory = std::function<std::unique_ptr<DeviceMemory>()>;

}  // namespace periapt::ucx
