// Fences around what is measured in tens of nanoseconds: a processor reads its clock (platform::ticks()) long before
// loads that stand in front of it have brought anything.
#pragma once

#include "base/platform.h"

namespace periapt::platform {

/// What stands before this has been loaded when what stands behind it begins.
inline void all_loaded() {
#if defined(__x86_64__)
  __builtin_ia32_lfence();
#elif defined(__aarch64__)
  asm volatile("dsb ld\n\tisb" ::: "memory");
#endif
}
/// The same, and what was written before has left this core's store buffer.
inline void all_done() {
#if defined(__x86_64__)
  __builtin_ia32_mfence();
  __builtin_ia32_lfence();
#elif defined(__aarch64__)
  asm volatile("dsb sy\n\tisb" ::: "memory");
#endif
}

}  // namespace periapt::platform
