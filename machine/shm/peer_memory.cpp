#include "machine/shm/peer_memory.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "machine/host/process_copy.h"
#include "machine/shm/segment.h"

namespace periapt::shm {

PeerMemory::~PeerMemory() {
  for (const Mapped& segment : segments_) {
    if (segment.ours) ::munmap(segment.here, segment.size);
  }
}

Copies PeerMemory::try_copying(std::uint64_t address, std::uint64_t cookie, bool allowed) {
  std::uint64_t found = 0;
  copies_ = allowed && process_ != 0 && host::copy_from_process(process_, &found, address, sizeof(found)) == 0 &&
            found == cookie;
  return copies_ ? Copies::work : Copies::forbidden;
}

bool PeerMemory::add_segment(std::uint64_t id, std::uint64_t base, std::uint64_t size, File file) {
  if (id == 0 || size == 0 || !is_fixed_memory_file(file.get(), size)) return false;
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return false;
  for (const Segment& mine : segments::all()) {  // a parent mapped it for both of us
    if (mine.inode != status.st_ino || mine.size != size) continue;
    segments_.push_back({id, base, size, mine.base, false});
    return true;
  }
  std::byte* here = map_memory_file(file.get(), size);
  if (here == nullptr) return false;
  segments_.push_back({id, base, size, here, true});
  return true;
}

bool PeerMemory::knows(std::uint64_t segment) const {
  for (const Mapped& mapped : segments_) {
    if (mapped.id == segment) return true;
  }
  return false;
}

std::byte* PeerMemory::in_segment(SegmentAddress there, std::uint64_t size) const {
  for (const Mapped& segment : segments_) {
    if (segment.id != there.segment) continue;
    std::uint64_t at = there.address - segment.base;
    return at < segment.size && size <= segment.size - at ? segment.here + at : nullptr;
  }
  return nullptr;
}

bool PeerMemory::pull(void* to, SegmentAddress from, std::uint64_t size) const {
  if (const std::byte* bytes = here(from, size)) {
    std::memcpy(to, bytes, size);
    return true;
  }
  return copies_ && host::copy_from_process(process_, to, from.address, size) == 0;
}

bool PeerMemory::push(SegmentAddress to, const void* from, std::uint64_t size) const {
  if (std::byte* bytes = here(to, size)) {
    std::memcpy(bytes, from, size);
    return true;
  }
  return copies_ && host::copy_to_process(process_, to.address, from, size) == 0;
}

}  // namespace periapt::shm
