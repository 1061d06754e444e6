// gpu_chares: a nocopydevice array between two PEs, from the memory of one's GPU to that of the other's: one way, and
// how many bytes a second when several are under way, to one of them and both ways at once. The layout says by which
// way:
//
//   gpu_chares +p2                              one process
//   gpu_chares +p2 +ppn 1                       two, which map each other's memory
//   gpu_chares +p2 +ppn 1 +transports tcp       as if they were on two hosts
//   gpu_chares pool +p2 +ppn 1                  memory of pools (cudaMallocAsync), which other processes cannot map
//
// PE i uses GPU i, or i modulo how many there are. Prints a line for each size.
#include <algorithm>
#include <string>
#include <vector>

#include "bench/gpu/must.h"
#include "gpu_chares.decl.h"
#include "machine/gpu/vendors.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Side sides;

namespace {

constexpr std::size_t largest = 256 << 20;
constexpr int at_once = 4;

}  // namespace

class Main : public CBase_Main {
  CthThread thread_ = nullptr;
  double seconds_ = 0;
  int awaited_ = 0;

  // The longest of so many.
  double wait(int sides = 1) {
    awaited_ = sides;
    seconds_ = 0;
    thread_ = CthSelf();
    CthSuspend();
    return seconds_;
  }
  double gigabytes_a_second(std::size_t bytes, int count, bool both) {
    for (int side = 0; side <= int{both}; ++side) sides[side].large(static_cast<int>(bytes), count);
    return count / wait(both ? 2 : 1) * static_cast<double>(both ? 2 * bytes : bytes) / 1e9;
  }

 public:
  explicit Main(CkArgMsg* args) {
    const bool in_pools = args->argc > 1 && std::string(args->argv[1]) == "pool";
    delete args;
    mainProxy = thisProxy;
    if (periapt::gpu::first_driver() == nullptr || CkNumPes() != 2) {
      CkPrintf(CkNumPes() != 2 ? "gpu_chares wants +p2\n" : "SKIP: no driver of a GPU is in use (periapt-doctor)\n");
      CkExit(77);
      return;
    }
    sides = CProxy_Side::ckNew(in_pools);
  }
  void ready() { thisProxy.run(); }
  void done(double seconds) {
    seconds_ = std::max(seconds_, seconds);
    if (--awaited_ == 0) CthAwaken(thread_);
  }
  void run() {
    CkPrintf("%12s %12s %10s %16s\n", "bytes", "one way, us", "GB/s", "both ways, GB/s");
    for (std::size_t bytes = 8; bytes <= largest; bytes *= 4) {
      const int rounds = static_cast<int>(std::clamp<std::size_t>((std::size_t{1} << 30) / bytes, 20, 2000));
      std::vector<double> ways;
      for (int k = 0; k < 5; ++k) {
        sides[0].measure(static_cast<int>(bytes), rounds);
        ways.push_back(wait());
      }
      std::sort(ways.begin(), ways.end());
      double rate = 0, both = 0;
      if (bytes >= 32768) {
        const int count = static_cast<int>(std::clamp<std::size_t>((std::size_t{4} << 30) / bytes, 20, 2000));
        gigabytes_a_second(bytes, count, false);  // what is mapped for the first time
        rate = gigabytes_a_second(bytes, count, false);
        gigabytes_a_second(bytes, count, true);
        both = gigabytes_a_second(bytes, count, true);
      }
      CkPrintf("%12zu %12.2f %10.2f %16.2f\n", bytes, ways[2] / rounds / 2 * 1e6, rate, both);
    }
    CkExit();
  }
};

class Side : public CBase_Side {
  periapt::gpu::Driver& driver_ = *periapt::gpu::first_driver();
  char *out_, *in_;
  CUstream_st* stream_;
  int left_ = 0, to_send_ = 0, bytes_ = 0;
  double begun_ = 0;

 public:
  explicit Side(bool in_pools) {
    const auto kind = in_pools ? periapt::gpu::MemoryType::pool : periapt::gpu::MemoryType::device;
    const int gpu = CkMyPe() % static_cast<int>(driver_.gpus().size());
    out_ = reinterpret_cast<char*>(must(driver_.allocate(gpu, kind, largest)));
    in_ = reinterpret_cast<char*>(must(driver_.allocate(gpu, kind, largest)));
    stream_ = static_cast<CUstream_st*>(must(driver_.make_stream(gpu)).native);
    contribute(CkCallback(CkReductionTarget(Main, ready), mainProxy));
  }
  void measure(int bytes, int rounds) {
    left_ = rounds;
    begun_ = CkWallTimer();
    thisProxy[1].ping(bytes, CkDeviceBuffer(out_, stream_));
  }
  void ping(int, char*& x, CkDeviceBufferPost* post) {
    x = in_;
    post[0].cuda_stream = stream_;
  }
  void ping(int n, char*) {
    if (CkMyPe() == 0 && --left_ == 0) return mainProxy.done(CkWallTimer() - begun_);
    thisProxy[1 - CkMyPe()].ping(n, CkDeviceBuffer(out_, stream_));
  }

  void large(int n, int rounds) {
    left_ = to_send_ = rounds;
    bytes_ = n;
    begun_ = CkWallTimer();
    for (int i = 0; i < at_once; ++i) send();
  }
  void send() {
    if (to_send_-- > 0) thisProxy[1 - CkMyPe()].part(bytes_, CkDeviceBuffer(out_, stream_));
  }
  void part(int, char*& x, CkDeviceBufferPost* post) {
    x = in_;
    post[0].cuda_stream = stream_;
  }
  void part(int, char*) { thisProxy[1 - CkMyPe()].parted(); }
  void parted() {
    if (--left_ == 0) return mainProxy.done(CkWallTimer() - begun_);
    send();
  }
};

#include "gpu_chares.def.h"
