// Which instruction set the inner loops run with.
#include <cstdlib>
#include <string_view>

#include "examples/nbody/kernels.h"

namespace periapt::nbody {

namespace base {
extern const Kernels kernels;
}
#ifdef PERIAPT_NBODY_X86
namespace avx2 {
extern const Kernels kernels;
}
namespace avx512 {
extern const Kernels kernels;
}
#endif

#ifdef PERIAPT_NBODY_X86
// x86-64-v3 and v4, of what the compilers that don't know these names by themselves can ask for.
static bool hasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2");
}
static bool hasAvx512() {
  return hasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

const Kernels* kernelsFor(const char* name) {
  const std::string_view wanted = name;
  if (wanted == "base") return &base::kernels;
#ifdef PERIAPT_NBODY_X86
  if (wanted == "avx2" && hasAvx2()) return &avx2::kernels;
  if (wanted == "avx512" && hasAvx512()) return &avx512::kernels;
#endif
  return nullptr;
}

const Kernels& kernels() {
  static const Kernels* const chosen = [] {
    if (const char* asked = std::getenv("PERIAPT_NBODY_SIMD")) {
      if (const Kernels* k = kernelsFor(asked)) return k;
    }
    for (const char* name : {"avx512", "avx2"}) {
      if (const Kernels* k = kernelsFor(name)) return k;
    }
    return &base::kernels;
  }();
  return *chosen;
}

}  // namespace periapt::nbody
