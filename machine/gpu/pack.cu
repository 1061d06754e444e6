// The kernel that packs and unpacks blocks (pack_kernel.inc), for both vendors: nvcc and hipcc compile it where the
// build finds them, else NVRTC and hiprtc when it is needed. It includes nothing of the system's.
#include "machine/gpu/items_on_gpu.inc"
#include "machine/gpu/pack_orders.h"
// Behind both, on which it stands.
#include "machine/gpu/pack_kernel.inc"

extern "C" __global__ void __launch_bounds__(256) periapt_pack(periapt::gpu::PackOrders orders) {
  periapt::gpu::pack_run(orders);
}
