// The courier (machine/gpu/courier_kernel.inc) in CUDA's words, for compute capability 7.5 and later. Compiled by nvcc
// where the build finds it, else by NVRTC when it is needed: it includes nothing of the system's.
#define PERIAPT_ON_BOTH __host__ __device__
#define PERIAPT_ON_GPU __device__ inline

#include "machine/gpu/courier_board.h"

namespace periapt::gpu {

PERIAPT_ON_GPU unsigned lanes_of_warp() { return 32; }
PERIAPT_ON_GPU unsigned lane_number() { return threadIdx.x % 32; }
PERIAPT_ON_GPU unsigned warp_number() { return threadIdx.x / 32; }
PERIAPT_ON_GPU unsigned warps_of_block() { return blockDim.x / 32; }
PERIAPT_ON_GPU void wait_for_warp() { __syncwarp(); }
PERIAPT_ON_GPU void wait_for_block() { __syncthreads(); }
PERIAPT_ON_GPU void pass_time() {}
PERIAPT_ON_GPU Word time_ns() {
  Word ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

// ---- within the warp and the block

template <class T>
PERIAPT_ON_GPU T same_in_warp(T value) {
  return __shfl_sync(~0u, value, 0);
}
template <class T>
PERIAPT_ON_GPU T read_shared(const T* at) {
  const T value = *static_cast<const volatile T*>(at);
  __threadfence_block();
  return value;
}
template <class T>
PERIAPT_ON_GPU void write_shared(T* at, T value) {
  __threadfence_block();
  *static_cast<volatile T*>(at) = value;
}
PERIAPT_ON_GPU void add_shared(unsigned* at, unsigned more) {
  __threadfence_block();
  atomicAdd_block(at, more);
}
PERIAPT_ON_GPU bool replace_shared(Word* at, Word expected, Word value) {
  return atomicCAS_block(at, expected, value) == expected;
}
PERIAPT_ON_GPU bool take_shared(unsigned* at) {
  const bool taken = atomicCAS_block(at, 0u, 1u) == 0;
  __threadfence_block();
  return taken;
}

// ---- with the host, and other GPUs: nothing of it may come from a cache of this GPU's that has seen it before

PERIAPT_ON_GPU void fence_system() { __threadfence_system(); }
/// Before what was written to this GPU's own memory is told: it is in the cache through which all go that read that
/// memory, whatever they are. A fence for the system waits for the bus, too, a microsecond more.
PERIAPT_ON_GPU void fence_near() { __threadfence(); }
PERIAPT_ON_GPU Word read_system(const Word* at) {
  Word value;
  asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}
PERIAPT_ON_GPU void write_system(Word* at, Word value) {
  asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}
/// One read over the bus for the warp: a lane reads a word.
PERIAPT_ON_GPU CourierCommand read_command(const CourierCommand* at) {
  const Word word = read_system(reinterpret_cast<const Word*>(at) + lane_number() % 8);
  return {__shfl_sync(~0u, word, 0),
          __shfl_sync(~0u, word, 1),
          __shfl_sync(~0u, word, 2),
          __shfl_sync(~0u, word, 3),
          {__shfl_sync(~0u, word, 4), __shfl_sync(~0u, word, 5), __shfl_sync(~0u, word, 6), __shfl_sync(~0u, word, 7)}};
}

template <class Unit>
PERIAPT_ON_GPU Unit load_unit(Word from);
template <>
PERIAPT_ON_GPU Unit16 load_unit<Unit16>(Word from) {
  Unit16 unit;
  asm volatile("ld.relaxed.sys.v2.u64 {%0, %1}, [%2];" : "=l"(unit.low), "=l"(unit.high) : "l"(from) : "memory");
  return unit;
}
template <>
PERIAPT_ON_GPU Unit8 load_unit<Unit8>(Word from) {
  return read_system(reinterpret_cast<const Word*>(from));
}
template <>
PERIAPT_ON_GPU Unit4 load_unit<Unit4>(Word from) {
  Unit4 unit;
  asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(unit) : "l"(from) : "memory");
  return unit;
}
template <>
PERIAPT_ON_GPU Unit1 load_unit<Unit1>(Word from) {
  unsigned short unit;
  asm volatile("ld.relaxed.sys.u8 %0, [%1];" : "=h"(unit) : "l"(from) : "memory");
  return static_cast<Unit1>(unit);
}
template <class Unit>
PERIAPT_ON_GPU void store_unit(Word to, Unit unit) {
  *reinterpret_cast<Unit*>(to) = unit;
}
template <>
PERIAPT_ON_GPU void store_unit<Unit16>(Word to, Unit16 unit) {
  asm volatile("st.relaxed.sys.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(unit.low), "l"(unit.high) : "memory");
}

PERIAPT_ON_GPU void write_answer(CourierAnswer* at, CourierAnswer answer) {
  store_unit<Unit16>(reinterpret_cast<Word>(at), {answer.word, answer.seal});
}

}  // namespace periapt::gpu

#include "machine/gpu/courier_kernel.inc"

extern "C" __global__ void __launch_bounds__(1024) periapt_courier(periapt::gpu::CourierOrders orders) {
  __shared__ periapt::gpu::CourierBlock block;
  periapt::gpu::courier_run(block, orders);
}
