// World: how the processes of a run come to know each other, whichever launcher started them.
//
// Found at run time, in this order: a communicator that the program gives (CharmLibInit), our own launcher (charmrun;
// it stands nearest, whatever started it), PMIx, PMI-1 and PMI-2 (Slurm's and hydra's wires), alone. The same program
// runs under each. docs/launching.md says how to start under which launcher; world.cpp holds the list.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace periapt::bootstrap {

/// By what a run that ends can be started again with another number of PEs (resized_start.h).
enum class StartsAgain { never, itself, launcher };

class World {
 public:
  virtual ~World() = default;

  virtual int rank() const = 0;  ///< of this process, as the launcher counts
  virtual int size() const = 0;  ///< processes
  /// Which host each process is on: any numbering, equal for processes that can share memory. A launcher may run
  /// several "nodes" on one machine (Slurm with many slurmd): its word counts, not gethostname().
  virtual const std::vector<int>& host_of() const = 0;
  /// The job's own name, for files and sockets: unique among jobs on the machine.
  virtual const std::string& job() const = 0;
  /// Equal in all processes, unknown to others: connections without it are refused.
  virtual const std::string& secret() const = 0;

  /// Makes a value known under a name; others see it after a fence. Any bytes, up to 4096 (split underneath if need
  /// be). A process puts a name once. Names are short (40 characters): letters, digits, '-', '_' and '.'.
  virtual Status put(const std::string& name, const std::string& value) = 0;
  /// Waits until every process has called it.
  virtual Status fence() = 0;
  /// What process `rank` put under the name, before the latest fence.
  virtual Result<std::string> get(int rank, const std::string& name) = 0;

  /// The run ends badly: tells the launcher, so that it ends all processes. `reason`: for the launcher to say; empty:
  /// it has been said. Safe to call from any thread. Returns.
  virtual void abort(int code, const std::string& reason) = 0;
  /// The run ended as it should; a launcher that waits for this is told.
  virtual void finalize() = 0;

  /// Called from time to time by the process: false when the launcher or another process has ended the run; then
  /// `reason` says why; empty: it has been said. Never blocks. `wait_fd()` becomes readable then (-1: there is none).
  virtual bool well(std::string* reason) = 0;
  virtual int wait_fd() const = 0;

  virtual StartsAgain starts_again() const { return StartsAgain::never; }
  /// Where it is the launcher: when all processes have left with status 0 it starts the run again, with `start` in its
  /// environment.
  virtual Status start_again(const std::string&) { return Status::failure("nothing starts this run again"); }
  /// A checkpoint is being written to `folder`: when it is whole, a launcher that has lost a host can start the run
  /// from it.
  virtual void checkpoint_begins(const std::string&) {}

  /// "PMIx 4.2 (Slurm, step 7.0)", for +verbose.
  virtual const std::string& describe() const = 0;
  /// What else was looked for, and why it was not taken, a line each.
  virtual const std::vector<std::string>& passed_over() const = 0;

  /// Finds the launcher. Alone: a world of one. Fails, with the reason, when there is a launcher that does not answer.
  static Result<std::unique_ptr<World>> find();
};

}  // namespace periapt::bootstrap
