// The courier's kernel as the build has it (CMakeLists.txt writes courier_code.cpp).
#pragma once

#include <string_view>

#include "machine/gpu/vendor.h"

namespace periapt::gpu {

inline constexpr const char* kCourierName = "periapt_courier";
/// By the vendor's name: "cuda".
KernelCode courier_code(std::string_view vendor);

}  // namespace periapt::gpu
