// PERIAPT_BOTH stands before functions that run on GPUs too, where a compiler for those reads them: what a kernel does
// to one item is so tested on the host.
#pragma once
#if defined(__CUDACC__) || defined(__HIPCC__)
#define PERIAPT_BOTH __host__ __device__
#else
#define PERIAPT_BOTH
#endif

#ifdef __CUDA_ARCH__
#define PERIAPT_ON_DEVICE(there, here) there
#elif defined(__HIP_DEVICE_COMPILE__)
#define PERIAPT_ON_DEVICE(there, here) there
#else
#define PERIAPT_ON_DEVICE(there, here) here
#endif

namespace periapt::gpu_example {

/// A product that is rounded before anything is added to it, on GPUs too: so that both sides decide alike.
PERIAPT_BOTH inline float product(float a, float b) { return PERIAPT_ON_DEVICE(__fmul_rn(a, b), a * b); }
/// 1/sqrt(x), to some 1e-7. Infinite for x = 0.
PERIAPT_BOTH inline float reciprocal_sqrt(float x) { return PERIAPT_ON_DEVICE(rsqrtf(x), 1 / __builtin_sqrtf(x)); }

}  // namespace periapt::gpu_example
