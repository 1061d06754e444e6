#include "machine/gpu/kernel_reach.h"

#include "machine/gpu/imports.h"

namespace periapt::gpu {

bool KernelReach::touches(const Memory& memory) {
  if (!memory.open) return false;
  if (memory.kind == MemoryType::pinned || memory.gpu == gpu_) return true;
  if (memory.kind != MemoryType::device) return false;
  const auto [known, is_new] = reached_.try_emplace(memory.gpu, false);
  if (is_new) known->second = driver_.reach(gpu_, memory.gpu).ok();
  return known->second;
}

bool KernelReach::touches(const void* address, std::uint64_t bytes, bool imported) {
  Result<Memory> found = kinds_.look(address);
  if (found && imported) {
    if (const auto gpu = Imports::of(driver_).opened_at(found->begin)) {
      found->gpu = *gpu;  // whatever the driver says
      found->open = true;
    }
    if (found->gpu != gpu_) return false;
  }
  return found && found->holds(reinterpret_cast<std::uintptr_t>(address), bytes) && touches(*found);
}

}  // namespace periapt::gpu
