// gpu_allreduce: sums of arrays of doubles in the memory of the PEs' GPUs, contributed by the members of a group and
// brought to all of them, in place; beside NCCL's allreduce, where that is and the run has one process and a GPU for
// each PE. A figure is the median of the time from one result to the next, on the PE where that is longest.
//
//   gpu_allreduce +p4                 one process
//   gpu_allreduce +p4 +ppn 1          four
//
// PE i uses GPU i, or i modulo how many there are. Prints a line for each size.
#include <algorithm>
#include <vector>

#include "bench/gpu/allreduce_rival.h"
#include "bench/gpu/must.h"
#include "gpu_allreduce.decl.h"
#include "machine/gpu/vendors.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Side sides;

namespace {

constexpr std::size_t largest = 64 << 20;

int gpus() { return static_cast<int>(periapt::gpu::first_driver()->gpus().size()); }

}  // namespace

class Main : public CBase_Main {
  CthThread thread_ = nullptr;
  double seconds_ = 0;

 public:
  explicit Main(CkArgMsg* args) {
    delete args;
    mainProxy = thisProxy;
    if (periapt::gpu::first_driver() == nullptr) {
      CkPrintf("SKIP: no driver of a GPU is in use (periapt-doctor)\n");
      CkExit(77);
      return;
    }
    sides = CProxy_Side::ckNew();
  }
  void ready() { thisProxy.run(); }
  void done(double seconds) {
    seconds_ = seconds;
    CthAwaken(thread_);
  }
  void run() {
    const bool with_rival = CkNumNodes() == 1 && CkNumPes() <= gpus();
    CkPrintf("%d PEs, %d processes, %d GPUs\n%12s %14s %14s\n", CkNumPes(), CkNumNodes(), gpus(), "bytes",
             "periapt, us", "NCCL, us");
    for (std::size_t bytes = 8; bytes <= largest; bytes *= 8) {
      const int rounds = static_cast<int>(std::clamp<std::size_t>((std::size_t{256} << 20) / bytes, 20, 500));
      sides.begin(static_cast<int>(bytes / sizeof(double)), rounds);
      thread_ = CthSelf();
      CthSuspend();
      const double rival = with_rival ? rival_seconds(CkNumPes(), bytes / sizeof(double), rounds) : 0;
      CkPrintf("%12zu %14.1f ", bytes, seconds_ * 1e6);
      CkPrintf(rival > 0 ? "%14.1f\n" : "             -\n", rival * 1e6);
    }
    CkExit();
  }
};

class Side : public CBase_Side {
  periapt::gpu::Driver& driver_ = *periapt::gpu::first_driver();
  double* x_;
  CUstream_st* stream_;
  int left_ = 0;
  double last_ = 0;
  std::vector<double> seconds_;

  void give(int n) {
    contribute(static_cast<std::size_t>(n) * sizeof(double), CkDeviceBuffer(x_, stream_), CkReduction::sum_double,
               CkCallback(CkReductionTarget(Side, sum), thisProxy));
  }

 public:
  Side() {
    const int gpu = CkMyPe() % gpus();
    x_ = reinterpret_cast<double*>(must(driver_.allocate(gpu, periapt::gpu::Kind::device, largest)));
    const auto stream = must(driver_.make_stream(gpu));
    stream_ = static_cast<CUstream_st*>(stream.native);
    // Sums of zeros: what grows without end would be infinite soon.
    static const std::vector<char> zeros(largest);
    if (!driver_.copy(stream, x_, zeros.data(), largest) || !driver_.finish(stream))
      CkAbort("the GPU cannot be written");
    contribute(CkCallback(CkReductionTarget(Main, ready), mainProxy));
  }
  void begin(int n, int rounds) {
    left_ = rounds + 2;
    seconds_.clear();
    last_ = CkWallTimer();
    give(n);
  }
  void sum(int&, double*& x, CkDeviceBufferPost* post) {
    x = x_;
    post[0].cuda_stream = stream_;
  }
  void sum(int n, double*) {
    const double now = CkWallTimer();
    seconds_.push_back(now - last_);
    last_ = now;
    if (--left_ != 0) return give(n);
    std::nth_element(seconds_.begin(), seconds_.begin() + static_cast<std::ptrdiff_t>(seconds_.size() / 2),
                     seconds_.end());
    contribute(sizeof(double), &seconds_[seconds_.size() / 2], CkReduction::max_double,
               CkCallback(CkReductionTarget(Main, done), mainProxy));
  }
};

#include "gpu_allreduce.def.h"
