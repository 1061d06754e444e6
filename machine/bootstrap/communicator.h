// Processes that another library has started and that already know each other, MPI's above all: those of one of its
// communicators become a run. Whatever launcher is around, it is that library's.
#pragma once

#include "base/status.h"

namespace periapt::bootstrap {

/// What is wanted of it. All calls are made by all of its processes, in the same order, one at a time, and mostly on
/// the thread that begins the run.
struct Communicator {
  int rank = 0;
  int size = 1;
  void* context = nullptr;
  /// `bytes` of each process, by rank, into `all` of each. 0: done.
  int (*gather)(void* context, const void* bytes, int size, void* all) = nullptr;
  /// Ends its processes. From any thread.
  void (*abort)(void* context, int code) = nullptr;
};

/// World::find() answers with its processes from now on. Once, before the run begins.
void run_on(const Communicator& communicator);
bool runs_on_communicator();

}  // namespace periapt::bootstrap
