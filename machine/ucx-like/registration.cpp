#include "machine/ucx-like/registration.h"

#include <algorithm>

namespace periapt::ucx {

Registrations::~Registrations() {
  for (auto& [begin, registration] : by_begin_) {
    transport_.deregister_memory(registration->handle);
    delete registration;
  }
}

// The listed ones are disjoint: only the one that begins before can reach into what begins at `begin`.
Registrations::Map::iterator Registrations::first_overlap(std::uintptr_t begin) {
  auto at = by_begin_.upper_bound(begin);
  if (at == by_begin_.begin()) return at;
  auto before = std::prev(at);
  return before->second->end() > begin ? before : at;
}

Result<Registration*> Registrations::acquire(std::byte* address, std::uint64_t size, MemoryKind kind) {
  auto begin = reinterpret_cast<std::uintptr_t>(address);
  std::uintptr_t end = begin + size;
  auto at = first_overlap(begin);
  if (at != by_begin_.end() && at->second->begin() <= begin && end <= at->second->end() &&
      at->second->handle.kind == kind) {
    Registration* found = at->second;
    if (found->uses++ == 0) idle_.erase(found->idle);
    return found;
  }
  // What it overlaps becomes part of it, unless that memory has gone in the meantime.
  std::uintptr_t from = begin, to = end;
  while (at != by_begin_.end() && at->second->begin() < end) {
    from = std::min(from, at->second->begin());
    to = std::max(to, at->second->end());
    auto next = std::next(at);
    unlist(at);
    at = next;
  }
  Result<MemoryHandle> handle = transport_.register_memory(reinterpret_cast<std::byte*>(from), to - from, kind);
  if (!handle.ok() && (from != begin || to != end)) handle = transport_.register_memory(address, size, kind);
  if (!handle.ok()) return handle.status();
  auto* made = new Registration{*handle, 1, true, {}};
  by_begin_[made->begin()] = made;
  return made;
}

void Registrations::release(Registration* registration) {
  if (--registration->uses != 0) return;
  if (!registration->listed) return drop(registration);
  registration->idle = idle_.insert(idle_.end(), registration);
  while (idle_.size() > kept_max_) unlist(by_begin_.find(idle_.front()->begin()));
}

void Registrations::invalidate(const std::byte* address, std::uint64_t size) {
  auto begin = reinterpret_cast<std::uintptr_t>(address);
  for (auto at = first_overlap(begin); at != by_begin_.end() && at->second->begin() < begin + size;) {
    auto next = std::next(at);
    unlist(at);
    at = next;
  }
}

void Registrations::unlist(Map::iterator at) {
  Registration* registration = at->second;
  by_begin_.erase(at);
  registration->listed = false;
  if (registration->uses != 0) return;
  idle_.erase(registration->idle);
  drop(registration);
}

void Registrations::drop(Registration* registration) {
  transport_.deregister_memory(registration->handle);
  delete registration;
}

}  // namespace periapt::ucx
