// Memory of this process's GPUs for the engine (machine/ucx-like/device_memory.h), over the drivers of all vendors that
// are in use here.
//
//   a copy between memory that a driver knows     is given to the driver
//   one from or to pageable memory of the host    goes through pinned pieces, several at a time
//   memory of other processes of this host        is mapped (imports.h), which is done once
#pragma once

#include <cstdint>
#include <memory>

#include "machine/gpu/couriers.h"
#include "machine/ucx-like/device_memory.h"

namespace periapt::gpu {

struct DeviceMemorySettings {
  std::uint64_t piece_bytes = 512 << 10;
  std::size_t pieces = 32;  ///< for what goes out to others, and as many for copies from and to pageable memory
  CourierUse courier = CourierUse::off;
  std::string pci_folder = "/sys/bus/pci/devices";  ///< where GPUs are by their numbers
  bool for_devices = true;  ///< adapters are given memory: not where kernels that run already read what comes
};

/// nullptr: no driver of a GPU is in use in this process. Loads them.
std::unique_ptr<ucx::DeviceMemory> make_device_memory(const DeviceMemorySettings& settings = {});
/// What makes it, later.
inline ucx::MakeDeviceMemory device_memory_maker(const DeviceMemorySettings& settings) {
  return [settings] { return make_device_memory(settings); };
}

/// What an address is, as the engine calls it; what no driver that has been loaded knows is the host's. Any thread.
ucx::MemoryKind kind_of(const void* address);

}  // namespace periapt::gpu
