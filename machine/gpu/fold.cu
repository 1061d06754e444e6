// The kernel that combines arrays (fold_kernel.inc), for both vendors: nvcc and hipcc compile it where the
// build finds them, else NVRTC and hiprtc when it is needed. It includes nothing of the system's.
#include "machine/gpu/fold_orders.h"
#include "machine/gpu/items_on_gpu.inc"
// Behind both, on which it stands.
#include "machine/gpu/fold_kernel.inc"

extern "C" __global__ void __launch_bounds__(256) periapt_fold(periapt::gpu::FoldOrders orders) {
  periapt::gpu::fold_run(orders);
}
