// See CkLoopAPI.h.
#include "CkLoop.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/platform.h"

namespace {

using periapt::platform::kCacheLine;

// Of this process: null until the library is there. A value that every process has at another address.
std::atomic<CProxy_LoopHelper*> helpers_of_process{nullptr};

struct Batch {
  std::size_t first, last;  // chunks first to last - 1
};

// How chunks go together, so that the counter of what has been taken, whose line goes from core to core each time, is
// asked seldom: rounds of a batch for each PE, each round half of what is left (factoring: Hummel, Schonberg, Flynn,
// "Factoring: a method for scheduling parallel loops", CACM 35(8), 1992).
class Batches {
 public:
  Batches(std::size_t chunks, std::size_t pes) : chunks_(chunks), pes_(pes) {
    for (std::size_t first = 0; first < chunks;) {
      const std::size_t size = (chunks - first + 2 * pes - 1) / (2 * pes);
      rounds_.push_back({first, size});
      first += size * pes;
    }
  }
  // Empty beyond the last one.
  Batch at(std::size_t index) const {
    const std::size_t round = index / pes_;
    if (round >= rounds_.size()) return {chunks_, chunks_};
    const std::size_t first = rounds_[round].first + index % pes_ * rounds_[round].size;
    return {std::min(first, chunks_), std::min(first + rounds_[round].size, chunks_)};
  }

 private:
  struct Round {
    std::size_t first, size;  // chunk, chunks a batch
  };
  const std::size_t chunks_, pes_;
  std::vector<Round> rounds_;
};

// One call of CkLoop_Parallelize(). It lives until its caller and every PE that was asked for help have left it.
class Loop {
 public:
  struct Range {
    int first, last;
  };

  Loop(HelperFn function, int param_count, void* param, std::vector<Range> own, std::vector<Range> shared,
       bool keeps_results)
      : function_(function),
        param_count_(param_count),
        param_(param),
        own_(std::move(own)),
        shared_(std::move(shared)),
        batches_(shared_.size(), pes_),
        own_taken_(std::make_unique<std::atomic<bool>[]>(own_.size())),
        results_(keeps_results ? std::make_unique<Result[]>(own_.size() + shared_.size()) : nullptr) {}

  // What the PE of this rank does of it: its own part, then batches of chunks as long as there are any, then chunks
  // that other PEs have taken and not begun: a long one may stand before them.
  void work(int rank) {
    std::size_t done = static_cast<std::size_t>(rank) < own_.size() ? take_own(static_cast<std::size_t>(rank)) : 0;
    std::atomic<std::uint64_t>& taken = taken_[static_cast<std::size_t>(rank)].range;
    while (true) {
      const Batch batch = batches_.at(next_.fetch_add(1, std::memory_order_relaxed));
      if (batch.first == batch.last) break;
      taken.store(range_of(batch.first, batch.last), std::memory_order_relaxed);
      while (take_one(taken, true)) ++done;
    }
    count(done);  // before the look at others, for which the caller need not wait
    done = 0;
    for (std::size_t other = 1; other < pes_; ++other) {
      std::atomic<std::uint64_t>& of_other = taken_[(static_cast<std::size_t>(rank) + other) % pes_].range;
      while (take_one(of_other, false)) ++done;
    }
    count(done);
  }
  void take_parts_of_others() {
    std::size_t done = 0;
    for (std::size_t part = 0; part < own_.size(); ++part) done += take_own(part);
    count(done);
  }
  void wait() const {
    constexpr int spins = 2000;
    // acquire: partner is the release in count(); what the chunks have written is seen.
    for (int i = 0; done_.load(std::memory_order_acquire) != own_.size() + shared_.size(); ++i) {
      if (i < spins)
        periapt::platform::pause();
      else
        std::this_thread::yield();
    }
  }
  // `Given`: what chunks have written as their results.
  template <class Given, class T, class Combine>
  T combined(T value, Combine combine) const {
    for (std::size_t i = 0; i < own_.size() + shared_.size(); ++i) {
      Given given;
      std::memcpy(&given, &results_[i], sizeof given);
      const T one = static_cast<T>(given);
      value = i == 0 ? one : combine(value, one);
    }
    return value;
  }

  void add_helpers(int count) { references_.fetch_add(count, std::memory_order_relaxed); }
  void leave() {
    // The last one to leave has seen what all others did.
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  using Result = std::uint64_t;  // as many bytes as the longest type of a reduction has

  struct alignas(kCacheLine) Taken {
    std::atomic<std::uint64_t> range{0};  // chunks first to last - 1, in the lower and the upper half
  };
  static std::uint64_t range_of(std::size_t first, std::size_t last) { return std::uint64_t{last} << 32 | first; }
  // Runs a chunk of those that a PE has taken: the first one, or the last. No range comes twice, so relaxed will do.
  bool take_one(std::atomic<std::uint64_t>& taken, bool from_front) {
    std::uint64_t range = taken.load(std::memory_order_relaxed);
    while (true) {
      const std::size_t first = range & 0xFFFFFFFF, last = range >> 32;
      if (first >= last) return false;
      const std::uint64_t rest = from_front ? range_of(first + 1, last) : range_of(first, last - 1);
      if (!taken.compare_exchange_weak(range, rest, std::memory_order_relaxed)) continue;
      const std::size_t chunk = from_front ? first : last - 1;
      run(shared_[chunk], own_.size() + chunk);
      return true;
    }
  }

  // How many parts that were.
  std::size_t take_own(std::size_t part) {
    if (own_taken_[part].exchange(true, std::memory_order_relaxed)) return 0;
    run(own_[part], part);
    return 1;
  }
  // The program's function has a line to write to that is its own. Results lie close together: the caller takes them
  // from other cores' caches, line by line.
  void run(Range range, std::size_t index) {
    alignas(kCacheLine) char result[kCacheLine] = {};
    if (range.first <= range.last) function_(range.first, range.last, result, param_count_, param_);
    if (results_) std::memcpy(&results_[index], result, sizeof(Result));
  }
  // Once for all that a PE did: a line that all of them write for each chunk would go from core to core as often.
  void count(std::size_t done) {
    if (done > 0) done_.fetch_add(done, std::memory_order_release);
  }

  const HelperFn function_;
  const int param_count_;
  void* const param_;
  const std::size_t pes_ = static_cast<std::size_t>(CkMyNodeSize());
  const std::unique_ptr<Taken[]> taken_ = std::make_unique<Taken[]>(pes_);  // by rank
  const std::vector<Range> own_;                                            // by rank
  const std::vector<Range> shared_;
  const Batches batches_;  // of shared_
  const std::unique_ptr<std::atomic<bool>[]> own_taken_;
  const std::unique_ptr<Result[]> results_;  // of own parts, then of shared chunks; null: the caller wants none
  alignas(kCacheLine) std::atomic<std::size_t> next_{0};  // batch
  alignas(kCacheLine) std::atomic<std::size_t> done_{0};
  std::atomic<int> references_{1};
};

// `count` parts of iterations begin to end - 1; the first ones have one more where they are not even. `last_offset`:
// what the program's function expects as `last` beside the last iteration.
void add_parts(std::vector<Loop::Range>& parts, int begin, int end, int count, int last_offset) {
  parts.reserve(static_cast<std::size_t>(std::clamp(end - begin, 0, std::max(count, 0))));
  const int size = (end - begin) / count, more = (end - begin) % count;
  for (int i = 0, at = begin; i < count; ++i) {
    const int next = at + size + (i < more ? 1 : 0);
    if (next > at) parts.push_back({at, next - 1 + last_offset});
    at = next;
  }
}

// `Given`: void where chunks write a result of the reduction's type.
template <class Given, class T, class Combine>
void give(const Loop& loop, void* result, T zero, Combine combine) {
  using Written = std::conditional_t<std::is_void_v<Given>, T, Given>;
  const T all = loop.combined<Written>(zero, combine);
  std::memcpy(result, &all, sizeof all);
}
template <class Given>
void give_result(const Loop& loop, void* result, REDUCTION_TYPE type) {
  switch (type) {
    case CKLOOP_NONE:
      return;
    case CKLOOP_INT_SUM:
      return give<Given>(loop, result, 0, std::plus<>());
    case CKLOOP_FLOAT_SUM:
      return give<Given>(loop, result, 0.0F, std::plus<>());
    case CKLOOP_DOUBLE_SUM:
      return give<Given>(loop, result, 0.0, std::plus<>());
    case CKLOOP_DOUBLE_MAX:
      return give<Given>(loop, result, 0.0, [](double a, double b) { return std::max(a, b); });
  }
}

void ask_for_help(Loop& loop) {
  CProxy_LoopHelper* helpers = helpers_of_process.load(std::memory_order_acquire);
  if (!helpers) return;
  const int pes = CkMyNodeSize(), first = CkNodeFirst(CkMyNode());
  loop.add_helpers(pes - 1);
  for (int i = 1; i < pes; ++i) (*helpers)[first + (CkMyRank() + i) % pes].help(reinterpret_cast<CmiUInt8>(&loop));
}

struct Caller {
  CallerFn function;
  int param_count;
  void* param;
};

template <class Given>
void run_loop(Loop* loop, bool waits, void* result, REDUCTION_TYPE type, const Caller& caller) {
  ask_for_help(*loop);
  if (caller.function) caller.function(caller.param_count, caller.param);
  loop->work(CkMyRank());
  loop->take_parts_of_others();
  if (waits) {
    loop->wait();
    if (result) give_result<Given>(*loop, result, type);
  }
  loop->leave();
}

}  // namespace

FuncCkLoop::FuncCkLoop(CProxy_LoopHelper helpers) : helpers_(helpers) { begin(); }
void FuncCkLoop::begin() { helpers_of_process.store(new CProxy_LoopHelper(helpers_), std::memory_order_release); }
void FuncCkLoop::pup(PUP::er& p) {
  p | helpers_;
  if (p.isUnpacking()) begin();
}
void FuncCkLoop::exit() { helpers_of_process.store(nullptr, std::memory_order_release); }

void LoopHelper::help(CmiUInt8 address) {
  Loop* loop = reinterpret_cast<Loop*>(address);
  if (CmiPeHelpsOtherThreads()) loop->work(CkMyRank());
  loop->leave();
}

namespace {
bool wants_result(int sync, const void* result, REDUCTION_TYPE type) {
  return sync != 0 && result != nullptr && type != CKLOOP_NONE;
}
}  // namespace

CProxy_FuncCkLoop CkLoop_Init(int) { return CProxy_FuncCkLoop::ckNew(CProxy_LoopHelper::ckNew()); }
void CkLoop_Exit(CProxy_FuncCkLoop ckLoop) { ckLoop.exit(); }

void CkLoop_Parallelize(HelperFn func, int paramNum, void* param, int numChunks, int lowerRange, int upperRange,
                        int sync, void* redResult, REDUCTION_TYPE type, CallerFn cfunc, int cparamNum, void* cparam) {
  std::vector<Loop::Range> chunks;
  add_parts(chunks, lowerRange, upperRange + 1, std::max(numChunks, 1), 0);
  const bool keeps_results = wants_result(sync, redResult, type);
  run_loop<void>(new Loop(func, paramNum, param, {}, std::move(chunks), keeps_results), sync != 0, redResult, type,
                 {cfunc, cparamNum, cparam});
}

void CkLoop_ParallelizeHybrid(float staticFraction, HelperFn func, int paramNum, void* param, int numChunks,
                              int lowerRange, int upperRange, int sync, void* redResult, REDUCTION_TYPE type,
                              CallerFn cfunc, int cparamNum, void* cparam) {
  const int pes = CkMyNodeSize(), count = std::max(upperRange - lowerRange, 0);
  const int chunk = std::max(count / std::max(numChunks, 1), 1);
  std::vector<Loop::Range> parts, own, shared;
  add_parts(parts, lowerRange, lowerRange + count, pes, 1);
  for (const Loop::Range& part : parts) {
    const int mine = static_cast<int>(std::clamp(staticFraction, 0.0F, 1.0F) * (part.last - part.first));
    own.push_back({part.first, part.first + mine});
    for (int at = part.first + mine; at < part.last; at += chunk)
      shared.push_back({at, std::min(at + chunk, part.last)});
  }
  const bool keeps_results = wants_result(sync, redResult, type);
  run_loop<double>(new Loop(func, paramNum, param, std::move(own), std::move(shared), keeps_results), sync != 0,
                   redResult, type, {cfunc, cparamNum, cparam});
}

#include "CkLoop.def.h"
