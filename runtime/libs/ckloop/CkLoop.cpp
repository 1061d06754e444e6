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

// Iterations `first` to `last`.
struct Range {
  int first, last;
};

// Iterations begin to end - 1 in parts; the first ones have one more where they are not even. A part is calculated when
// it is taken: a list of them would be written by the caller before any helper begins, and read from its cache by all.
class EvenParts {
 public:
  // `last_offset`: what the program's function expects as `last` beside the last iteration.
  EvenParts(int begin, int end, int count, int last_offset)
      : begin_(begin), size_((end - begin) / count), more_((end - begin) % count), last_offset_(last_offset) {
    if (end > begin) count_ = static_cast<std::size_t>(std::min(count, end - begin));
  }
  std::size_t count() const { return count_; }
  Range operator[](std::size_t i) const {
    const int part = static_cast<int>(i), first = begin_ + part * size_ + std::min(part, more_);
    return {first, first + size_ + (part < more_ ? 1 : 0) - 1 + last_offset_};
  }

 private:
  int begin_, size_, more_, last_offset_;
  std::size_t count_ = 0;
};

// Calculated, or listed where they are of no one size.
class Chunks {
 public:
  explicit Chunks(EvenParts even) : even_(even) {}
  explicit Chunks(std::vector<Range> listed) : even_(0, 0, 1, 0), listed_(std::move(listed)) {}
  std::size_t count() const { return listed_.empty() ? even_.count() : listed_.size(); }
  Range operator[](std::size_t i) const { return listed_.empty() ? even_[i] : listed_[i]; }

 private:
  EvenParts even_;
  std::vector<Range> listed_;
};

// One call of CkLoop_Parallelize(). It lives until its caller and every PE that was asked for help have left it.
class Loop {
 public:
  Loop(HelperFn function, int param_count, void* param, std::vector<Range> own, Chunks chunks, bool keeps_results)
      : function_(function),
        param_count_(param_count),
        param_(param),
        own_(std::move(own)),
        chunks_(std::move(chunks)),
        own_taken_(std::make_unique<std::atomic<bool>[]>(own_.size())),
        results_(keeps_results ? new Result[own_.size() + chunks_.count()] : nullptr) {}

  // What the PE of this rank does of it: its own part, then its stretch of the chunks, then half of what another PE has
  // left, and so on until none has anything. A PE that does not come loses its stretch to others.
  void work(int rank) {
    std::size_t done = static_cast<std::size_t>(rank) < own_.size() ? take_own(static_cast<std::size_t>(rank)) : 0;
    do {
      while (take_one(stretches_[static_cast<std::size_t>(rank)].chunks)) ++done;
      count(done);  // before the look at others, for which the caller need not wait
      done = 0;
    } while (steal(static_cast<std::size_t>(rank)));
  }
  void take_parts_of_others() {
    std::size_t done = 0;
    for (std::size_t part = 0; part < own_.size(); ++part) done += take_own(part);
    count(done);
  }
  void wait(int rank) {
    constexpr int spins = 2000;
    // acquire: partner is the release in count(); what the chunks have written is seen.
    for (int i = 0; done_.load(std::memory_order_acquire) != own_.size() + chunks_.count(); ++i) {
      if (i < spins) {
        periapt::platform::pause();
      } else {
        work(rank);  // what was on its way from one stretch to another when this PE looked
        std::this_thread::yield();
      }
    }
  }
  // `Given`: what chunks have written as their results.
  template <class Given, class T, class Combine>
  T combined(T value, Combine combine) const {
    for (std::size_t i = 0; i < own_.size() + chunks_.count(); ++i) {
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

  // Chunks first to last - 1, in the lower and the upper half. Each PE has a line of its own, which others touch only
  // when they have nothing left: a counter for all would go from core to core for each chunk. Equal values stand for
  // the same chunks, none of them begun, so that a stretch may come back to its place.
  struct alignas(kCacheLine) Stretch {
    std::atomic<std::uint64_t> chunks{0};
  };
  static std::uint64_t range_of(std::size_t first, std::size_t last) { return std::uint64_t{last} << 32 | first; }
  static std::unique_ptr<Stretch[]> even_stretches(std::size_t chunks, std::size_t pes) {
    auto stretches = std::make_unique<Stretch[]>(pes);
    for (std::size_t pe = 0; pe < pes; ++pe)
      stretches[pe].chunks.store(range_of(chunks * pe / pes, chunks * (pe + 1) / pes), std::memory_order_relaxed);
    return stretches;
  }
  bool take_one(std::atomic<std::uint64_t>& stretch) {
    std::uint64_t range = stretch.load(std::memory_order_relaxed);
    while (true) {
      const std::size_t first = range & 0xFFFFFFFF, last = range >> 32;
      if (first >= last) return false;
      if (!stretch.compare_exchange_weak(range, range_of(first + 1, last), std::memory_order_relaxed)) continue;
      run(chunks_[first], own_.size() + first);
      return true;
    }
  }
  // The later half of what another PE has, to this one, which has nothing.
  bool steal(std::size_t rank) {
    for (std::size_t other = 1; other < pes_; ++other) {
      std::atomic<std::uint64_t>& of_other = stretches_[(rank + other) % pes_].chunks;
      std::uint64_t range = of_other.load(std::memory_order_relaxed);
      while (true) {
        const std::size_t first = range & 0xFFFFFFFF, last = range >> 32;
        if (first >= last) break;
        const std::size_t middle = first + (last - first) / 2;
        if (!of_other.compare_exchange_weak(range, range_of(first, middle), std::memory_order_relaxed)) continue;
        stretches_[rank].chunks.store(range_of(middle, last), std::memory_order_relaxed);
        return true;
      }
    }
    return false;
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
  const std::vector<Range> own_;  // by rank
  const Chunks chunks_;
  const std::unique_ptr<Stretch[]> stretches_ = even_stretches(chunks_.count(), pes_);  // by rank
  const std::unique_ptr<std::atomic<bool>[]> own_taken_;
  const std::unique_ptr<Result[]> results_;  // of own parts, then of chunks; null: the caller wants none
  alignas(kCacheLine) std::atomic<std::size_t> done_{0};
  std::atomic<int> references_{1};
};

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
    loop->wait(CkMyRank());
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
  const bool keeps_results = wants_result(sync, redResult, type);
  const EvenParts chunks(lowerRange, upperRange + 1, std::max(numChunks, 1), 0);
  run_loop<void>(new Loop(func, paramNum, param, {}, Chunks(chunks), keeps_results), sync != 0, redResult, type,
                 {cfunc, cparamNum, cparam});
}

void CkLoop_ParallelizeHybrid(float staticFraction, HelperFn func, int paramNum, void* param, int numChunks,
                              int lowerRange, int upperRange, int sync, void* redResult, REDUCTION_TYPE type,
                              CallerFn cfunc, int cparamNum, void* cparam) {
  const int pes = CkMyNodeSize(), count = std::max(upperRange - lowerRange, 0);
  const int chunk = std::max(count / std::max(numChunks, 1), 1);
  const EvenParts parts(lowerRange, lowerRange + count, pes, 1);
  std::vector<Range> own, shared;
  for (std::size_t i = 0; i < parts.count(); ++i) {
    const Range part = parts[i];
    const int mine = static_cast<int>(std::clamp(staticFraction, 0.0F, 1.0F) * (part.last - part.first));
    own.push_back({part.first, part.first + mine});
    for (int at = part.first + mine; at < part.last; at += chunk)
      shared.push_back({at, std::min(at + chunk, part.last)});
  }
  const bool keeps_results = wants_result(sync, redResult, type);
  run_loop<double>(new Loop(func, paramNum, param, std::move(own), Chunks(std::move(shared)), keeps_results), sync != 0,
                   redResult, type, {cfunc, cparamNum, cparam});
}

#include "CkLoop.def.h"
