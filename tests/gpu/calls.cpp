// How many calls of the driver a small message from GPU to GPU costs, all processes together, once everything that it
// needs has been made: counted by the fake driver (fake/cuda.cpp), which the run is to have.
//
//   gpu_calls [default] ...     default: by the thread's default stream, else by one of the program's
//   gpu_calls large ...         of 3 MB: how many copies in place of how many calls, and how much was pinned
#include <algorithm>
#include <climits>
#include <cstdint>
#include <string>
#include <utility>

#include "calls.decl.h"
#include "machine/gpu/vendors.h"
#include "tests/gpu/driver_function.h"
#include "tests/gpu/fake/faults.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Side sides;

namespace {

constexpr int kWarm = 40, kBatches = 5, kMessages = 2, kBytes = 64, kLarge = 3 << 20;

periapt::gpu::Driver& driver() { return *periapt::gpu::vendors()[0].driver().value(); }
template <class T>
T must(periapt::Result<T> result) {
  if (!result) CkAbort("%s", result.message().c_str());
  return *result;
}
const periapt::fake_gpu::Settings& settings() {
  static auto* const its = driver_function<periapt::fake_gpu::Settings*()>("periapt_fake_gpu_settings");
  return *its();
}
const std::int64_t kPinned = periapt::fake_gpu::Settings().pinned;  // there is at first

}  // namespace

class Main : public CBase_Main {
  int marks_ = 0, fewest_ = INT_MAX;
  bool large_ = false;

 public:
  explicit Main(CkArgMsg* args) {
    mainProxy = thisProxy;
    const std::string how = args->argc < 2 ? "" : args->argv[1];
    large_ = how == "large";
    sides = CProxy_Side::ckNew(how != "default", large_ ? kLarge : kBytes);
    delete args;
    sides[0].play(kWarm);
  }
  void played() { sides.mark(); }
  void marked(int calls) {
    if (++marks_ > 1) fewest_ = std::min(fewest_, calls);
    if (marks_ <= kBatches) return sides[0].play(kMessages);
    CkPrintf("%.1f %s a message\n", static_cast<double>(fewest_) / kMessages, large_ ? "copies" : "calls");
    sides.pinned();
  }
  void pinned(int kilobytes) {
    if (large_) CkPrintf("%d KB are pinned\n", kilobytes);
    CkExit();
  }
};

class Side : public CBase_Side {
  char *out_ = nullptr, *in_ = nullptr;
  CUstream_st* stream_ = nullptr;
  const bool with_stream_;
  const int bytes_;
  long marked_ = 0;

  CkDeviceBuffer array() const {
    return with_stream_ ? CkDeviceBuffer(out_, periapt::DeviceStream(stream_)) : CkDeviceBuffer(out_);
  }

 public:
  Side(bool with_stream, int bytes) : with_stream_(with_stream), bytes_(bytes) {
    const int gpu = CkMyPe() % static_cast<int>(driver().gpus().size());
    out_ = reinterpret_cast<char*>(
        must(driver().allocate(gpu, periapt::gpu::MemoryType::device, static_cast<std::uint64_t>(bytes))));
    in_ = reinterpret_cast<char*>(
        must(driver().allocate(gpu, periapt::gpu::MemoryType::device, static_cast<std::uint64_t>(bytes))));
    stream_ = static_cast<CUstream_st*>(must(driver().make_stream(gpu)).native);
  }
  // Since the last one, of this process.
  void mark() {
    const long now = __atomic_load_n(bytes_ == kLarge ? &settings().copies : &settings().calls, __ATOMIC_RELAXED);
    const int since = CkMyRank() == 0 ? static_cast<int>(now - std::exchange(marked_, now)) : 0;
    contribute(sizeof since, &since, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, marked), mainProxy));
  }
  void pinned() {
    int kilobytes = CkMyRank() == 0 ? static_cast<int>((kPinned - settings().pinned) / 1024) : 0;
    contribute(sizeof kilobytes, &kilobytes, CkReduction::sum_int,
               CkCallback(CkReductionTarget(Main, pinned), mainProxy));
  }
  void play(int left) { thisProxy[left % 2 ? 0 : CkNumPes() - 1].take(left - 1, bytes_, array()); }
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
