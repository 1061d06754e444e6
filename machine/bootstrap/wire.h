// What World is made of: a Wire is one way of talking to one kind of launcher, and knows only to put short texts under
// keys, to wait for all processes, and to read what others put. world_on_wire() makes a World of any of them: it adds
// bytes of any kind and length, the job's secret, the host of each process, and the watchdog of start-up.
//
// To add a launcher: a Wire, a look_for_...() that says in words why it is not there, and a line in world.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "machine/bootstrap/world.h"

namespace periapt::bootstrap {

/// What a wire knows once it is connected.
struct WireFacts {
  int rank = 0;
  int size = 1;
  std::string job;           ///< the launcher's name of the job; empty: it has none
  std::vector<int> host_of;  ///< by rank; empty: the launcher does not say
  std::string host_source;   ///< where host_of is from, in words
  std::string secret;        ///< empty: has to be made and exchanged
  std::string describe;      ///< "PMI-1 (hydra, job kvs_1)"
  bool watched = false;      ///< the launcher itself says which process is waited for
  StartsAgain starts_again = StartsAgain::never;
  std::size_t longest_key = 63;  ///< characters
  std::size_t longest_value = 1023;
};

class Wire {
 public:
  virtual ~Wire() = default;
  virtual const WireFacts& facts() const = 0;

  /// Keys and values consist of letters, digits, '-', '_' and '.' and keep to the longest lengths. A key is put once.
  virtual Status put(const std::string& key, const std::string& value) = 0;
  /// Waits until every process has called it.
  virtual Status fence() = 0;
  /// A key that no process put before the latest fence is a failure.
  virtual Result<std::string> get(int rank, const std::string& key) = 0;
  /// Like World's; from any thread.
  virtual void abort(int code, const std::string& reason) = 0;
  virtual void finalize() = 0;
  virtual bool well(std::string* reason) = 0;
  virtual int wait_fd() const = 0;
  /// Like World's.
  virtual Status start_again(const std::string&) { return Status::failure("nothing starts this run again"); }
  virtual void checkpoint_begins(const std::string&) {}
};

/// What looking for a launcher came to: a wire, or why there is none. `broken` instead of `absent`: the launcher is
/// there but can't be used, and going on without it would be wrong unless another wire to it works.
struct Looked {
  std::unique_ptr<Wire> wire;
  std::string absent;
  std::string broken;

  static Looked found(std::unique_ptr<Wire> wire) { return {std::move(wire), {}, {}}; }
  static Looked nothing(std::string why) { return {nullptr, std::move(why), {}}; }
  static Looked unusable(std::string why) { return {nullptr, {}, std::move(why)}; }
};

/// The communicator that the program has given (communicator.h).
Looked look_for_communicator();
Looked look_for_own_launcher();
Looked look_for_pmix();
/// Whether PMIx's headers were there at build time.
bool built_with_pmix();
/// The wire that PMI_FD or PMI_PORT leads to; `version` 2 or 1. When a server that was asked for version 2 offers 1
/// only, the wire found speaks 1.
Looked look_for_pmi(int version);

/// Waits until the launcher has read what this process has printed, two seconds at most. Launchers end all processes at
/// once when they are told to abort, or when a process fails, and lose what they have not read: the sentence that says
/// why.
void let_output_through();
/// By Slurm's srun itself, with no other launcher in between.
bool started_by_slurm();

/// Exchanges what the wire does not know by itself (one fence at most).
Result<std::unique_ptr<World>> world_on_wire(std::unique_ptr<Wire> wire, std::vector<std::string> passed_over);

}  // namespace periapt::bootstrap
