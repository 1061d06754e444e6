// Workers send items that lead to further items, a tree each, and move meanwhile; a detection finds the end of each
// round. At that end every item has been consumed, or the detection was too early.
#include "completion.h"

#include "completion_steps.decl.h"

CProxy_Main mainProxy;

namespace {
constexpr int workers = 12, rounds = 12;
// Wide trees, and chains with one item under way at any time: a wave may miss that it was produced, and see it
// consumed.
int depth_of(int round) { return round % 3 == 2 ? 400 : 3; }
int width_of(int round) { return round % 3 == 2 ? 1 : round % 3 * 3; }
// Items below one of `depth`.
int tree(int depth, int width) { return depth == 0 ? 0 : width + width * tree(depth - 1, width); }
}  // namespace

class Main : public CBase_Main {
  CProxy_CompletionDetector detector_;
  CProxy_Worker workers_;
  int round_ = 0, started_ = 0, all_produced_ = 0;

 public:
  explicit Main(CkArgMsg* m) {
    delete m;
    mainProxy = thisProxy;
    detector_ = CProxy_CompletionDetector::ckNew();
    workers_ = CProxy_Worker::ckNew(detector_, workers);
    begin();
  }
  void begin() {
    detector_.start_detection(workers, CkCallback(CkIndex_Main::started(nullptr), thisProxy),
                              CkCallback(CkIndex_Main::all_produced(), thisProxy),
                              CkCallback(CkIndex_Main::finished(nullptr), thisProxy), 0);
    workers_.produce(depth_of(round_), width_of(round_));  // before or after the detection has begun there
  }
  void started(CkReductionMsg* m) {
    delete m;
    ++started_;
  }
  void all_produced() { ++all_produced_; }
  void finished(CkReductionMsg* m) {
    delete m;
    workers_.report();
  }
  void sum(int consumed) {
    const int expected = (width_of(round_) == 1 ? 1 : workers) * tree(depth_of(round_), width_of(round_));
    ++round_;
    if (consumed != expected || started_ != round_ || all_produced_ > round_) {
      CkPrintf("failed: round %d has ended with %d of %d items, %d started, %d all produced\n", round_, consumed,
               expected, started_, all_produced_);
      CkExit(1);
    } else if (round_ < rounds) {
      begin();
    } else {
      CkExit(0);
    }
  }
};

class Worker : public CBase_Worker {
  CProxy_CompletionDetector detector_;
  int consumed_ = 0;

 public:
  explicit Worker(CProxy_CompletionDetector detector) : detector_(detector) {}
  explicit Worker(CkMigrateMessage*) {}
  void pup(PUP::er& p) {
    p | detector_;
    p | consumed_;
  }

  // One producer: what follows from its items is produced before each is consumed.
  void produce(int depth, int width) {
    if (width != 1 || thisIndex == 0) send(depth, width);
    detector_.ckLocalBranch()->done();
    migrateMe((CkMyPe() + 1) % CkNumPes());
  }
  void item(int depth, int width) {
    send(depth, width);
    detector_.ckLocalBranch()->consume();
    ++consumed_;
  }
  void report() {
    contribute(sizeof consumed_, &consumed_, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, sum), mainProxy));
    consumed_ = 0;
  }

 private:
  void send(int depth, int width) {
    if (depth == 0) return;
    detector_.ckLocalBranch()->produce(width);
    for (int i = 0; i < width; ++i) thisProxy[(thisIndex + i * 5 + depth) % workers].item(depth - 1, width);
  }
};

#include "completion_steps.def.h"
