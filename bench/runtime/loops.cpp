// What CkLoop_Parallelize() costs beside its chunks: the time of a loop of 1000 chunks, minus what the same calls take
// a PE, while all PEs make them, divided by the number of PEs; the middle one of so many loops. An ordinary Charm++
// program: a rival's charmc compiles it too, with -module CkLoop; there it needs PEs that are threads of one process.
//
//   loops [ROUNDS]
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "CkLoopAPI.h"
#include "loops.decl.h"

/*readonly*/ CProxy_Main mainProxy;

namespace {
constexpr int chunks = 1000;

int turns_of_chunk;                // of the loop below; written while no helper runs
volatile HelperFn chunk_function;  // volatile: else the compiler sees that all chunks are alike

double work(int turns) {
  double x = 0.5;
  for (int i = 0; i < turns; i++) x = x * 0.999999 + 1e-6;
  return x;
}
void run_chunk(int first, int last, void* result, int, void*) {
  double sum = 0;
  for (int i = first; i <= last; i++) sum += work(turns_of_chunk);
  *static_cast<double*>(result) = sum;
}

double middle(std::vector<double>& times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}
// Seconds that one PE takes.
double alone(int rounds) {
  std::vector<double> times;
  for (int round = 0; round < rounds; round++) {
    const double begin = CkWallTimer();
    double sum = 0, one = 0;
    for (int i = 0; i < chunks; i++) chunk_function(i, i, &one, 0, nullptr), sum += one;
    times.push_back(CkWallTimer() - begin);
    if (sum < 0) CkAbort("loops: a sum is wrong");
  }
  return middle(times);
}
// The same on all PEs at a time: one that runs alone has a faster clock.
void alone_on_each(int first, int last, void* result, int, void*) {
  double sum = 0;
  for (int i = first; i <= last; i++) sum += alone(1);
  *static_cast<double*>(result) = sum;
}
double beside_others(int rounds) {
  std::vector<double> times;
  for (int round = 0; round < rounds; round++) {
    double sum = 0;
    CkLoop_Parallelize(alone_on_each, 0, nullptr, CkMyNodeSize(), 0, CkMyNodeSize() - 1, 1, &sum, CKLOOP_DOUBLE_SUM);
    times.push_back(sum / CkMyNodeSize());
  }
  return middle(times);
}
double together(int rounds) {
  std::vector<double> times;
  const double expected = work(turns_of_chunk) * chunks;
  for (int round = 0; round < rounds; round++) {
    const double begin = CkWallTimer();
    double sum = 0;
    CkLoop_Parallelize(run_chunk, 0, nullptr, chunks, 0, chunks - 1, 1, &sum, CKLOOP_DOUBLE_SUM);
    times.push_back(CkWallTimer() - begin);
    if (sum < expected * 0.999 || sum > expected * 1.001) CkAbort("loops: a sum is wrong");
  }
  return middle(times);
}
}  // namespace

class Main : public CBase_Main {
  int rounds_ = 300;

 public:
  explicit Main(CkArgMsg* m) {
    if (m->argc > 1) rounds_ = std::atoi(m->argv[1]);
    if (rounds_ < 1) CkAbort("loops: ROUNDS is %s, and has to be a number from 1 on: loops 300", m->argv[1]);
    delete m;
    mainProxy = thisProxy;
    CkLoop_Init(CkNumPes());
    CkStartQD(CkCallback(CkIndex_Main::measure(), thisProxy));
  }
  explicit Main(CkMigrateMessage*) {}

  void measure() {
    chunk_function = run_chunk;
    turns_of_chunk = 100000;
    const double turns_a_us = 1e-6 * turns_of_chunk * chunks / alone(3);
    for (const double us : {0.0, 1.0, 10.0}) {
      turns_of_chunk = static_cast<int>(us * turns_a_us);
      together(std::max(rounds_ / 10, 1));
      const double one = beside_others(std::max(rounds_ / 10, 3)), all = together(rounds_);
      CkPrintf("%4.0f us a chunk: a loop %9.2f us, on one PE %9.2f, beside its chunks %8.2f\n", us, all * 1e6,
               one * 1e6, (all - one / CkMyNodeSize()) * 1e6);
    }
    CkExit();
  }
};

#include "loops.def.h"
