// What a program says that has been built without a compiler for GPUs.
#pragma once

namespace periapt::gpu_example {

inline constexpr const char* why_no_kernels =
    "this program was built without its kernels, as CMake found neither nvcc nor hipcc, or builds with a sanitizer";

}  // namespace periapt::gpu_example
