// The compiler of kernels that a vendor has as a library: NVRTC, hiprtc. Both have the same functions, under names that
// begin with the library's.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "machine/gpu/vendor.h"

namespace periapt::gpu {

struct RunTimeCompiler {
  std::string prefix;              ///< of its functions' names: "nvrtc"
  std::vector<std::string> files;  ///< the newest first
  const char* other;               ///< the variable in the environment that names another file
  std::string product;             ///< what is loaded of what it makes: nvrtcGetPTX
  std::string architecture;        ///< an option; empty: it finds it out
};

/// Loads the library. A failure says that there is none, or what the compiler has said.
Result<std::string> compile(const KernelCode& code, const RunTimeCompiler& compiler);

}  // namespace periapt::gpu
