#include "machine/gpu/vendors.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

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

// CUDA writes its digits in capitals, the kernel does not.
std::string folder_of(const Gpu& gpu, const std::string& of_all) {
  std::string name = gpu.pci;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return of_all + "/" + name;
}

std::vector<Driver*> drivers() {
  std::vector<Driver*> found;
  for (const Vendor& vendor : vendors()) {
    const Result<Driver*>& driver = vendor.driver();
    const bool in_use = driver.ok() && !driver.value()->gpus().empty();
    found.push_back(in_use ? driver.value() : nullptr);
  }
  return found;
}

Driver* first_driver() {
  for (Driver* driver : drivers()) {
    if (driver != nullptr) return driver;
  }
  return nullptr;
}

std::optional<OnGpu> gpu_of(const void* address) {
  for (Driver* driver : drivers()) {
    if (driver == nullptr) continue;
    const Result<Memory> found = driver->look(address);
    if (found && found->gpu >= 0) return OnGpu{driver, found->gpu};
  }
  return std::nullopt;
}

std::optional<OnGpu> chosen_gpu_of_thread() {
  Driver* const driver = first_driver();
  if (driver == nullptr) return std::nullopt;
  const Result<int> gpu = driver->gpu_of_stream(nullptr);
  return gpu && *gpu >= 0 ? std::optional(OnGpu{driver, *gpu}) : std::nullopt;
}

std::optional<OnGpu> gpu_of_thread() {
  if (auto chosen = chosen_gpu_of_thread()) return chosen;
  Driver* const driver = first_driver();
  return driver != nullptr ? std::optional(OnGpu{driver, 0}) : std::nullopt;
}

Status unknown_memory(const void* address) {
  char at[32];
  std::snprintf(at, sizeof(at), "%p", address);
  return Status::failure(std::string("no driver of a GPU knows the memory at ") + at +
                         " that was said to be a GPU's: it may have been freed");
}

const char* name_of(MemoryType kind) {
  constexpr const char* kNames[] = {"host", "pinned", "device", "managed", "pool", "vmm"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace periapt::gpu
