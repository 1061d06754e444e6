#include "machine/gpu/contents.h"

#include <algorithm>
#include <string>

#include "machine/gpu/vendors.h"

namespace periapt::gpu {

Result<Contents> Contents::at(const void* address, std::uint64_t bytes) {
  for (Driver* driver : drivers()) {
    if (driver == nullptr) continue;
    const Result<Memory> found = driver->look(address);
    if (!found) return found.status();
    if (found->kind == MemoryType::host) continue;
    if (!found->holds(reinterpret_cast<std::uintptr_t>(address), bytes)) {
      return Status::failure(std::to_string(bytes) + " bytes of an allocation of " + std::to_string(found->size));
    }
    return Contents(*driver, std::max(found->made_for, 0), found->kind,
                    static_cast<std::byte*>(const_cast<void*>(address)));
  }
  return unknown_memory(address);
}

Result<Contents> Contents::make(MemoryType kind, std::uint64_t bytes) {
  const std::optional<OnGpu> where = gpu_of_thread();
  if (!where) return Status::failure("no driver of a GPU is in use in this process (periapt-doctor says why)");
  const Result<std::byte*> made = where->driver->allocate(where->gpu, kind, bytes);
  if (!made) return made.status();
  return Contents(*where->driver, where->gpu, kind, *made);
}

Status Contents::read(void* to, std::uint64_t offset, std::uint64_t bytes) const {
  if (Status finished = driver_->finish_all(gpu_); !finished) return finished;
  return copy(to, begin_ + offset, bytes);
}

Status Contents::write(const void* from, std::uint64_t offset, std::uint64_t bytes) const {
  return copy(begin_ + offset, from, bytes);
}

Status Contents::copy(void* to, const void* from, std::uint64_t bytes) const {
  const Result<Stream> stream = driver_->make_stream(gpu_);
  if (!stream) return stream.status();
  Status copied = driver_->copy(*stream, to, from, bytes);
  if (copied) copied = driver_->finish(*stream);
  driver_->destroy(*stream);
  return copied;
}

}  // namespace periapt::gpu
