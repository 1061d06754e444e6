// Completion detection (-module completion): finds out when all that producers have produced has been consumed, in a
// part of a program, while the rest goes on. C++17: programs include it.
//
//   CProxy_CompletionDetector detector = CProxy_CompletionDetector::ckNew();
//   detector.start_detection(producers, started, all_produced, finished, priority);
//
// `started` is called when every PE counts, `all_produced` when `producers` calls of done() have been made, `finished`
// when as many events have been consumed as were produced; then the detector may be started again. The first two may be
// invalid. An event may lead to others if they are produced before it is consumed. Events count from the end of the
// detection before: producing need not wait for `started`. What the calls below count on any PE is added up in waves,
// each a reduction, as long as a detection runs.
#pragma once
#include "completion.decl.h"

class CompletionDetector : public CBase_CompletionDetector {
 public:
  CompletionDetector() = default;
  explicit CompletionDetector(CkMigrateMessage*) {}
  void pup(PUP::er& p);

  // For objects on this PE, by ckLocalBranch().
  void produce(int events = 1) { here_.produced += events; }
  void consume(int events = 1) { here_.consumed += events; }
  // So many producers will not produce any more.
  void done(int producers = 1) { here_.done += producers; }

  void start_detection(int producers, CkCallback start, CkCallback all_produced, CkCallback finish, int priority);
  void counted(int done, int produced, int consumed);

 private:
  struct Counts {
    int done = 0, produced = 0, consumed = 0;
    void pup(PUP::er& p);
  };
  void count();

  Counts here_;  // since the end of the last detection
  Counts wave_;  // as the wave that runs was told
  Counts last_;  // the sums of the wave before
  // The detection that runs; the same on every PE.
  bool runs_ = false;
  bool all_produced_ = false;  // an earlier wave has seen so
  int producers_ = 0;
  CkCallback on_all_produced_, on_finish_;
};
