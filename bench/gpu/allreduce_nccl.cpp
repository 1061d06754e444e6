// NCCL's allreduce in place, and its allgather, by one thread for all GPUs of the process. The library is looked for
// when it is needed.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/gpu/allreduce_rival.h"

namespace {

void* library() {
  static void* const found = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_GLOBAL);
  return found;
}
#define NCCL(name) reinterpret_cast<decltype(&name)>(::dlsym(library(), #name))

void check(bool well, const char* what) {
  if (well) return;
  std::fprintf(stderr, "gpu_allreduce: %s failed\n", what);
  std::abort();
}
#define CHECK(call) check((call) == 0, #call)

struct Gpus {
  std::vector<ncclComm_t> communicators;
  std::vector<cudaStream_t> streams;
  std::vector<double*> memory, whole;

  explicit Gpus(int count) : communicators(static_cast<std::size_t>(count)) {
    CHECK(NCCL(ncclCommInitAll)(communicators.data(), count, nullptr));
    for (int gpu = 0; gpu < count; ++gpu) {
      CHECK(cudaSetDevice(gpu));
      CHECK(cudaStreamCreateWithFlags(&streams.emplace_back(), cudaStreamNonBlocking));
      memory.push_back(nullptr);
      whole.push_back(nullptr);
    }
  }
  void run(Collective collective, std::size_t count) {
    static const auto start = NCCL(ncclGroupStart), end = NCCL(ncclGroupEnd);
    static const auto allreduce = NCCL(ncclAllReduce);
    static const auto allgather = NCCL(ncclAllGather);
    CHECK(start());
    for (std::size_t i = 0; i < streams.size(); ++i)
      if (collective == Collective::allreduce)
        CHECK(allreduce(memory[i], memory[i], count, ncclDouble, ncclSum, communicators[i], streams[i]));
      else
        CHECK(allgather(memory[i], whole[i], count, ncclDouble, communicators[i], streams[i]));
    CHECK(end());
    for (cudaStream_t stream : streams) CHECK(cudaStreamSynchronize(stream));
  }
};

}  // namespace

double rival_seconds(Collective collective, int gpus, std::size_t count, int rounds) {
  int here = 0;
  if (library() == nullptr || cudaGetDeviceCount(&here) != cudaSuccess || here < gpus) return 0;
  static Gpus& all = *new Gpus(gpus);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaMalloc(&all.memory[static_cast<std::size_t>(gpu)], count * sizeof(double)));
    if (collective == Collective::allgather)
      CHECK(cudaMalloc(&all.whole[static_cast<std::size_t>(gpu)],
                       static_cast<std::size_t>(gpus) * count * sizeof(double)));
    CHECK(cudaMemset(all.memory[static_cast<std::size_t>(gpu)], 0, count * sizeof(double)));
  }
  std::vector<double> seconds;
  all.run(collective, count);  // connects
  for (int i = 0; i < rounds; ++i) {
    const auto began = std::chrono::steady_clock::now();
    all.run(collective, count);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  for (double* memory : all.memory) CHECK(cudaFree(memory));
  if (collective == Collective::allgather)
    for (double* whole : all.whole) CHECK(cudaFree(whole));
  std::nth_element(seconds.begin(), seconds.begin() + rounds / 2, seconds.end());
  return seconds[static_cast<std::size_t>(rounds / 2)];
}
