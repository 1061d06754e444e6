// The runtime library of the GPU's vendor under one name, for what nvcc and hipcc compile alike:
// GPU(Malloc)(&memory, bytes) is cudaMalloc or hipMalloc, GPU(Stream_t) the stream of either.
#pragma once
#ifdef __HIPCC__
#include <hip/hip_runtime.h>

#include "charm++.h"
#define GPU(name) hip##name
using GpuProperties = hipDeviceProp_t;
#define PERIAPT_OF_WARP(name, ...) name(__VA_ARGS__)
#define PERIAPT_LANES 64
#else
#include <cuda_runtime.h>

#include "hapi.h"
#define GPU(name) cuda##name
using GpuProperties = cudaDeviceProp;
#define PERIAPT_OF_WARP(name, ...) name##_sync(0xffffffff, __VA_ARGS__)
#define PERIAPT_LANES 32
#endif

#include <string>

namespace periapt::gpu_example {

/// Ends the run with what the GPU's runtime says, unless all is well.
inline void check(GPU(Error_t) error, const char* call) {
  if (error != GPU(Success)) CkAbort("%s: %s", call, GPU(GetErrorString)(error));
}

/// "2 GPUs (NVIDIA H200)", for people.
inline std::string describe(int count) {
  GpuProperties first;
  check(GPU(GetDeviceProperties)(&first, 0), "the properties of a GPU");
  return std::to_string(count) + (count == 1 ? " GPU (" : " GPUs (") + first.name + ")";
}

/// How many GPUs this process may use; 0 with the reason.
inline int count(std::string& why_none) {
  int found = 0;
  const GPU(Error_t) error = GPU(GetDeviceCount)(&found);
  if (error == GPU(Success) && found > 0) return found;
  why_none = error == GPU(Success) ? "the driver shows none to this process" : GPU(GetErrorString)(error);
  return 0;
}

/// The callback is sent when the stream has done what it has been given so far.
inline void call_back(GPU(Stream_t) stream, const CkCallback& cb) {
#ifdef __HIPCC__
  send_when_reached(stream, cb, nullptr);
#else
  hapiAddCallback(stream, cb);
#endif
}

/// What `later` is given from now on begins when `earlier` has done what it has been given so far.
inline void follow(int gpu, GPU(Stream_t) later, GPU(Stream_t) earlier) {
  // A wait is for the record before it, so that one event of each GPU is enough.
  static thread_local GPU(Event_t) events[64] = {};
  GPU(Event_t)& event = events[gpu % 64];
  if (event == nullptr) check(GPU(EventCreateWithFlags)(&event, GPU(EventDisableTiming)), "an event");
  check(GPU(EventRecord)(event, earlier), "a record of an event");
  check(GPU(StreamWaitEvent)(later, event, 0), "a wait for an event");
}

// The threads of a warp, of which all must call these. (Of AMD's GPUs: those whose warps have 64.)
inline constexpr int lanes = PERIAPT_LANES;
template <class T>
__device__ T from_lane_below(T value, int by) {
  return PERIAPT_OF_WARP(__shfl_up, value, by);
}
template <class T>
__device__ T from_lane_above(T value, int by) {
  return PERIAPT_OF_WARP(__shfl_down, value, by);
}
template <class T>
__device__ T from_lane(T value, int lane) {
  return PERIAPT_OF_WARP(__shfl, value, lane);
}
/// What they have written to shared memory is seen by all of them.
__device__ inline void meet_lanes() {
#ifdef __HIPCC__
  __threadfence_block();
  __builtin_amdgcn_wave_barrier();
#else
  __syncwarp();
#endif
}

}  // namespace periapt::gpu_example
