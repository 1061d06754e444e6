// In place of kernel_sends.cu, where there is no compiler for GPUs.
#include "examples/gpu/no_kernels.h"
#include "tests/gpu/kernel_sends.h"

const char* start_on_gpu(int, const KernelOrders&) { return periapt::gpu_example::why_no_kernels; }
