// What a message that a kernel sends costs, beside a host that launches a kernel, waits for it and sends: on one GPU,
// with kernels that nvcc has compiled.
//
//   gpu_kernel_messages +p1
//
// Round trips: from a thread of a kernel to an entry (and, bare, to a loop of the host), which writes a word for which
// the kernel waits. Medians of 9.
#include "bench/gpu/kernel_messages.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "ckkernelport.h"
#include "kernel_messages.decl.h"

/*readonly*/ CProxy_Main mainProxy;

namespace {

constexpr int times = 9;
constexpr unsigned pings = 2000, warm_pings = 100, launches = 500;

double now_us() { return 1e-3 * static_cast<double>(std::chrono::steady_clock::now().time_since_epoch().count()); }
double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

}  // namespace

class Main : public CBase_Main {
  using Word = unsigned long long;
  struct Flood {
    unsigned threads, messages, bytes;
    std::size_t places;
  };
  const std::vector<Flood> floods_ = {{1, 100'000, 8, 4096},   {32, 10'000, 8, 4096},  {4096, 100, 8, 4096},
                                      {4096, 100, 64, 4096},   {4096, 100, 240, 4096}, {4096, 50, 1024, 4096},
                                      {32'768, 10, 8, 65'536}, {4096, 100, 8, 64}};
  int step_ = -1, time_ = 0;
  std::size_t flood_ = 0;
  std::vector<double> taken_;
  CUstream_st* stream_ = nullptr;
  Word *word_ = nullptr, *reply_ = nullptr, *ns_ = nullptr;
  CkKernelPort port_;
  CkKernelCounter counter_;
  unsigned long left_ = 0;
  double began_us_ = 0;

  // Says what one was in the median, and whether there are more.
  bool again(const std::string& what, double us, double scale = 1, const char* unit = "us") {
    taken_.push_back(us);
    if (++time_ < times) return true;
    std::sort(taken_.begin(), taken_.end());
    CkPrintf("%-86s %8.2f %s (%.2f to %.2f)\n", what.c_str(), median(taken_) * scale, unit, taken_.front() * scale,
             taken_.back() * scale);
    time_ = 0;
    taken_.clear();
    return false;
  }

 public:
  explicit Main(CkArgMsg* args) {
    delete args;
    mainProxy = thisProxy;
    const char* const gpu = name_of_gpu();
    if (gpu == nullptr) {
      CkPrintf("there is no GPU for it\n");
      CkExit();
      return;
    }
    CkPrintf("%s; medians of %d (least to most)\n", gpu, times);
    stream_ = make_stream();
    word_ = static_cast<Word*>(make_pinned(192));
    reply_ = word_ + 8;
    ns_ = word_ + 16;
    thisProxy.next();
  }
  void next() {
    ++step_;
    time_ = 0;
    if (step_ == 0) return bare();
    if (step_ == 1) return start_ping();
    if (step_ == 2) return start_launches(true);
    if (step_ == 3) return wait_and_send();
    if (step_ == 4) return start_signal();
    if (step_ == 5) return start_flood_of();
    CkExit();
  }

  // ---- a round trip
  void bare() {
    do {
      *word_ = *reply_ = 0;
      start_bare_pings(word_, reply_, pings, ns_);
      for (Word i = 1; i <= pings + warm_pings; ++i) {
        while (__atomic_load_n(word_, __ATOMIC_ACQUIRE) != i) {
        }
        __atomic_store_n(reply_, i, __ATOMIC_RELEASE);
      }
      finish(nullptr);
    } while (again("a kernel's thread, a loop of the host, and back", 1e-3 * static_cast<double>(*ns_) / pings));
    thisProxy.next();
  }
  void start_ping() {
    if (!port_) {
      port_ = CkKernelPort::open(CkCallback(CkIndex_Main::ping(nullptr), thisProxy), 16, 8);
      counter_ = CkKernelCounter::make();
    }
    *reply_ = 0;
    counter_.when(static_cast<std::uint64_t>(time_) + 1, CkCallback(CkIndex_Main::pinged(), thisProxy));
    start_pings(port_.handle(), counter_.handle(), reply_, pings, ns_);
  }
  void ping(CkDataMsg* sent) {
    __atomic_store_n(reply_, *static_cast<Word*>(sent->getData()), __ATOMIC_RELEASE);
    delete sent;
  }
  void pinged() {
    if (again("a kernel's thread sends 8 bytes to an entry, and back", 1e-3 * static_cast<double>(*ns_) / pings))
      return start_ping();
    port_.close();
    thisProxy.next();
  }

  // ---- the host launches, waits, and sends
  void start_launches(bool first) {
    if (first) left_ = launches;
    if (left_ == launches) began_us_ = now_us();
    launch();
  }
  void launch() {
    start_nothing(stream_);
    periapt::send_when_reached(stream_, CkCallback(CkIndex_Main::reached(), thisProxy), nullptr);
  }
  void reached() {
    if (--left_ != 0) return launch();
    if (again("an entry launches an empty kernel, its callback behind the stream is an entry",
              (now_us() - began_us_) / launches))
      return start_launches(true);
    thisProxy.next();
  }
  void wait_and_send() {
    left_ = launches;
    began_us_ = now_us();
    signalled();
  }
  // (An entry of its own for each.)
  void signalled() {
    if (step_ == 4) return signal_came();
    if (left_-- == 0) {
      if (again("an entry launches an empty kernel, waits for the stream, and sends to an entry",
                (now_us() - began_us_) / launches))
        return wait_and_send();
      return thisProxy.next();
    }
    start_nothing(stream_);
    finish(stream_);
    thisProxy.signalled();
  }

  // ---- a counter in place of an event
  void start_signal() {
    left_ = launches;
    counter_.close();
    counter_ = CkKernelCounter::make();
    began_us_ = now_us();
    launch_signal();
  }
  void launch_signal() {
    counter_.when(counter_.value() + 1, CkCallback(CkIndex_Main::signalled(), thisProxy));
    start_signals(counter_.handle(), 1, 1);
  }
  void signal_came() {
    if (--left_ != 0) return launch_signal();
    if (again("an entry launches a kernel that raises a counter, its callback is an entry",
              (now_us() - began_us_) / launches))
      return start_signal();
    thisProxy.next();
  }

  // ---- how many
  void start_flood_of() {
    const Flood& flood = floods_[flood_];
    port_ = CkKernelPort::open(CkCallback(CkIndex_Main::take(nullptr), thisProxy), flood.places, flood.bytes);
    left_ = static_cast<unsigned long>(flood.threads) * flood.messages;
    began_us_ = now_us();
    start_flood(port_.handle(), flood.threads, flood.messages, flood.bytes);
  }
  void take(CkDataMsg* sent) {
    delete sent;
    if (--left_ == 0) thisProxy.finished();
  }
  void finished() {
    const Flood& flood = floods_[flood_];
    const double us = now_us() - began_us_;
    port_.close();
    const std::string what = std::to_string(flood.threads) + " threads send " + std::to_string(flood.messages) +
                             " messages of " + std::to_string(flood.bytes) + " bytes each, " +
                             std::to_string(flood.places) + " places";
    const double count = static_cast<double>(flood.threads) * flood.messages;
    if (!again(what, count / us, 1, "million a second") && ++flood_ == floods_.size()) return thisProxy.next();
    start_flood_of();
  }
};

#include "kernel_messages.def.h"
