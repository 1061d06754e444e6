// The fake GPUs (fake/) in place of the system's, and what a test may set and see of them.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "tests/gpu/fake/faults.h"
#include "tests/loaded_function.h"

namespace periapt::fake_gpu {

/// To be made before a driver is asked for the first time: a global of the test.
struct InPlace {
  InPlace() {
    // Other tests that run meanwhile have other GPUs.
    const char* given = std::getenv("PERIAPT_FAKE_GPU");
    ::setenv("PERIAPT_FAKE_GPU", (std::string(given ? given : "") + ",salt=" + std::to_string(::getpid())).c_str(), 1);
    ::setenv("PERIAPT_LIBCUDA", PERIAPT_FAKE_CUDA, 1);
    ::setenv("PERIAPT_LIBAMDHIP64", PERIAPT_FAKE_HIP, 1);
    ::setenv("PERIAPT_LIBNVRTC", PERIAPT_FAKE_CUDA, 1);
    ::setenv("PERIAPT_LIBHIPRTC", PERIAPT_FAKE_HIP, 1);
  }
};

/// A function that the fake of that vendor has beside its driver's.
template <class Function>
Function* function(const std::string& vendor, const char* name) {
  return loaded_function<Function>(vendor == "cuda" ? PERIAPT_FAKE_CUDA : PERIAPT_FAKE_HIP, name, "fake driver");
}

inline Settings& settings(const std::string& vendor) {
  return *function<Settings*()>(vendor, "periapt_fake_gpu_settings")();
}

}  // namespace periapt::fake_gpu
