// How many calls of the driver a small message from GPU to GPU costs, all processes together, once everything that it
// needs has been made: counted by the fake driver (fake/cuda.cpp), which the run is to have.
//
//   gpu_calls [default] ...     default: by the thread's default stream, else by one of the program's
#include <algorithm>
#include <climits>
#include <string>
#include <utility>

#include "calls.decl.h"
#include "machine/gpu/vendors.h"
#include "tests/gpu/driver_function.h"
#include "tests/gpu/fake/faults.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Side sides;

namespace {

constexpr int kWarm = 40, kBatches = 5, kMessages = 2, kBytes = 64;

periapt::gpu::Driver& driver() { return *periapt::gpu::vendors()[0].driver().value(); }
template <class T>
T must(periapt::Result<T> result) {
  if (!result) CkAbort("%s", result.message().c_str());
  return *result;
}
long calls() {
  static auto* const settings = driver_function<periapt::fake_gpu::Settings*()>("periapt_fake_gpu_settings");
  return __atomic_load_n(&settings()->calls, __ATOMIC_RELAXED);
}

}  // namespace

class Main : public CBase_Main {
  int marks_ = 0, fewest_ = INT_MAX;

 public:
  explicit Main(CkArgMsg* args) {
    mainProxy = thisProxy;
    sides = CProxy_Side::ckNew(args->argc < 2 || std::string(args->argv[1]) != "default");
    delete args;
    sides[0].play(kWarm);
  }
  void played() { sides.mark(); }
  void marked(int calls) {
    if (++marks_ > 1) fewest_ = std::min(fewest_, calls);
    if (marks_ <= kBatches) return sides[0].play(kMessages);
    CkPrintf("%.1f calls a message\n", static_cast<double>(fewest_) / kMessages);
    CkExit();
  }
};

class Side : public CBase_Side {
  char *out_ = nullptr, *in_ = nullptr;
  CUstream_st* stream_ = nullptr;
  const bool with_stream_;
  long marked_ = 0;

  CkDeviceBuffer array() const {
    return with_stream_ ? CkDeviceBuffer(out_, periapt::DeviceStream(stream_)) : CkDeviceBuffer(out_);
  }

 public:
  explicit Side(bool with_stream) : with_stream_(with_stream) {
    const int gpu = CkMyPe() % static_cast<int>(driver().gpus().size());
    out_ = reinterpret_cast<char*>(must(driver().allocate(gpu, periapt::gpu::Kind::device, kBytes)));
    in_ = reinterpret_cast<char*>(must(driver().allocate(gpu, periapt::gpu::Kind::device, kBytes)));
    stream_ = static_cast<CUstream_st*>(must(driver().make_stream(gpu)).native);
  }
  // Since the last one, of this process.
  void mark() {
    const int since = CkMyRank() == 0 ? static_cast<int>(calls() - std::exchange(marked_, calls())) : 0;
    contribute(sizeof since, &since, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, marked), mainProxy));
  }
  void play(int left) { thisProxy[left % 2 ? 0 : CkNumPes() - 1].take(left - 1, kBytes, array()); }
  void take(int&, int&, char*& data, CkDeviceBufferPost* post) {
    data = in_;
    if (with_stream_) post[0].cuda_stream = stream_;
  }
  void take(int left, int, char*) {
    if (left == 0) return mainProxy.played();
    play(left);
  }
};

#include "calls.def.h"
