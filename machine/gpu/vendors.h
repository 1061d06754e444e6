// The vendors whose GPUs are known. A new one: its folder, a line in vendors.cpp and one in CMakeLists.txt.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "machine/gpu/vendor.h"
#include "machine/ucx-like/transport.h"

namespace periapt::gpu {

struct Vendor {
  const char* name;   ///< "cuda"
  const char* title;  ///< for people: "CUDA"
  /// The process's driver, loaded and asked for its GPUs at the first call; or why it is not in use, and what to do.
  const Result<Driver*>& (*driver)();
  /// Is there anything of it here, whether it works or not: the kernel's driver, or the library?
  bool (*is_installed)();
  /// How the engine calls its memory.
  ucx::MemoryKind on_device, managed;
};

const std::vector<Vendor>& vendors();
/// Where it lies in /sys, for topology::distance_between().
std::string folder_of(const Gpu& gpu, const std::string& of_all = "/sys/bus/pci/devices");
/// The drivers that are in use in this process, by vendor; nullptr: that vendor's is not. Loads them.
std::vector<Driver*> drivers();
/// The first of them; nullptr: none is in use.
Driver* first_driver();
struct OnGpu {
  Driver* driver = nullptr;
  int gpu = -1;
};
/// Where memory lies; nullopt: on no GPU that is known here.
std::optional<OnGpu> gpu_of(const void* address);
/// The GPU that is the calling thread's, the first one if it has none; nullopt: no driver is in use.
std::optional<OnGpu> gpu_of_thread();
/// The same where the thread has chosen one; nullopt: it has not, and to use one would cost that GPU memory.
std::optional<OnGpu> chosen_gpu_of_thread();
/// What is said of memory that none of them knows.
Status unknown_memory(const void* address);

}  // namespace periapt::gpu
