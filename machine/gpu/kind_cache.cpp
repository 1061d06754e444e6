#include "machine/gpu/kind_cache.h"

namespace periapt::gpu {

Result<Memory> KindCache::look(const void* address) {
  Result<std::uint64_t> buffer = driver_.buffer_of(address);
  if (!buffer) return buffer.status();
  if (*buffer == 0) return Memory{};
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (auto next = ranges_.upper_bound(at); next != ranges_.begin()) {
    const Memory& known = std::prev(next)->second;
    if (known.buffer == *buffer && known.holds(at, 1)) {
      ++hits;
      return known;
    }
  }
  ++misses;
  Result<Memory> found = driver_.look(address);
  if (!found || found->buffer == 0) return found;
  if (const auto gpu = imports_ != nullptr ? imports_->opened_at(found->begin) : std::nullopt) {
    found->gpu = *gpu;
    found->imported = found->open = true;
  }
  remember(*found);
  return found;
}

void KindCache::remember(const Memory& memory) {
  if (ranges_.size() >= kMost) ranges_.clear();
  auto at = ranges_.lower_bound(memory.begin);
  if (at != ranges_.begin() && std::prev(at)->second.holds(memory.begin, 1)) --at;
  while (at != ranges_.end() && at->first < memory.begin + memory.size) at = ranges_.erase(at);
  // What a pool gives out anew may have the number of what it took back.
  if (memory.kind != MemoryType::pool) ranges_[memory.begin] = memory;
}

}  // namespace periapt::gpu
