// See kernel_messages.h. For nvcc.
#include "bench/gpu/kernel_messages.h"
#include "examples/gpu/runtime.h"

namespace {

using periapt::gpu_example::check;

constexpr unsigned kWarm = 100;

__device__ unsigned long long now_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__global__ void pings(ck_kernel_port port, ck_kernel_counter counter, unsigned long long* reply, unsigned n,
                      unsigned long long* ns) {
  unsigned long long began = 0;
  for (unsigned long long i = 1; i <= n + kWarm; ++i) {
    if (i == kWarm + 1) began = now_ns();
    ck_device_send_waiting(port, &i, sizeof i);
    while (ck_far_load(reply) != i) {
    }
  }
  *ns = now_ns() - began;
  ck_device_signal(counter, 1);
}

__global__ void bare_pings(unsigned long long* word, unsigned long long* reply, unsigned n, unsigned long long* ns) {
  unsigned long long began = 0;
  for (unsigned long long i = 1; i <= n + kWarm; ++i) {
    if (i == kWarm + 1) began = now_ns();
    ck_far_store(word, i);
    while (ck_far_load(reply) != i) {
    }
  }
  *ns = now_ns() - began;
}

__global__ void flood(ck_kernel_port port, unsigned threads, unsigned messages, unsigned bytes) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= threads) return;
  unsigned long long data[128];
  for (unsigned i = 0; i < 128; ++i) data[i] = thread;
  for (unsigned i = 0; i < messages; ++i) ck_device_send_waiting(port, data, bytes);
}

__global__ void signals(ck_kernel_counter counter, unsigned threads, unsigned times) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned i = 0; thread < threads && i < times; ++i) ck_device_signal(counter, 1);
}

__global__ void nothing() {}

}  // namespace

void start_pings(ck_kernel_port port, ck_kernel_counter counter, unsigned long long* reply, unsigned n,
                 unsigned long long* ns) {
  pings<<<1, 1>>>(port, counter, reply, n, ns);
  check(GPU(GetLastError)(), "the kernel");
}
void start_bare_pings(unsigned long long* word, unsigned long long* reply, unsigned n, unsigned long long* ns) {
  bare_pings<<<1, 1>>>(word, reply, n, ns);
  check(GPU(GetLastError)(), "the kernel");
}
void start_flood(ck_kernel_port port, unsigned threads, unsigned messages, unsigned bytes) {
  flood<<<(threads + 127) / 128, 128>>>(port, threads, messages, bytes);
  check(GPU(GetLastError)(), "the kernel");
}
void start_signals(ck_kernel_counter counter, unsigned threads, unsigned times) {
  signals<<<(threads + 127) / 128, 128>>>(counter, threads, times);
  check(GPU(GetLastError)(), "the kernel");
}
void start_nothing(CUstream_st* stream) {
  nothing<<<1, 1, 0, stream>>>();
  check(GPU(GetLastError)(), "the kernel");
}
CUstream_st* make_stream() {
  GPU(Stream_t) stream;
  check(GPU(StreamCreate)(&stream), "a stream");
  return stream;
}
void* make_pinned(unsigned long bytes) {
  void* made = nullptr;
  check(GPU(MallocHost)(&made, bytes), "pinned memory");
  memset(made, 0, bytes);
  return made;
}
void finish(CUstream_st* stream) { check(GPU(StreamSynchronize)(stream), "the end of a stream"); }
const char* name_of_gpu() {
  static GpuProperties properties;
  return GPU(GetDeviceProperties)(&properties, 0) == GPU(Success) ? properties.name : nullptr;
}
