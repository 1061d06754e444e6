// Kernels of ours as the build has them (CMakeLists.txt writes kernels_embedded.cpp). By the vendor's name: "cuda".
#pragma once

#include <string_view>

#include "machine/gpu/vendor.h"

namespace periapt::gpu {

inline constexpr const char *kCourierName = "periapt_courier", *kFoldName = "periapt_fold", *kPackName = "periapt_pack";
KernelCode courier_code(std::string_view vendor);
KernelCode fold_code(std::string_view vendor);
KernelCode pack_code(std::string_view vendor);

}  // namespace periapt::gpu
