// NVIDIA's driver, by its own library libcuda.so.1; the CUDA runtime is not used, so that programs may bring any.
#pragma once

#include "machine/gpu/vendor.h"

namespace periapt::gpu::cuda {

/// Loaded once. PERIAPT_LIBCUDA in the environment names another file than libcuda.so.1.
const Result<Driver*>& driver();
/// Is there anything of it here, whether it works or not: the kernel's driver, or the library?
bool is_installed();

}  // namespace periapt::gpu::cuda
