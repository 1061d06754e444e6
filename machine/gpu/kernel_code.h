// Kernels of ours as the build has them (CMakeLists.txt writes kernels_embedded.cpp). By the vendor's name: "cuda".
#pragma once

#include <string_view>

#include "machine/gpu/vendor.h"

namespace periapt::gpu {

inline constexpr const char *kCourierName = "periapt_courier", *kFoldName = "periapt_fold", *kPackName = "periapt_pack";
KernelCode courier_code(std::string_view vendor);
KernelCode fold_code(std::string_view vendor);
KernelCode pack_code(std::string_view vendor);
/// The function of that name as that GPU runs it, loaded at the first call for it and kept until the process ends; or
/// why there is none. Any thread.
const Result<Kernel>& kernel_of(Driver& driver, int gpu, KernelCode (*code)(std::string_view vendor), const char* name);

}  // namespace periapt::gpu
