// PeerMemory: how this process reaches the bytes of one other process: by loads and stores where they lie in a segment
// that is mapped here (or when the other worker is in this very process), else by process_vm_readv/writev, if a try has
// shown that the kernel, a container or a security module lets us.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/shm/channel.h"
#include "machine/shm/rendezvous.h"
#include "machine/shm/transfer.h"

namespace periapt::shm {

class PeerMemory {
 public:
  PeerMemory() = default;
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  void set_process(std::uint32_t process, bool same) {
    process_ = process;
    same_ = same;
  }
  /// Tries a copy of the cookie that the other worker has put at `address`. `allowed` false: don't even try.
  Copies try_copying(std::uint64_t address, std::uint64_t cookie, bool allowed);

  /// A segment of the other process, sent by it. False: it is no memory file of that size, or could not be mapped.
  bool add_segment(std::uint64_t id, std::uint64_t base, std::uint64_t size, File file);

  /// Where those bytes are here; nullptr: nowhere.
  std::byte* here(SegmentAddress there, std::uint64_t size) const {
    if (same_) return reinterpret_cast<std::byte*>(there.address);
    return there.segment == 0 ? nullptr : in_segment(there, size);
  }
  bool knows(std::uint64_t segment) const;
  bool can_reach(SegmentAddress there, std::uint64_t size) const { return copies_ || here(there, size) != nullptr; }
  bool copies() const { return copies_; }
  bool same_process() const { return same_; }

  /// False: they could not be copied (not reachable, not mapped over there, the process is gone).
  bool pull(void* to, SegmentAddress from, std::uint64_t size) const;
  bool push(SegmentAddress to, const void* from, std::uint64_t size) const;

 private:
  struct Mapped {
    std::uint64_t id, base, size;
    std::byte* here;
    bool ours;  ///< we unmap it
  };
  std::byte* in_segment(SegmentAddress there, std::uint64_t size) const;

  std::uint32_t process_ = 0;
  bool same_ = false;
  bool copies_ = false;
  std::vector<Mapped> segments_;
};

}  // namespace periapt::shm
