// Segments: memory files of this process that other processes of the host may map, so that what lies in them can be
// read, written and handed over without copying it twice. A table of them, one a process, says where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "machine/host/heap.h"
#include "machine/ucx-like/buffer.h"

namespace periapt::shm {

/// A part of this process's addresses that a memory file backs.
struct Segment {
  std::uint64_t id = 0;  ///< in this process; never used again; 0: none
  std::byte* base = nullptr;
  std::uint64_t size = 0;
  int file = -1;            ///< the table's; for passing on
  std::uint64_t inode = 0;  ///< which file: the same for all that have it

  bool contains(const void* bytes, std::uint64_t count) const {
    std::uint64_t at = reinterpret_cast<std::uintptr_t>(bytes) - reinterpret_cast<std::uintptr_t>(base);
    return at < size && count <= size - at;
  }
};

/// The table. Any thread.
namespace segments {

/// The memory at `base` is backed by `file`, which is the table's from now on. Returns the id.
std::uint64_t add(std::byte* base, std::uint64_t size, int file);
void remove(std::uint64_t id);
std::vector<Segment> all();
/// Changes whenever the table does.
std::uint64_t version();

}  // namespace segments

/// A memory file of fixed size, mapped nowhere yet. `name` is for /proc/PID/maps.
Result<int> make_memory_file(const char* name, std::uint64_t bytes);
/// Maps a memory file wholly; nullptr with errno set.
std::byte* map_memory_file(int file, std::uint64_t bytes);
/// The same, for small files that two workers of this process may both have: one mapping for both, until the last lets
/// go of it. (Not only for economy: ThreadSanitizer knows memory by its address.)
using Mapping = std::shared_ptr<std::byte>;
Mapping share_memory_file(int file, std::uint64_t bytes);
/// Is it a memory file of that size which can't be made shorter under us?
bool is_fixed_memory_file(int file, std::uint64_t bytes);

/// Message memory in a segment of its own: a Heap (heap.h) that hands out Buffers. One thread. Lives on until the last
/// Buffer has come back.
class SharedPool {
 public:
  static Result<SharedPool*> create();
  /// Empty when `size` bytes are more than the pool can hold.
  ucx::Buffer allocate(std::uint64_t size);
  /// Instead of delete: the owner has no more use for it.
  void retire();

 private:
  SharedPool() = default;
  ~SharedPool();
  static void release(void* pool, void* bytes);

  std::byte* base_ = nullptr;
  std::uint64_t size_ = 0, segment_ = 0;
  host::ReturnStack returns_{};
  host::ReturnStack* stacks_[1] = {&returns_};
  std::unique_ptr<host::Heap> heap_;
  std::uint64_t live_ = 0;
  std::uint64_t allowance_ = 0;  ///< bytes that may be allocated before the heap is asked again how full it is
  bool retired_ = false;
};

}  // namespace periapt::shm
