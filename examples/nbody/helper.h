// A helper walks parts of other PEs' walks while its own PE has nothing to do.
//
// Its calls come behind all others on the PE, so the first one is delivered when the PE's own pieces have nothing to
// do. It takes a part from the cache, or has itself called when there is one: pieces whose walk goes on see that a PE
// is idle and split a part off.
#pragma once

#include <memory>

#include "examples/nbody/phases.h"
#include "nbody.decl.h"

/// A part of a piece's walk, to be walked anywhere in the process.
struct Part {
  int piece = -1;
  std::unique_ptr<periapt::nbody::Walk> walk;
};

class Helper : public CBase_Helper {
 public:
  Helper() = default;
  explicit Helper(CkMigrateMessage*) {}

  void help();
  void report(CkCallback done);
  /// By pieces of this PE, whose walk is over.
  void addTests(double tests) { work_.tests += tests; }
  /// Seconds spent since this was last asked.
  double takeBusy();

  /// For calls that are to be delivered when a PE has nothing else to do.
  static CkEntryOptions* whenIdle();

 private:
  Part part_;
  double busy_ = 0;
  PeWork work_;
};
