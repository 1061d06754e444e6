// See completion.h.
#include "completion.h"

void CompletionDetector::Counts::pup(PUP::er& p) {
  p | done;
  p | produced;
  p | consumed;
}
void CompletionDetector::pup(PUP::er& p) {
  p | here_;
  p | wave_;
  p | last_;
  p | runs_;
  p | all_produced_;
  p | producers_;
  p | on_all_produced_;
  p | on_finish_;
}

void CompletionDetector::start_detection(int producers, CkCallback start, CkCallback all_produced, CkCallback finish,
                                         int) {
  if (runs_)
    CkAbort(
        "CompletionDetector::start_detection() is called while a detection runs: start it again when `finish` has been "
        "called");
  if (finish.isInvalid())
    CkAbort("CompletionDetector::start_detection() without a callback for the end: nothing would tell of it");
  runs_ = true;
  producers_ = producers;
  on_all_produced_ = all_produced;
  on_finish_ = finish;
  if (!start.isInvalid()) contribute(start);
  count();
}

void CompletionDetector::count() {
  wave_ = here_;
  contribute(sizeof wave_, &wave_, CkReduction::sum_int,
             CkCallback(CkReductionTarget(CompletionDetector, counted), thisProxy));
}

// The counts of a wave are taken at different times, so events that lead to others may be seen without those that led
// to them. Two waves with the same counts have seen all: nothing was produced or consumed between them (F. Mattern,
// "Algorithms for distributed termination detection", 1987).
void CompletionDetector::counted(int done, int produced, int consumed) {
  const bool was_all_produced = all_produced_;
  all_produced_ = done >= producers_;
  if (all_produced_ && !was_all_produced && CkMyPe() == 0 && !on_all_produced_.isInvalid()) on_all_produced_.send();
  const bool all_consumed = consumed == produced && last_.consumed == consumed && last_.produced == produced;
  last_ = {done, produced, consumed};
  if (!was_all_produced || !all_consumed) return count();
  // What has been counted since the wave belongs to the next detection.
  here_.done -= wave_.done;
  here_.produced -= wave_.produced;
  here_.consumed -= wave_.consumed;
  runs_ = all_produced_ = false;
  last_ = Counts();
  contribute(on_finish_);
}

#include "completion.def.h"
