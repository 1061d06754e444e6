// Why a vendor's GPUs are not in use: each reason in a process of its own, since a driver is loaded once.
#include <gmock/gmock.h>

#include <cstdio>

#include "machine/gpu/vendors.h"
#include "tests/gpu/fake_gpu.h"

namespace periapt::gpu {
namespace {

/// Ends the process, printing why the driver of that place in the table is not in use.
[[noreturn]] void why_not(unsigned vendor, const char* settings) {
  const fake_gpu::InPlace in_place;
  ::setenv("PERIAPT_FAKE_GPU", settings, 1);
  const Result<Driver*>& driver = vendors()[vendor].driver();
  std::fprintf(stderr, "%s", driver ? "in use" : driver.message().c_str());
  std::_Exit(3);
}
[[noreturn]] void without_a_library(const char* file) {
  ::setenv("PERIAPT_LIBCUDA", file, 1);
  std::fprintf(stderr, "%s", vendors()[0].driver().message().c_str());
  std::_Exit(3);
}
[[noreturn]] void hidden() {
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  why_not(0, "gpus=2");
}
const auto kEnds = ::testing::ExitedWithCode(3);

TEST(NoGpu, AnOldDriverIsRefusedWithWhatIsNeeded) {
  EXPECT_EXIT(why_not(0, "version=10020"), kEnds,
              "is a driver for CUDA 10.2, and 11.4 is the oldest that is used; update");
  EXPECT_EXIT(why_not(1, "version=40500000"), kEnds, "is HIP 4.5, and 5.2 is the oldest that is used; update ROCm");
  EXPECT_EXIT(why_not(1, "version=50221153"), kEnds, "in use");
}

TEST(NoGpu, WhatTheDriverSaysAtItsStartIsTold) {
  EXPECT_EXIT(why_not(0, "init=100"), kEnds, "cuInit: no CUDA-capable device is detected; nvidia-smi says more");
  EXPECT_EXIT(why_not(1, "init=100"), kEnds, "hipInit: ");
}

TEST(NoGpu, ADriverWithoutGpusIsNotInUse) {
  EXPECT_EXIT(why_not(0, "gpus=0"), kEnds, "no GPU for this process: does CUDA_VISIBLE_DEVICES hide them.");
  EXPECT_EXIT(hidden(), kEnds, "no GPU for this process");
  EXPECT_EXIT(why_not(1, "gpus=0"), kEnds, "does HIP_VISIBLE_DEVICES hide them.");
}

TEST(NoGpu, ALibraryThatIsNotThereOrIsAnother) {
  EXPECT_EXIT(without_a_library("/nowhere/libcuda.so.1"), kEnds, "/nowhere/libcuda.so.1");
  EXPECT_EXIT(without_a_library(PERIAPT_FAKE_HIP), kEnds, "is no driver for CUDA: it lacks cuInit cuDriverGetVersion");
}

}  // namespace
}  // namespace periapt::gpu
