#include "machine/gpu/vendors.h"

#include "machine/gpu/cuda/driver.h"
#include "machine/gpu/hip/driver.h"

namespace periapt::gpu {

const std::vector<Vendor>& vendors() {
  using ucx::MemoryKind;
  static const std::vector<Vendor> all = {
      {"cuda", "CUDA", &cuda::driver, &cuda::is_installed, MemoryKind::cuda, MemoryKind::cuda_managed},
      {"hip", "HIP", &hip::driver, &hip::is_installed, MemoryKind::hip, MemoryKind::hip_managed},
  };
  return all;
}

const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"host", "pinned", "device", "managed", "pool", "vmm"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace periapt::gpu
