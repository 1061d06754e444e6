// In builds without a compiler for GPUs.
#include "examples/gpu/no_kernels.h"
#include "examples/nbody/gpu_walk.h"

std::unique_ptr<periapt::nbody::GpuWalk> periapt::nbody::makeGpuWalk(std::string& whyNot) {
  whyNot = gpu_example::why_no_kernels;
  return nullptr;
}
