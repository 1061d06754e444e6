// gpu_allreduce: arrays of doubles in the memory of the PEs' GPUs, contributed by the members of a group: their sums,
// which are brought to all of them, in place; and all of them one behind the other, to other memory (allgather). Beside
// NCCL's allreduce and allgather, where those are and the run has one process and a GPU for each PE. A figure is the
// median of the time from one result to the next, on the PE where that is longest.
//
//   gpu_allreduce +p4                 one process
//   gpu_allreduce +p4 +ppn 1          four
//   gpu_allreduce allgather +p4       one of the two alone
//
// PE i uses GPU i, or i modulo how many there are. Prints a line for each size of what a member contributes.
#include <algorithm>
#include <string>
#include <vector>

#include "bench/gpu/allreduce_rival.h"
#include "bench/gpu/must.h"
#include "gpu_allreduce.decl.h"
#include "machine/gpu/vendors.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Side sides;

namespace {

constexpr std::size_t largest = 256 << 20;

int gpus() { return static_cast<int>(periapt::gpu::first_driver()->gpus().size()); }

}  // namespace

class Main : public CBase_Main {
  CthThread thread_ = nullptr;
  double seconds_ = 0;
  std::string alone_;

  void measure(const char* name, Collective collective) {
    if (!alone_.empty() && alone_ != name) return;
    const bool with_rival = CkNumNodes() == 1 && CkNumPes() <= gpus();
    CkPrintf("%s: %d PEs, %d processes, %d GPUs\n%12s %14s %14s\n", name, CkNumPes(), CkNumNodes(), gpus(), "bytes",
             "periapt, us", "NCCL, us");
    for (std::size_t bytes = 8; bytes <= largest; bytes *= 8) {
      const int rounds = static_cast<int>(std::clamp<std::size_t>((std::size_t{256} << 20) / bytes, 20, 500));
      sides.begin(collective == Collective::allgather, static_cast<int>(bytes / sizeof(double)), rounds);
      thread_ = CthSelf();
      CthSuspend();
      const double rival = with_rival ? rival_seconds(collective, CkNumPes(), bytes / sizeof(double), rounds) : 0;
      CkPrintf("%12zu %14.1f ", bytes, seconds_ * 1e6);
      CkPrintf(rival > 0 ? "%14.1f\n" : "             -\n", rival * 1e6);
    }
  }

 public:
  explicit Main(CkArgMsg* args) {
    if (args->argc > 1) alone_ = args->argv[1];
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
    measure("allreduce", Collective::allreduce);
    measure("allgather", Collective::allgather);
    CkExit();
  }
};

class Side : public CBase_Side {
  periapt::gpu::Driver& driver_ = *periapt::gpu::first_driver();
  double *x_, *whole_;
  CUstream_st* stream_;
  bool gathers_ = false;
  int left_ = 0;
  double last_ = 0;
  std::vector<double> seconds_;

  void give(int n) {
    contribute(static_cast<std::size_t>(n) * sizeof(double), CkDeviceBuffer(x_, stream_),
               gathers_ ? CkReduction::concat : CkReduction::sum_double,
               CkCallback(CkReductionTarget(Side, result), thisProxy));
  }

 public:
  Side() {
    const int gpu = CkMyPe() % gpus();
    x_ = reinterpret_cast<double*>(must(driver_.allocate(gpu, periapt::gpu::MemoryType::device, largest)));
    whole_ = reinterpret_cast<double*>(
        must(driver_.allocate(gpu, periapt::gpu::MemoryType::device, largest * static_cast<std::size_t>(CkNumPes()))));
    const auto stream = must(driver_.make_stream(gpu));
    stream_ = static_cast<CUstream_st*>(stream.native);
    // Sums of zeros: what grows without end would be infinite soon.
    static const std::vector<char> zeros(largest);
    if (!driver_.copy(stream, x_, zeros.data(), largest) || !driver_.finish(stream))
      CkAbort("the GPU cannot be written");
    contribute(CkCallback(CkReductionTarget(Main, ready), mainProxy));
  }
  void begin(bool gathers, int n, int rounds) {
    gathers_ = gathers;
    left_ = rounds + 2;
    seconds_.clear();
    last_ = CkWallTimer();
    give(n);
  }
  void result(int&, double*& x, CkDeviceBufferPost* post) {
    x = gathers_ ? whole_ : x_;
    post[0].cuda_stream = stream_;
  }
  void result(int n, double*) {
    const double now = CkWallTimer();
    seconds_.push_back(now - last_);
    last_ = now;
    if (--left_ != 0) return give(gathers_ ? n / CkNumPes() : n);
    std::nth_element(seconds_.begin(), seconds_.begin() + static_cast<std::ptrdiff_t>(seconds_.size() / 2),
                     seconds_.end());
    contribute(sizeof(double), &seconds_[seconds_.size() / 2], CkReduction::max_double,
               CkCallback(CkReductionTarget(Main, done), mainProxy));
  }
};

#include "gpu_allreduce.def.h"
