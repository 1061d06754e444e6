// See helper.h.
#include "examples/nbody/helper.h"

#include <limits>
#include <utility>

#include "examples/nbody/cache.h"

extern CProxy_Cache cache;
extern CProxy_Helper helpers;

CkEntryOptions* Helper::whenIdle() {
  static thread_local CkEntryOptions options;
  options.setPriority(std::numeric_limits<int>::max());
  return &options;
}

/// Goes on with a part, or takes one. If there is none, the cache calls when there is.
void Helper::help() {
  Cache& shared = *cache.ckLocalBranch();
  if (!part_.walk) part_ = shared.takePart(CkMyPe());
  if (!part_.walk) return;
  const double began = CkWallTimer();
  const bool more = part_.walk->advance(sinks_at_a_time);
  busy_ += CkWallTimer() - began;
  more ? shared.share(part_.piece, *part_.walk) : shared.giveBack(std::move(part_));
  helpers[CkMyPe()].help(whenIdle());
}

void Helper::report(CkCallback done) {
  if (CkMyRank() == 0) work_.blocks = double(cache.ckLocalBranch()->fetchedBlocks());
  contribute(sizeof work_, &work_, CkReduction::concat, done);
  work_ = {};
}

double Helper::takeBusy() { return std::exchange(busy_, 0); }
