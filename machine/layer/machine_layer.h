// MachineLayer: the runtime's only door to the machine. One a process. It knows the layout of the run, gives each PE
// its Port (messages to other PEs) and Heap (message memory), and carries the few words that the processes of a host
// share: the barrier of start-up and exit, and the word that ends the run.
//
//   auto layer = MachineLayer::start(argc, argv);            // several processes: returns in each of them
//   for each carrier c of layer->layout().processes[layer->process()]: an OS thread that does
//       layer->enter(c);                                      // binds the thread, then
//       ... runs the PEs of layout().carriers[c] on layer->port(pe), layer->heap(pe) ...
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "machine/bootstrap/layout.h"
#include "machine/shm/arena.h"
#include "machine/shm/heap.h"
#include "machine/shm/inbox.h"

namespace periapt::machine {

/// How a PE is reached.
enum class Route : unsigned char {
  self_process,  ///< another PE of this process: a Port
  same_host,     ///< another process of this host: a Port
  other_host,    ///< not reachable yet
};

class MachineLayer {
 public:
  /// Takes its options out of argv, works out the layout, maps memory and starts the other processes. With several
  /// processes the caller's process becomes their watching parent and never returns from here; each child returns.
  /// A command line that makes no sense ends the program with status 1 and a message.
  static std::unique_ptr<MachineLayer> start(int& argc, char** argv);

  /// A layer for a layout, in this process alone if it has one process; otherwise as above. For tests and benchmarks.
  static Result<std::unique_ptr<MachineLayer>> start(const bootstrap::HostLayout& layout);

  ~MachineLayer();
  MachineLayer(const MachineLayer&) = delete;
  MachineLayer& operator=(const MachineLayer&) = delete;

  const bootstrap::HostLayout& layout() const;
  int process() const;   ///< rank of this process
  int pes() const;       ///< of the run
  int first_pe() const;  ///< of this process
  int own_pes() const;   ///< of this process

  /// Of a PE of this process; used by the thread that runs it.
  shm::Port& port(int pe);
  shm::Heap& heap(int pe);
  const shm::Arena& arena() const;

  Route route(int pe) const;
  /// Fatal, with the reason, when a PE can't be reached from here.
  void require_reachable(int pe) const;

  /// Called first on a carrier's own thread: binds it to its cpu.
  void enter(bootstrap::CarrierId carrier);

  /// Waits until every carrier of the run has called it as often. Returns false when the run is ending instead.
  [[nodiscard]] bool barrier();

  /// 256 bytes of shared memory for each PE, zero at start, on lines of their own: for what the runtime shares without
  /// messages. They are the runtime's entirely.
  static constexpr std::size_t kBoardBytes = 256;
  std::byte* board(int pe) const;

  /// Ends the run: the first code announced stands; every carrier of every process is woken. Safe from any thread and
  /// from a signal handler.
  void announce_exit(int code);
  /// The program has ended as it should: every process is about to leave with the program's exit status.
  void announce_end();
  /// One load; look at it now and then.
  bool exit_announced() const;
  /// The code announced; 0 before.
  int exit_code() const;

  /// The layer of this process, for the fatal hook and the public API; nullptr before start.
  static MachineLayer* current();

 private:
  struct State;
  explicit MachineLayer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace periapt::machine
