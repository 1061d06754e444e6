// Arena: the memory of a host's PEs, mapped at the same address in every process of the run, so that a pointer into it
// means the same everywhere and a message of any size changes owner by passing a pointer.
//
//   base                          base + slice_bytes
//   | host page: words of the run | slice of PE 0: inbox, rings, heap | slice of PE 1 | ...
//
// A run of several processes backs it with sealed, sparse memfds, one a process, mapped before the processes are
// forked, or handed to processes that a launcher started (machine/layer/shm_handshake.h); they have no name, so nothing
// is left behind, whichever process dies. A run of one process uses private memory, whose pages are cheaper to touch
// first. Address space is reserved generously and costs nothing until it is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"

namespace periapt::host {

/// What a process that was not forked from the arena's maker needs in order to map it too.
struct ArenaFiles {
  std::uint64_t base = 0;
  std::uint64_t slice_bytes = 0;
  std::vector<int> files;  ///< one for each process, in order; the holder of this closes them
};

class Arena {
 public:
  /// Maps memory for PEs 0 .. pes-1. `process_of[pe]` says which process's memory file backs a PE's slice; one process
  /// only: private memory. Fails with the limit that stands in the way and the command that lifts it.
  static Result<Arena> map(const std::vector<int>& process_of);

  /// Shared in any case, and to be joined by others; `files` gets what they need.
  static Result<Arena> create(const std::vector<int>& process_of, ArenaFiles& files);
  /// Maps what another process created, at the same address.
  static Result<Arena> join(const std::vector<int>& process_of, const ArenaFiles& files);

  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  std::byte* host_page() const { return base_; }
  static constexpr std::size_t kHostBytes = std::size_t{1} << 20;

  std::byte* slice(int pe) const { return base_ + kHostBytes + static_cast<std::size_t>(pe) * slice_bytes_; }
  std::size_t slice_bytes() const { return slice_bytes_; }
  int pes() const { return pes_; }
  bool shared() const { return shared_; }

  bool contains(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(base_) < bytes_;
  }
  /// The PE in whose slice the address lies; it must be in one.
  int pe_of(const void* address) const {
    return static_cast<int>((static_cast<const std::byte*>(address) - base_ - kHostBytes) / slice_bytes_);
  }

 private:
  Arena() = default;
  static Result<Arena> reserve(const std::vector<int>& process_of, bool shared);
  Status map_files(const std::vector<int>& process_of, const std::vector<int>& files);

  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t slice_bytes_ = 0;
  int pes_ = 0;
  bool shared_ = false;
};

/// Gives the pages wholly inside [bytes, bytes + size) back to the system; they read as zero afterwards.
void discard_pages(void* bytes, std::size_t size, bool shared);

/// Makes the pages of [bytes, bytes + size) present in one call, several times cheaper than a fault for each.
/// A hint: failing costs speed only.
void populate_pages(void* bytes, std::size_t size);

}  // namespace periapt::host
