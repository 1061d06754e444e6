// AMD's GPUs, by HIP's runtime library libamdhip64.so, which is their driver's interface.
#pragma once

#include "machine/gpu/vendor.h"

namespace periapt::gpu::hip {

/// Loaded once, where the kernel has AMD's driver. PERIAPT_LIBAMDHIP64 in the environment names another file than
/// libamdhip64.so.
const Result<Driver*>& driver();
/// Is there anything of it here, whether it works or not: the kernel's driver, or the library?
bool is_installed();

}  // namespace periapt::gpu::hip
