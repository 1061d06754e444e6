// Registrations of one device: which memory it may use, each piece once.
//
// A user of registered memory acquires it; pieces that overlap are merged into one. What has no user any more is let go
// at once, or, when the limits say so (Limits::keep_registrations), kept until there are too many. Keeping is
// only right when the program says when memory goes away: invalidate(). Nothing here hooks malloc or munmap.
//
// Memory of GPUs is registered by the allocation, and kept in any case: its driver numbers allocations, and one whose
// number is no longer there has been freed. What is registered stays in use on the GPU, so forget_freed() is to be
// called now and then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <string>

#include "base/status.h"
#include "machine/ucx-like/device_memory.h"
#include "machine/ucx-like/transport.h"

namespace periapt::ucx {

struct Registration {
  MemoryHandle handle;
  std::uint64_t allocation = 0;  ///< its number; 0: memory of the host
  unsigned uses = 0;
  bool listed = true;  ///< found when it is looked for; else it goes when its last user does
  std::list<Registration*>::iterator idle;

  std::uintptr_t begin() const { return reinterpret_cast<std::uintptr_t>(handle.address); }
  std::uintptr_t end() const { return begin() + handle.size; }
};

class Registrations {
 public:
  Registrations(Transport& transport, std::uint64_t kept_max) : transport_(transport), kept_max_(kept_max) {}
  Registrations(const Registrations&) = delete;
  Registrations& operator=(const Registrations&) = delete;
  ~Registrations();

  /// What knows the memory of GPUs; it lives as long as this.
  void use(DeviceMemory& memory) { device_memory_ = &memory; }

  /// Memory that covers [address, address + size), until release().
  Result<Registration*> acquire(std::byte* address, std::uint64_t size, MemoryKind kind);
  void release(Registration* registration);
  /// That memory goes away: what is kept of it is let go now, what is in use when its user ends.
  void invalidate(const std::byte* address, std::uint64_t size);
  /// Lets go of what is kept of GPUs' memory that is no longer there.
  void forget_freed();

  /// Why the device could not register memory of a GPU, the first time; "": it always could.
  const std::string& refusal() const { return refusal_; }
  std::size_t kept() const { return idle_.size(); }
  std::size_t listed() const { return by_begin_.size(); }

 private:
  using Map = std::map<std::uintptr_t, Registration*>;

  Result<Registration*> acquire_allocation(Place memory, std::uint64_t size);
  Result<MemoryHandle> register_allocation(const Allocation& allocation, MemoryKind kind);
  Registration* use_of(Registration* registration);
  Registration* enter(const MemoryHandle& handle, std::uint64_t allocation);
  bool is_there(const Registration& registration);
  bool forget_idle_allocations();
  std::list<Registration*>& idle_among(const Registration& registration) {
    return registration.allocation != 0 ? idle_allocations_ : idle_;
  }
  Map::iterator first_overlap(std::uintptr_t begin);
  void unlist(Map::iterator at);
  void drop(Registration* registration);

  Transport& transport_;
  const std::uint64_t kept_max_;
  Map by_begin_;                   ///< listed ones: disjoint
  std::list<Registration*> idle_;  ///< listed and unused, oldest first
  DeviceMemory* device_memory_ = nullptr;
  std::list<Registration*> idle_allocations_;  ///< the same, of GPUs
  std::set<std::uint64_t> refused_;            ///< allocations that the device could not register
  std::string refusal_;
};

}  // namespace periapt::ucx
