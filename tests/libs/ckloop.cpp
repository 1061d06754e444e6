// Loops of every kind, from several elements at once and inside each other: each iteration runs exactly once, and what
// is reduced is right.
#include "CkLoop.h"

#include <atomic>
#include <thread>
#include <vector>

#include "CkLambda.h"
#include "ckloop_steps.decl.h"

CProxy_Main mainProxy;

namespace {
constexpr int workers = 6, rounds = 60;

void check(bool right, const char* what, int chunks, int iterations) {
  if (right) return;
  CkPrintf("failed: %s with %d chunks of %d iterations\n", what, chunks, iterations);
  CkExit(1);
}

struct Marks {
  std::vector<std::atomic<int>> times;
  explicit Marks(int n) : times(static_cast<std::size_t>(n)) {}
  bool each_once() const {
    for (const auto& t : times)
      if (t != 1) return false;
    return true;
  }
};
// By rank: whether the PE takes no part in loops of others, and whether it is in one of its own.
bool refuses[1024], in_own_loop[1024];
void help_others(bool yes) {
  refuses[CkMyRank()] = !yes;
  CkSetPeHelpsOtherThreads(yes);
}

void mark_closed(int first, int last, void* result, int count, void* param) {
  Marks& marks = *static_cast<Marks*>(param);
  for (int i = first; i <= last; ++i) ++marks.times[static_cast<std::size_t>(i)];
  *static_cast<int*>(result) = last - first + 1;
  check(!refuses[CkMyRank()] || in_own_loop[CkMyRank()], "a PE that does not help", count, last - first + 1);
  if (count != 1) CkAbort("failed: the number of parameters is %d", count);
}
void mark_half_open(int first, int last, void* result, int, void* param) {
  Marks& marks = *static_cast<Marks*>(param);
  for (int i = first; i < last; ++i) ++marks.times[static_cast<std::size_t>(i)];
  *static_cast<double*>(result) = last - first;
}
void set_flag(int, void* param) { *static_cast<bool*>(param) = true; }
}  // namespace

class Main : public CBase_Main {
  int done_ = 0;

 public:
  explicit Main(CkArgMsg* m) {
    delete m;
    mainProxy = thisProxy;
    check(alone(), "a loop before the library is there", 4, 10);
    CkLoop_Init();
    CProxy_Worker w = CProxy_Worker::ckNew(workers);
    w.go();
  }
  bool alone() {
    Marks marks(10);
    int sum = 0;
    CkLoop_Parallelize(mark_closed, 1, &marks, 4, 0, 9, 1, &sum, CKLOOP_INT_SUM);
    return marks.each_once() && sum == 10;
  }
  void done() {
    if (++done_ < workers) return;
    if (CkMyNodeSize() > 1) long_among_short();
    CkExit(0);
  }
  // A chunk that lasts until the next one has begun, which the same PE may have taken together with it. It waits where
  // a PE of another thread has come to help.
  static void long_among_short() {
    Marks marks(600);
    std::atomic<bool> helped{false};
    const std::thread::id own = std::this_thread::get_id();
    CkLoop_Parallelize(600, 0, 599, [&](int first, int, void*) {
      ++marks.times[static_cast<std::size_t>(first)];
      if (std::this_thread::get_id() != own) helped = true;
      if (first < 50) std::this_thread::yield();
      while (first == 50 && helped && marks.times[51] == 0) std::this_thread::yield();
    });
    check(marks.each_once(), "a long chunk among short ones", 600, 600);
  }
};

class Worker : public CBase_Worker {
  int round_ = 0;

 public:
  Worker() = default;
  explicit Worker(CkMigrateMessage*) {}

  void go() {
    const int n = 1 + (round_ * 37 + thisIndex * 11) % 500;
    const int chunks = round_ % 4 == 0 ? n : 1 + (round_ * 7 + thisIndex) % 20;
    closed(n, chunks);
    hybrid(n, chunks);
    nested(n, chunks);
    if (++round_ < rounds) return thisProxy[thisIndex].go();
    help_others(true);
    mainProxy.done();
  }

 private:
  static void closed(int n, int chunks) {
    Marks marks(n);
    int sum = 0;
    bool called = false;
    help_others(n % 3 != 0);  // until the next one that begins here
    in_own_loop[CkMyRank()] = true;
    CkLoop_Parallelize(mark_closed, 1, &marks, chunks, 0, n - 1, 1, &sum, CKLOOP_INT_SUM, set_flag, 0, &called);
    in_own_loop[CkMyRank()] = false;
    check(marks.each_once() && sum == n && called, "a loop", chunks, n);
  }
  void hybrid(int n, int chunks) {
    Marks marks(n);
    int sum = 0;
    CkLoop_ParallelizeHybrid(static_cast<float>(round_ % 5) / 4, mark_half_open, 1, &marks, chunks, 0, n, 1, &sum,
                             CKLOOP_INT_SUM);
    check(marks.each_once() && sum == n, "a hybrid loop", chunks, n);
  }
  static void nested(int n, int chunks) {
    std::atomic<int> times{0};
    double most = 0;
    CkLoop_Parallelize(
        chunks, 0, n - 1,
        [&](int first, int last, void* result) {
          CkLoop_Parallelize(3, first, last, [&](int from, int to, void*) { times += to - from + 1; });
          *static_cast<double*>(result) = last;
        },
        &most, CKLOOP_DOUBLE_MAX);
    check(times == n && most == n - 1, "a loop in a loop", chunks, n);
    int whole = 0, before = -1;
    CkLoop_Parallelize(chunks, 0, n - 1, [&](int first, int last) { whole += last - first + 1; });
    CkLoop_Parallelize(
        chunks, 0, n - 1, [&](int, int) { whole *= 2; }, [&] { before = whole; });
    check(before == n && whole == 2 * n, "a function of the range alone", chunks, n);
  }
};

#include "ckloop_steps.def.h"
