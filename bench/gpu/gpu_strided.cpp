// gpu_strided: strided memory of a GPU between two PEs, beside as many bytes in one piece, in the same run: one way,
// and from message to message when several are under way. The layout says by which way they go:
//
//   gpu_strided +p2                     one process
//   gpu_strided +p2 +ppn 1              two, which map each other's memory
//
//   gpu_strided [BLOCKS [BYTES [STRIDE]]]      1048576 blocks of 16 bytes, 32 bytes apart
//
// PE i uses GPU i, or i modulo how many there are. The kernels by themselves, and one copy of the driver's a block, are
// measured within PE 0's GPU. A ratio is to the line of as many bytes in one piece.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/gpu/must.h"
#include "charm++.h"
#include "machine/gpu/packs.h"
#include "machine/gpu/vendors.h"

struct Blocks {
  int count = 1 << 20;
  int bytes = 16;
  int stride = 32;
  std::size_t in_message() const { return static_cast<std::size_t>(count) * static_cast<std::size_t>(bytes); }
  std::size_t extent() const { return static_cast<std::size_t>(count) * static_cast<std::size_t>(stride); }
};
PUPbytes(Blocks)

#include "gpu_strided.decl.h"

    /*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Side sides;

namespace {

constexpr int at_once = 4;

enum class Shape { one_piece, rows, list };
struct Way {
  const char* name;
  Shape out, in;
};
constexpr Way ways[] = {{"one piece to one piece", Shape::one_piece, Shape::one_piece},
                        {"rows to one piece", Shape::rows, Shape::one_piece},
                        {"one piece to rows", Shape::one_piece, Shape::rows},
                        {"rows to rows", Shape::rows, Shape::rows},
                        {"list to list", Shape::list, Shape::list}};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

class Main : public CBase_Main {
  CthThread thread_ = nullptr;
  double seconds_ = 0;
  Blocks blocks_;

  double wait() {
    thread_ = CthSelf();
    CthSuspend();
    return seconds_;
  }
  double measure(int way, int rounds, bool one_by_one) {
    std::vector<double> times;
    for (int k = 0; k < 6; ++k) {
      sides[0].measure(way, rounds, one_by_one);
      const double seconds = wait() / rounds;
      if (k != 0) times.push_back(one_by_one ? seconds / 2 : seconds);
    }
    return median(times);
  }

 public:
  explicit Main(CkArgMsg* args) {
    int* const numbers[] = {&blocks_.count, &blocks_.bytes, &blocks_.stride};
    for (int i = 1; i < args->argc && i <= 3; ++i) *numbers[i - 1] = std::atoi(args->argv[i]);
    delete args;
    mainProxy = thisProxy;
    if (CkNumPes() != 2 || blocks_.count < 1 || blocks_.bytes < 1 || blocks_.stride < blocks_.bytes ||
        blocks_.in_message() > (std::size_t{1} << 30)) {
      CkPrintf("gpu_strided [BLOCKS [BYTES [STRIDE]]] +p2, at most 1 GiB in all, a stride of at least a block\n");
      CkExit(2);
      return;
    }
    if (periapt::gpu::first_driver() == nullptr) {
      CkPrintf("SKIP: no driver of a GPU is in use (periapt-doctor)\n");
      CkExit(77);
      return;
    }
    sides = CProxy_Side::ckNew(blocks_);
  }
  void ready() { thisProxy.run(); }
  void done(double seconds) {
    seconds_ = seconds;
    CthAwaken(thread_);
  }
  void run() {
    const std::size_t bytes = blocks_.in_message();
    CkPrintf("%d blocks of %d bytes, %d apart: %.1f MB; %d processes, %zu GPUs\n%-24s %12s %7s %12s %7s %9s\n",
             blocks_.count, blocks_.bytes, blocks_.stride, static_cast<double>(bytes) / 1e6, CkNumNodes(),
             periapt::gpu::first_driver()->gpus().size(), "", "one way, us", "ratio", "each, us", "ratio", "GB/s");
    const int rounds = static_cast<int>(std::clamp<std::size_t>((std::size_t{1} << 30) / bytes, 20, 500));
    double first[2] = {};
    for (int way = 0; way < static_cast<int>(std::size(ways)); ++way) {
      const double one = measure(way, rounds, true), each = measure(way, rounds, false);
      if (way == 0) {
        first[0] = one;
        first[1] = each;
      }
      CkPrintf("%-24s %12.2f %7.2f %12.2f %7.2f %9.2f\n", ways[way].name, one * 1e6, one / first[0], each * 1e6,
               each / first[1], static_cast<double>(bytes) / each / 1e9);
    }
    sides[0].alone();
    wait();
    CkExit();
  }
};

class Side : public CBase_Side {
  periapt::gpu::Driver& driver_ = *periapt::gpu::first_driver();
  const Blocks blocks_;
  const int gpu_;
  char *out_, *in_;
  CUstream_st* stream_;
  CkDeviceLayout rows_, list_;
  int left_ = 0, to_send_ = 0;
  double begun_ = 0;

  const CkDeviceLayout& layout_of(Shape shape) const {
    static const CkDeviceLayout one_piece;
    return shape == Shape::rows ? rows_ : shape == Shape::list ? list_ : one_piece;
  }
  CkDeviceBuffer to_send(int way) const {
    CkDeviceBuffer buffer(out_, stream_);
    buffer.layout = layout_of(ways[way].out);
    return buffer;
  }
  int count() const { return static_cast<int>(blocks_.in_message()); }
  void post(int way, char*& x, CkDeviceBufferPost& where) {
    x = in_;
    where.cuda_stream = stream_;
    where.layout = layout_of(ways[way].in);
  }
  void send(int way) {
    if (to_send_-- > 0) thisProxy[1].part(way, count(), to_send(way));
  }

 public:
  explicit Side(const Blocks& blocks) : blocks_(blocks), gpu_(CkMyPe() % static_cast<int>(driver_.gpus().size())) {
    using periapt::gpu::MemoryType;
    out_ = reinterpret_cast<char*>(must(driver_.allocate(gpu_, MemoryType::device, blocks.extent())));
    in_ = reinterpret_cast<char*>(must(driver_.allocate(gpu_, MemoryType::device, blocks.extent())));
    stream_ = static_cast<CUstream_st*>(must(driver_.make_stream(gpu_)).native);
    rows_ = CkDeviceLayout::vector<char>(blocks.count, blocks.bytes, blocks.stride);
    const auto count = static_cast<std::size_t>(blocks.count);
    CkDeviceLayout::Numbers offsets(count), lengths(count, blocks.bytes);
    for (std::size_t i = 0; i < count; ++i) offsets[i] = static_cast<std::ptrdiff_t>(i) * blocks.stride;
    list_ = CkDeviceLayout::indexed<char>(offsets, lengths);
    contribute(CkCallback(CkReductionTarget(Main, ready), mainProxy));
  }
  void measure(int way, int rounds, bool one_by_one) {
    left_ = to_send_ = rounds;
    begun_ = CkWallTimer();
    if (one_by_one)
      thisProxy[1].ping(way, count(), to_send(way));
    else
      for (int i = 0; i < at_once; ++i) send(way);
  }
  void ping(int way, int&, char*& x, CkDeviceBufferPost* where) { post(way, x, where[0]); }
  void ping(int way, int n, char*) {
    if (CkMyPe() == 0 && --left_ == 0) return mainProxy.done(CkWallTimer() - begun_);
    thisProxy[1 - CkMyPe()].ping(way, n, to_send(way));
  }
  void part(int way, int&, char*& x, CkDeviceBufferPost* where) { post(way, x, where[0]); }
  void part(int way, int, char*) { thisProxy[0].parted(way); }
  void parted(int way) {
    if (--left_ == 0) return mainProxy.done(CkWallTimer() - begun_);
    send(way);
  }

  // Time on the GPU of what `begin` gives the stream.
  template <class Begin>
  double seconds_of(periapt::gpu::Stream stream, Begin begin) {
    std::vector<double> times;
    for (int k = 0; k < 11; ++k) {
      const auto from = must(driver_.make_timed_event(gpu_)), to = must(driver_.make_timed_event(gpu_));
      bool good = driver_.record(from, stream).ok();
      begin();
      good = good && driver_.record(to, stream).ok() && driver_.finish(stream).ok();
      if (!good) CkAbort("the GPU cannot be measured");
      times.push_back(must(driver_.seconds_between(from, to)));
      driver_.destroy(from);
      driver_.destroy(to);
    }
    return median(times);
  }
  void alone() {
    using periapt::gpu::Packer;
    periapt::gpu::Rooms rooms;
    const auto packer = std::move(*periapt::gpu::Packer::make(driver_, gpu_, rooms));
    auto* const blocks = reinterpret_cast<std::byte*>(out_);
    auto* const piece = reinterpret_cast<std::byte*>(in_);
    const double bytes = static_cast<double>(blocks_.in_message());
    const auto print = [&](const char* what, double seconds) {
      CkPrintf("%-36s %12.2f us %9.2f GB/s\n", what, seconds * 1e6, bytes / seconds / 1e9);
    };
    for (const auto& [name, layout] : {std::pair("rows", rows_), std::pair("list", list_)})
      for (Packer::Way way : {Packer::Way::pack, Packer::Way::unpack}) {
        std::vector<std::shared_ptr<const void>> held;
        const double seconds = seconds_of({packer->stream(way), gpu_}, [&, &layout = layout] {
          held.push_back(must(packer->begin(way, layout.get(), blocks, piece)));
        });
        print((std::string("alone: ") + (way == Packer::Way::pack ? "pack " : "unpack ") + name).c_str(), seconds);
      }
    const periapt::gpu::Stream stream{stream_, gpu_};
    print("alone: one copy of as many bytes", seconds_of(stream, [&] {
            if (!driver_.copy(stream, piece, blocks, blocks_.in_message())) CkAbort("no copy");
          }));
    // Once: it takes seconds.
    const double begun = CkWallTimer();
    const auto each = static_cast<std::size_t>(blocks_.bytes), apart = static_cast<std::size_t>(blocks_.stride);
    for (std::size_t i = 0; i < static_cast<std::size_t>(blocks_.count); ++i)
      if (!driver_.copy(stream, piece + i * each, blocks + i * apart, each)) CkAbort("no copy");
    if (!driver_.finish(stream)) CkAbort("no copy");
    print("alone: one copy a block", CkWallTimer() - begun);
    mainProxy.done(0);
  }
};

#include "gpu_strided.def.h"
