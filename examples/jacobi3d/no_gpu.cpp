// In builds without a compiler for GPUs.
#include "examples/gpu/no_kernels.h"
#include "examples/jacobi3d/device.h"

std::unique_ptr<periapt::jacobi3d::Device> periapt::jacobi3d::make_gpus(std::string& why_not) {
  why_not = gpu_example::why_no_kernels;
  return nullptr;
}
