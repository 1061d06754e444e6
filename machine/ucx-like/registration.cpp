#include "machine/ucx-like/registration.h"

#include <algorithm>

#include "base/log.h"

namespace periapt::ucx {
namespace {

constexpr std::size_t kAllocationsMost = 256;  ///< that are kept without a user
constexpr std::size_t kRefusedMost = 4096;     ///< numbers; beyond, all are forgotten and tried again

}  // namespace

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

Registration* Registrations::use_of(Registration* registration) {
  if (registration->uses++ == 0) idle_among(*registration).erase(registration->idle);
  return registration;
}

Registration* Registrations::enter(const MemoryHandle& handle, std::uint64_t allocation) {
  auto* made = new Registration{handle, allocation, 1, true, {}};
  by_begin_[made->begin()] = made;
  return made;
}

Result<Registration*> Registrations::acquire(std::byte* address, std::uint64_t size, MemoryKind kind) {
  if (kind != MemoryKind::host && device_memory_ != nullptr) return acquire_allocation({address, kind}, size);
  auto begin = reinterpret_cast<std::uintptr_t>(address);
  std::uintptr_t end = begin + size;
  auto at = first_overlap(begin);
  if (at != by_begin_.end() && at->second->begin() <= begin && end <= at->second->end() &&
      at->second->handle.kind == kind) {
    return use_of(at->second);
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
  return enter(*handle, 0);
}

// ---- memory of GPUs

Result<Registration*> Registrations::acquire_allocation(Place memory, std::uint64_t size) {
  Result<Allocation> found = device_memory_->allocation_of(memory, size);
  if (!found) return found.status();
  if (refused_.count(found->number) != 0) return Status::failure(refusal_);
  const auto begin = reinterpret_cast<std::uintptr_t>(found->begin);
  auto at = first_overlap(begin);
  if (at != by_begin_.end() && at->first == begin && at->second->allocation == found->number) return use_of(at->second);
  // What else is known of these addresses was freed.
  invalidate(found->begin, found->size);
  forget_freed();
  Result<MemoryHandle> handle = register_allocation(*found, memory.kind);
  if (!handle && forget_idle_allocations()) handle = register_allocation(*found, memory.kind);
  if (handle) {
    device_memory_->written_by_devices(*found);
    return enter(*handle, found->number);
  }
  if (refused_.size() >= kRefusedMost) refused_.clear();
  refused_.insert(found->number);
  if (refusal_.empty()) {
    refusal_ = handle.message();
    log::warn(transport_.device().transport + "/" + transport_.device().name +
              " does not reach memory of a GPU, which goes through the host's instead: " + refusal_);
  }
  return handle.status();
}

Result<MemoryHandle> Registrations::register_allocation(const Allocation& allocation, MemoryKind kind) {
  const Result<DmaBuf> shared = device_memory_->share(allocation);
  Result<MemoryHandle> handle =
      transport_.register_device_memory(allocation.begin, allocation.size, kind, shared ? &*shared : nullptr);
  if (handle || shared) return handle;
  return Status::failure(shared.message() + "; " + handle.message());
}

bool Registrations::is_there(const Registration& registration) {
  const Result<Allocation> now =
      device_memory_->allocation_of({registration.handle.address, registration.handle.kind}, 1);
  return now && now->number == registration.allocation;
}

void Registrations::forget_freed() {
  for (auto next = idle_allocations_.begin(); next != idle_allocations_.end();) {
    Registration* const registration = *next++;
    if (!is_there(*registration)) unlist(by_begin_.find(registration->begin()));
  }
}

// What is kept may be what the device has no room beside.
bool Registrations::forget_idle_allocations() {
  if (idle_allocations_.empty()) return false;
  while (!idle_allocations_.empty()) unlist(by_begin_.find(idle_allocations_.front()->begin()));
  return true;
}

void Registrations::release(Registration* registration) {
  if (--registration->uses != 0) return;
  if (!registration->listed) return drop(registration);
  std::list<Registration*>& idle = idle_among(*registration);
  registration->idle = idle.insert(idle.end(), registration);
  const std::uint64_t most = registration->allocation != 0 ? kAllocationsMost : kept_max_;
  while (idle.size() > most) unlist(by_begin_.find(idle.front()->begin()));
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
  idle_among(*registration).erase(registration->idle);
  drop(registration);
}

void Registrations::drop(Registration* registration) {
  transport_.deregister_memory(registration->handle);
  delete registration;
}

}  // namespace periapt::ucx
