// Elements for which a GPU works, by the fake drivers, whose copies take a nanosecond a byte: what CkGpuTimer measures
// is in the records of balancing (check_load.py), is the load with +LBUseGpuTime, and goes along with an element that
// moves.
//
//   gpu_load [wander] [say] +p2 +balancer GreedyLB +LBUseGpuTime [+LBRecord FILE]
#include <string>
#include <vector>

#include "load.decl.h"
#include "machine/gpu/vendors.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ bool wanders;
/*readonly*/ bool says;

namespace {
constexpr int pieces = 16, working = 8;
constexpr std::uint64_t ms_of_bytes = 1'000'000;

periapt::gpu::Driver& driver() {
  for (periapt::gpu::Driver* const found : periapt::gpu::drivers())
    if (found) return *found;
  CkAbort("there is no driver");
}

// A GPU copies for so long, told by a timer.
void copy_for(int ms) {
  static thread_local periapt::gpu::Stream stream = *driver().make_stream(0);
  static thread_local std::byte* const from = *driver().allocate(0, periapt::gpu::MemoryType::device, 20 * ms_of_bytes);
  static thread_local std::byte* const to = *driver().allocate(0, periapt::gpu::MemoryType::device, 20 * ms_of_bytes);
  const std::uint64_t bytes = static_cast<std::uint64_t>(ms) * ms_of_bytes;
  const auto copy = [&] {
    if (!driver().copy(stream, to, from, bytes)) CkAbort("the fake does not copy");
  };
  copy();  // before the timer, and not counted
  if (std::string(driver().vendor()) == "cuda") {
    CkGpuTimer timer(static_cast<CUstream_st*>(stream.native));
    copy();
  } else {
    CkGpuTimer timer(static_cast<ihipStream_t*>(stream.native));
    copy();
    timer.stop();
    copy();
  }
  if (!driver().finish(stream)) CkAbort("the fake does not finish");
}
}  // namespace

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* args) {
    for (int i = 1; i < args->argc; ++i) {
      wanders |= std::string(args->argv[i]) == "wander";
      says |= std::string(args->argv[i]) == "say";
    }
    delete args;
    mainProxy = thisProxy;
    CProxy_Helper::ckNew();
    CProxy_Piece all = CProxy_Piece::ckNew(pieces);
    all.work();
  }
  void told(int n, double* ms) {
    std::string all;
    for (int pe = 0; pe < n; ++pe) all += " " + std::to_string(static_cast<int>(ms[pe]));
    CkPrintf("ms of GPUs by PE:%s\n", all.c_str());
    CkExit();
  }
};

class Helper : public CBase_Helper {
 public:
  Helper() { thisProxy[CkMyPe()].work(); }
  void work() { copy_for(3); }
};

class Piece : public CBase_Piece {
 public:
  Piece() {
    usesAtSync = true;
    usesAutoMeasure = !says;
  }
  explicit Piece(CkMigrateMessage*) {}
  void UserSetLBLoad() { setObjTime(0.5); }

  void work() {
    if (thisIndex < working) copy_for(thisIndex + 1);
    contribute(CkCallback(CkReductionTarget(Piece, again), thisProxy));  // all groups have worked when all have
  }
  void again() {
    if (wanders)
      thisProxy[thisIndex].wander();
    else
      AtSync();
  }
  void wander() {
    thisProxy[thisIndex].come();
    migrateMe((CkMyPe() + 1) % CkNumPes());
  }
  void come() { AtSync(); }
  void ResumeFromSync() {
    std::vector<double> ms(static_cast<std::size_t>(CkNumPes()));
    if (thisIndex < working) ms[static_cast<std::size_t>(CkMyPe())] = thisIndex + 1;
    contribute(ms, CkReduction::sum_double, CkCallback(CkReductionTarget(Main, told), mainProxy));
  }
};

#include "load.def.h"
