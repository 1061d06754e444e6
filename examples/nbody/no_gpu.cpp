// In builds without a compiler for GPUs.
#include "examples/nbody/gpu_walk.h"

std::unique_ptr<periapt::nbody::GpuWalk> periapt::nbody::makeGpuWalk(std::string& whyNot) {
  whyNot =
      "this program was built without its kernels, as CMake found neither nvcc nor hipcc, or builds with a sanitizer";
  return nullptr;
}
