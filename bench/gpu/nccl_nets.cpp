// nccl_nets: NCCL between two GPUs of this host, over its own ways and over libnccl-net-periapt.so, in one run:
// allreduce, and an exchange by send and receive, of 8 B to 256 MB, verified byte for byte. Two processes, one GPU
// each; a pair of them for each way, since NCCL reads its environment once.
//
//   nccl_nets [PLUGIN]     PLUGIN: the library; without it the one of the build tree
//
// A figure is the median of the time from the call to the end of the stream. It ends within a minute: what has not been
// reached by then is missing in the table.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nccl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kSizes[] = {8, 256, 8 << 10, 128 << 10, 1 << 20, 8 << 20, 64 << 20, 256 << 20};
constexpr std::size_t kCount = std::size(kSizes), kLargest = kSizes[kCount - 1];
constexpr int kSeconds = 56, kSkipped = 77;

struct Way {
  const char* name;
  std::vector<std::pair<const char*, std::string>> environment;
};

std::vector<Way> ways(const std::string& plugin) {
  const auto over_a_net = [](std::vector<std::pair<const char*, std::string>> more) {
    more.insert(more.end(), {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}});
    return more;
  };
  const auto ours = [&](std::vector<std::pair<const char*, std::string>> more) {
    more.insert(more.end(), {{"NCCL_NET_PLUGIN", plugin}, {"NCCL_NET", "Periapt"}});
    return over_a_net(std::move(more));
  };
  return {
      {"NCCL, default (P2P)", {{"NCCL_NET_PLUGIN", "none"}}},
      {"NCCL, its socket net", over_a_net({{"NCCL_NET_PLUGIN", "none"}, {"NCCL_NET", "Socket"}})},
      {"periapt, shm", ours({})},
      {"periapt, shm, GPU memory", ours({{"NCCL_NET_GDR_LEVEL", "SYS"}})},
      {"periapt, tcp", ours({{"PERIAPT_NCCL_TRANSPORTS", "tcp"}})},
  };
}

/// What the processes share: made before any of them knows of CUDA.
struct Shared {
  std::atomic<int> arrived{0};
  std::atomic<int> rounds{0};
  ncclUniqueId id;
  double allreduce_us[kCount], exchange_us[kCount];  ///< 0: not reached
};

[[noreturn]] void give_up(int rank, const std::string& why) {
  std::printf("rank %d: %s\n", rank, why.c_str());
  std::fflush(nullptr);
  std::_Exit(1);
}

template <class F>
F function(const char* name) {
  static void* const library = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_GLOBAL);
  void* const found = library != nullptr ? ::dlsym(library, name) : nullptr;
  if (found == nullptr) give_up(-1, std::string("NCCL: ") + ::dlerror());
  return reinterpret_cast<F>(found);
}
#define NCCL(name) function<decltype(&name)>(#name)

class Rank {
 public:
  Rank(int number, Shared& shared) : number_(number), shared_(shared) {
    int gpus = 0;
    const cudaError_t counted = cudaGetDeviceCount(&gpus);
    if (counted != cudaSuccess || gpus < 2) {
      if (number == 0) {
        std::printf("skipped: two GPUs are needed, and %d are here: %s\n", gpus, cudaGetErrorString(counted));
        std::fflush(stdout);
      }
      std::_Exit(kSkipped);
    }
    cuda(cudaSetDevice(number), "cudaSetDevice");
    cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    cuda(cudaMalloc(&out_, kLargest), "cudaMalloc");
    cuda(cudaMalloc(&in_, kLargest), "cudaMalloc");
    cuda(cudaMallocHost(&host_, kLargest), "cudaMallocHost");
    if (number == 0) nccl(NCCL(ncclGetUniqueId)(&shared_.id), "ncclGetUniqueId");
    barrier();
    nccl(NCCL(ncclCommInitRank)(&comm_, 2, shared_.id, number), "ncclCommInitRank");
  }

  void measure() {
    for (std::size_t i = 0; i < kCount; ++i) {
      const double reduce = measure(kSizes[i], [&](std::size_t size) { reduce_all(size); });
      check(kSizes[i], [](std::uint32_t at) { return value(0, at) + value(1, at); });
      const double exchange = measure(kSizes[i], [&](std::size_t size) { this->exchange(size); });
      check(kSizes[i], [other = 1 - number_](std::uint32_t at) { return value(other, at); });
      if (number_ != 0) continue;
      shared_.allreduce_us[i] = reduce;
      shared_.exchange_us[i] = exchange;
    }
    nccl(NCCL(ncclCommDestroy)(comm_), "ncclCommDestroy");
  }

 private:
  static std::uint32_t value(int rank, std::uint32_t at) {
    return (at * 2654435761u) ^ (rank == 0 ? 0x5A5A'5A5Au : 0x1234'5678u);
  }
  void cuda(cudaError_t error, const char* what) const {
    if (error != cudaSuccess) give_up(number_, std::string(what) + ": " + cudaGetErrorString(error));
  }
  void nccl(ncclResult_t result, const char* what) const {
    if (result == ncclSuccess) return;
    give_up(number_,
            std::string(what) + ": " + NCCL(ncclGetErrorString)(result) + ": " + NCCL(ncclGetLastError)(comm_));
  }
  void finish() { cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }
  void barrier() {
    const int before = shared_.arrived++;
    while (shared_.arrived < (before / 2 + 1) * 2) ::usleep(50);
  }

  void reduce_all(std::size_t size) {
    static const auto allreduce = NCCL(ncclAllReduce);
    nccl(allreduce(out_, in_, size / 4, ncclUint32, ncclSum, comm_, stream_), "ncclAllReduce");
  }
  void exchange(std::size_t size) {
    static const auto start = NCCL(ncclGroupStart), end = NCCL(ncclGroupEnd);
    static const auto send = NCCL(ncclSend);
    static const auto receive = NCCL(ncclRecv);
    nccl(start(), "ncclGroupStart");
    nccl(send(out_, size / 4, ncclUint32, 1 - number_, comm_, stream_), "ncclSend");
    nccl(receive(in_, size / 4, ncclUint32, 1 - number_, comm_, stream_), "ncclRecv");
    nccl(end(), "ncclGroupEnd");
  }

  template <class Call>
  double measure(std::size_t size, Call call) {
    for (std::uint32_t i = 0; i < size / 4; ++i) host_[i] = value(number_, i);
    cuda(cudaMemcpy(out_, host_, size, cudaMemcpyHostToDevice), "cudaMemcpy");
    cuda(cudaMemset(in_, 0xEE, size), "cudaMemset");
    barrier();
    const auto time_us = [&] {
      const auto began = Clock::now();
      call(size);
      finish();
      return std::chrono::duration<double, std::micro>(Clock::now() - began).count();
    };
    for (int i = 0; i < 2; ++i) time_us();  // connects
    const double first = time_us();
    // For a quarter of a second, as the first rank says.
    if (number_ == 0) shared_.rounds = static_cast<int>(std::clamp(250'000 / first, 3.0, 200.0));
    barrier();
    std::vector<double> times;
    for (int i = shared_.rounds; i > 0; --i) times.push_back(time_us());
    barrier();
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    return times[times.size() / 2];
  }

  template <class Expected>
  void check(std::size_t size, Expected expected) {
    cuda(cudaMemcpy(host_, in_, size, cudaMemcpyDeviceToHost), "cudaMemcpy");
    for (std::uint32_t i = 0; i < size / 4; ++i) {
      if (host_[i] == expected(i)) continue;
      give_up(number_, std::to_string(size) + " bytes: WRONG CONTENTS from element " + std::to_string(i) + " on");
    }
  }

  const int number_;
  Shared& shared_;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
  std::uint32_t *out_ = nullptr, *in_ = nullptr, *host_ = nullptr;
};

volatile std::sig_atomic_t late = 0;

// The worse status of both ranks when they have ended; one that fails takes the other along.
int run(const Way& way, Shared& shared) {
  pid_t ranks[2];
  for (int number : {0, 1}) {
    ranks[number] = ::fork();
    if (ranks[number] != 0) continue;
    for (const auto& [name, value] : way.environment) ::setenv(name, value.c_str(), 1);
    for (const char* name : {"NCCL_SOCKET_IFNAME", "PERIAPT_NCCL_DEVICES"}) ::setenv(name, "lo", 0);
    ::setenv("NCCL_DEBUG", "WARN", 0);
    Rank(number, shared).measure();
    std::fflush(nullptr);
    std::_Exit(0);
  }
  int worst = 0;
  for (int left = 2; left > 0;) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended > 0) --left;
    if (ended > 0 ? status == 0 : !late) continue;
    worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    for (const pid_t rank : ranks) {
      if (rank != ended) ::kill(rank, SIGKILL);
    }
  }
  return late ? 1 : worst;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string plugin = argc > 1 ? argv[1] : PERIAPT_NCCL_NET;
  const std::vector<Way> all = ways(plugin);
  void* const memory =
      ::mmap(nullptr, sizeof(Shared) * all.size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const shared = static_cast<Shared*>(memory);
  struct sigaction action {};
  action.sa_handler = [](int) { late = 1; };
  ::sigaction(SIGALRM, &action, nullptr);  // without SA_RESTART: it ends waitpid()
  ::alarm(kSeconds);

  bool well = true;
  for (std::size_t i = 0; i < all.size() && !late; ++i) {
    const auto began = Clock::now();
    new (&shared[i]) Shared();
    const int status = run(all[i], shared[i]);
    if (status == kSkipped) return status;
    const bool ran = status == 0;
    well = well && ran;
    std::printf("%-26s %s, %.1f s\n", all[i].name,
                ran    ? "all contents verified"
                : late ? "was cut off"
                       : "FAILED",
                std::chrono::duration<double>(Clock::now() - began).count());
    std::fflush(stdout);
  }
  for (const bool reduces : {true, false}) {
    std::printf("\n%s, us (GB/s)\n%10s", reduces ? "allreduce" : "exchange (send and receive)", "bytes");
    for (const Way& way : all) std::printf(" %26s", way.name);
    std::printf("\n");
    for (std::size_t size = 0; size < kCount; ++size) {
      std::printf("%10zu", kSizes[size]);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const double us = (reduces ? shared[i].allreduce_us : shared[i].exchange_us)[size];
        char text[64] = "-";
        if (us > 0) std::snprintf(text, sizeof(text), "%.1f (%.2f)", us, static_cast<double>(kSizes[size]) / us / 1000);
        std::printf(" %26s", text);
      }
      std::printf("\n");
    }
  }
  return well && !late ? 0 : 1;
}
