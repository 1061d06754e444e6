// The kernel that packs and unpacks blocks (pack_kernel.inc), for both vendors: nvcc and hipcc compile it where the
// build finds them, else NVRTC and hiprtc when it is needed. It includes nothing of the system's.
#if defined(__HIP__) && !defined(__HIPCC_RTC__)
#include <hip/hip_runtime.h>
#endif
#define PERIAPT_ON_GPU __device__ inline

#include "machine/gpu/pack_orders.h"

namespace periapt::gpu {

PERIAPT_ON_GPU Word first_item() { return static_cast<Word>(blockIdx.x) * blockDim.x + threadIdx.x; }
PERIAPT_ON_GPU Word items_at_a_time() { return static_cast<Word>(gridDim.x) * blockDim.x; }
template <class Unit>
PERIAPT_ON_GPU Unit load_unit(Word from) {
  return *reinterpret_cast<const Unit*>(from);
}
template <class Unit>
PERIAPT_ON_GPU void store_unit(Word to, Unit unit) {
  *reinterpret_cast<Unit*>(to) = unit;
}

}  // namespace periapt::gpu

#include "machine/gpu/pack_kernel.inc"

extern "C" __global__ void __launch_bounds__(256) periapt_pack(periapt::gpu::PackOrders orders) {
  periapt::gpu::pack_run(orders);
}
