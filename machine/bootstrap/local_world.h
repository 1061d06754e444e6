// A World of processes that were forked from one another on this machine and share a page of memory: the processes of a
// program that started itself, when they are to talk over a transport instead of sharing message memory.
#pragma once

#include <memory>

#include "machine/bootstrap/world.h"

namespace periapt::bootstrap {

/// The shared memory; made before the fork, then asked for each process's World.
class LocalBoard {
 public:
  static Result<LocalBoard> make(int processes);
  /// After the fork. The board must outlive it.
  std::unique_ptr<World> world(int rank) const;
  /// A process has called abort() or finalize(): for the watching parent.
  bool ended() const;
  bool aborted() const;

 private:
  struct Memory;
  Memory* memory_ = nullptr;
};

}  // namespace periapt::bootstrap
