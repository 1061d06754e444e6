// The courier (machine/gpu/courier_kernel.inc) in HIP's words. Compiled by hipcc where the build finds it, else by
// hiprtc when it is needed: it includes nothing of the system's.
#if !defined(__HIPCC_RTC__)
#include <hip/hip_runtime.h>
#endif
#define PERIAPT_ON_BOTH __host__ __device__
#define PERIAPT_ON_GPU __device__ inline

#include "machine/gpu/courier_board.h"

namespace periapt::gpu {

PERIAPT_ON_GPU unsigned lanes_of_warp() { return warpSize; }
PERIAPT_ON_GPU unsigned lane_number() { return threadIdx.x % warpSize; }
PERIAPT_ON_GPU unsigned warp_number() { return threadIdx.x / warpSize; }
PERIAPT_ON_GPU unsigned warps_of_block() { return blockDim.x / warpSize; }
PERIAPT_ON_GPU void wait_for_warp() { __builtin_amdgcn_wave_barrier(); __threadfence_block(); }
PERIAPT_ON_GPU void wait_for_block() { __syncthreads(); }
PERIAPT_ON_GPU void pass_time() {}
/// A counter of 100 MHz.
PERIAPT_ON_GPU Word time_ns() { return static_cast<Word>(wall_clock64()) * 10; }

// ---- within the warp and the block

template <class T>
PERIAPT_ON_GPU T same_in_warp(T value) {
  return __shfl(value, 0);
}
template <>
PERIAPT_ON_GPU bool same_in_warp(bool value) {
  return __shfl(static_cast<int>(value), 0) != 0;
}
template <class T>
PERIAPT_ON_GPU T read_shared(const T* at) {
  return __hip_atomic_load(at, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP);
}
template <class T>
PERIAPT_ON_GPU void write_shared(T* at, T value) {
  __hip_atomic_store(at, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
}
PERIAPT_ON_GPU void add_shared(unsigned* at, unsigned more) {
  __hip_atomic_fetch_add(at, more, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_WORKGROUP);
}
PERIAPT_ON_GPU bool replace_shared(Word* at, Word expected, Word value) {
  return __hip_atomic_compare_exchange_strong(at, &expected, value, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE,
                                              __HIP_MEMORY_SCOPE_WORKGROUP);
}
PERIAPT_ON_GPU bool take_shared(unsigned* at) {
  unsigned expected = 0;
  return __hip_atomic_compare_exchange_strong(at, &expected, 1u, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE,
                                              __HIP_MEMORY_SCOPE_WORKGROUP);
}

// ---- with the host, and other GPUs: nothing of it may come from a cache of this GPU's that has seen it before

PERIAPT_ON_GPU void fence_system() { __threadfence_system(); }
/// Before what was written to this GPU's own memory is told.
PERIAPT_ON_GPU void fence_near() { __threadfence_system(); }
PERIAPT_ON_GPU Word read_system(const Word* at) {
  return __hip_atomic_load(at, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
PERIAPT_ON_GPU void write_system(Word* at, Word value) {
  __hip_atomic_store(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
/// One read over the bus for the warp: a lane reads a word.
PERIAPT_ON_GPU CourierCommand read_command(const CourierCommand* at) {
  const Word word = read_system(reinterpret_cast<const Word*>(at) + lane_number() % 8);
  return {__shfl(word, 0),
          __shfl(word, 1),
          __shfl(word, 2),
          __shfl(word, 3),
          {__shfl(word, 4), __shfl(word, 5), __shfl(word, 6), __shfl(word, 7)}};
}

template <class Unit>
PERIAPT_ON_GPU Unit load_unit(Word from) {
  return __hip_atomic_load(reinterpret_cast<const Unit*>(from), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <>
PERIAPT_ON_GPU Unit16 load_unit<Unit16>(Word from) {
  return {load_unit<Word>(from), load_unit<Word>(from + 8)};
}
template <class Unit>
PERIAPT_ON_GPU void store_unit(Word to, Unit unit) {
  *reinterpret_cast<Unit*>(to) = unit;
}

PERIAPT_ON_GPU void write_answer(CourierAnswer* at, CourierAnswer answer) {
  write_system(&at->word, answer.word);
  write_system(&at->seal, answer.seal);
}

}  // namespace periapt::gpu

#include "machine/gpu/courier_kernel.inc"

extern "C" __global__ void __launch_bounds__(1024) periapt_courier(periapt::gpu::CourierOrders orders) {
  __shared__ periapt::gpu::CourierBlock block;
  periapt::gpu::courier_run(block, orders);
}
