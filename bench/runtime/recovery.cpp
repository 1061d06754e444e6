// What a checkpoint in memory costs beside a memcpy of the same bytes, and how long after kill -9 of a process the
// program goes on.
//
//   bench_recovery FILE MEGABYTES [ROUNDS] +p8 +ppn 1
//
// So many MB of state are spread over the PEs, in elements of 1 MB. In each round all PEs copy it into memory that they
// have touched before, and then a checkpoint is made; the first one is the one that gets its memory from the system.
// Then a process kills itself; FILE is where it says when, for those that go on have another start.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "charm++.h"
#include "recovery.decl.h"

CProxy_Main mainProxy;
int elementBytes;

namespace {
// Of the machine: the same for all processes.
double now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}
}  // namespace

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* arguments) {
    if (arguments->argc < 3) CkAbort("bench_recovery FILE MEGABYTES [ROUNDS]");
    file = arguments->argv[1];
    elements = std::atoi(arguments->argv[2]);
    rounds = arguments->argc > 3 ? std::max(std::atoi(arguments->argv[3]), 2) : 5;
    elementBytes = 1000000;
    delete arguments;
    mainProxy = thisProxy;
    holders = CProxy_Holder::ckNew(elements);
  }
  explicit Main(CkMigrateMessage*) {}
  void pup(PUP::er& p) {
    p | elements;
    p | rounds;
    p | holders;
    p | file;
    p | copies;
    p | checkpoints;
  }
  void made() { next(); }
  void copied() {
    copies.push_back(now_ms() - began);
    began = now_ms();
    CkStartMemCheckpoint(CkCallback(CkIndex_Main::stored(), thisProxy));
  }
  void stored() {
    if (_restarted) return went_on();
    checkpoints.push_back(now_ms() - began);
    if (static_cast<int>(checkpoints.size()) < rounds) return next();
    if (!CkHasCheckpoints()) CkAbort("no checkpoint is kept: use +p8 +ppn 1");
    print();
    holders[elements - 1].die(file);
  }
  void checked(std::int64_t bytes) {
    if (bytes != std::int64_t(elements) * elementBytes) CkAbort("elements have lost bytes");
    CkExit(0);
  }

 private:
  void next() {
    began = now_ms();
    holders.copy();
  }
  void print() const {
    const std::vector<double> later(checkpoints.begin() + 1, checkpoints.end());
    CkPrintf("%d MB on %d PEs in %d processes: memcpy %.1f ms, checkpoint in memory %.1f ms (the first %.1f ms)\n",
             elements, CkNumPes(), CkNumNodes(), median(copies), median(later), checkpoints.front());
  }
  void went_on() {
    const double now = now_ms();
    std::FILE* in = std::fopen(file.c_str(), "r");
    double killed = 0;
    if (in == nullptr || std::fscanf(in, "%lf", &killed) != 1) CkAbort("nothing says when the process was killed");
    std::fclose(in);
    std::remove(file.c_str());
    CkPrintf("goes on %.1f ms after kill -9 of a process\n", now - killed);
    holders.check();
  }

  std::string file;
  int elements = 0, rounds = 0;
  CProxy_Holder holders;
  std::vector<double> copies, checkpoints;
  double began = 0;
};

class Holder : public CBase_Holder {
 public:
  Holder() : bytes(static_cast<std::size_t>(elementBytes), static_cast<char>(thisIndex)), second(bytes) {
    contribute(CkCallback(CkReductionTarget(Main, made), mainProxy));
  }
  explicit Holder(CkMigrateMessage*) {}
  void pup(PUP::er& p) { p | bytes; }
  void copy() {
    std::memcpy(second.data(), bytes.data(), bytes.size());
    contribute(CkCallback(CkReductionTarget(Main, copied), mainProxy));
  }
  void die(const std::string& file) {
    std::FILE* out = std::fopen(file.c_str(), "w");
    if (out == nullptr) CkAbort("the file cannot be written");
    std::fprintf(out, "%.6f\n", now_ms());
    std::fclose(out);
    CkDieNow();
  }
  void check() {
    for (char byte : {bytes.front(), bytes.back()})
      if (byte != static_cast<char>(thisIndex)) CkAbort("an element has other bytes");
    const auto size = static_cast<std::int64_t>(bytes.size());
    contribute(sizeof size, &size, CkReduction::sum_long, CkCallback(CkReductionTarget(Main, checked), mainProxy));
  }

 private:
  std::vector<char> bytes, second;
};

#include "recovery.def.h"
