// Registrations of one device: which memory it may use, each piece once.
//
// A user of registered memory acquires it; pieces that overlap are merged into one. What has no user any more is let go
// at once, or, when the limits say so (Limits::keep_registrations), kept until there are too many. Keeping is
// only right when the program says when memory goes away: invalidate(). Nothing here hooks malloc or munmap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>

#include "base/status.h"
#include "machine/ucx-like/transport.h"

namespace periapt::ucx {

struct Registration {
  MemoryHandle handle;
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

  /// Memory that covers [address, address + size), until release().
  Result<Registration*> acquire(std::byte* address, std::uint64_t size, MemoryKind kind);
  void release(Registration* registration);
  /// That memory goes away: what is kept of it is let go now, what is in use when its user ends.
  void invalidate(const std::byte* address, std::uint64_t size);

  std::size_t kept() const { return idle_.size(); }
  std::size_t listed() const { return by_begin_.size(); }

 private:
  using Map = std::map<std::uintptr_t, Registration*>;

  Map::iterator first_overlap(std::uintptr_t begin);
  void unlist(Map::iterator at);
  void drop(Registration* registration);

  Transport& transport_;
  const std::uint64_t kept_max_;
  Map by_begin_;                   ///< listed ones: disjoint
  std::list<Registration*> idle_;  ///< listed and unused, oldest first
};

}  // namespace periapt::ucx
