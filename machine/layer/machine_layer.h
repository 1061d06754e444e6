// MachineLayer: the runtime's only door to the machine. One a process. It knows the layout of the run, gives each PE
// its Port (messages to other PEs) and Heap (message memory), and carries the few words that the processes of a host
// share: the barrier of start-up and exit, and the word that ends the run. Messages to PEs of other hosts go through
// the far side of the same Port: a worker of the process's Net.
//
// How a run starts: a launcher that started the processes is found (bootstrap/world.h), or this process starts them
// itself; those of one host share memory (shm_handshake.h), unless they were told not to; the others are reached by
// net.
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
#include "machine/bootstrap/partitions.h"
#include "machine/bootstrap/resized_start.h"
#include "machine/host/arena.h"
#include "machine/host/heap.h"
#include "machine/host/inbox.h"
#include "machine/layer/one_sided.h"
#include "machine/layer/wire_format.h"

namespace periapt::sim {
class Machine;
struct Options;
}  // namespace periapt::sim
namespace periapt::machine {

struct NetOptions;

/// How a PE is reached.
enum class Route : unsigned char {
  self_process,  ///< another PE of this process: a Port
  same_host,     ///< another process of this host: a Port
  other_host,    ///< by Net, over a transport
};

class MachineLayer {
 public:
  /// A caller with options of its own to look at calls this first: a fatal error on the way to start() is then told by
  /// one process of the run, whichever launcher started it, and ends all of them.
  static void expect_start();

  /// Takes its options out of argv, works out the layout, maps memory and starts the other processes. Where it starts
  /// them, the caller's process becomes their watching parent and never returns from here; each child returns.
  /// A command line that makes no sense ends the program with status 1 and a message.
  static std::unique_ptr<MachineLayer> start(int& argc, char** argv);

  /// A layer for a layout, in this process alone if it has one process; otherwise as above. For tests and benchmarks.
  static Result<std::unique_ptr<MachineLayer>> start(const bootstrap::HostLayout& layout);
  /// The same with options; of these +shm-cma matters.
  static Result<std::unique_ptr<MachineLayer>> start(const bootstrap::HostLayout& layout, const NetOptions& options);

  ~MachineLayer();
  MachineLayer(const MachineLayer&) = delete;
  MachineLayer& operator=(const MachineLayer&) = delete;

  // What this layer says of the run, and the numbers of PEs and processes it is asked with, are about the partition of
  // this process: nearly always the whole run.
  const bootstrap::HostLayout& layout() const;
  int process() const;   ///< rank of this process
  int pes() const;       ///< of the run
  int first_pe() const;  ///< of this process
  int own_pes() const;   ///< of this process

  /// The whole run, whatever its partitions.
  const bootstrap::HostLayout& whole_run() const;
  const bootstrap::Partitions& partitions() const;
  int partition() const;  ///< of this process
  int origin() const;     ///< number in the whole run of the partition's PE 0
  /// Partitions for a program that is started without such options (its setDefaultPartitionParams()). Before start().
  static bootstrap::PartitionRequest& default_partitions();

  /// Of a PE of this process; used by the thread that runs it.
  host::Port& port(int pe);
  host::Heap& heap(int pe);
  const host::Arena& arena() const;

  Route route(int pe) const;

  /// Get and put between memory of this process and memory that others have registered. A block that a Port or the
  /// network delivers with OneSided::kRmaRequestMeta is to be given to its take_request().
  OneSided& one_sided() { return *one_sided_; }

  // ---- other hosts

  /// How what is sent to other hosts looks: the runtime knows. What comes from there and does not look like that ends
  /// the run. Before the first message.
  void set_wire_format(const WireFormat& format);
  /// Are there any? Then each Port has a far() side.
  bool has_net() const { return net_; }
  /// Port::sleep() that the network ends too.
  void sleep(int pe, std::uint64_t deadline_ns);

  // ---- a simulated machine

  /// Of +sim: all PEs of all its nodes are in this process, one thread runs them, in the order that this says; nullptr
  /// in a real run.
  sim::Machine* simulated() const { return simulated_; }
  /// What this layer says of "this host" and "this process" is from now on about the simulated node `process`.
  void set_sim_context(int process);

  /// Called first on a carrier's own thread: binds it to its cpu.
  void enter(bootstrap::CarrierId carrier);

  /// Waits, blocking the thread, until every carrier of the run, of all partitions, has called it as often. Returns
  /// false when the run is ending instead.
  [[nodiscard]] bool barrier();

  /// 256 bytes of shared memory for each PE, zero at start, on lines of their own: for what the runtime shares without
  /// messages. They are the runtime's entirely.
  static constexpr std::size_t kPePageBytes = 256;
  std::byte* pe_page(int pe) const;

  /// Ends the run: the first code announced stands; every carrier of every process of this host is woken. Safe from any
  /// thread and from a signal handler.
  void announce_exit(int code);
  /// The same for all processes of the run, and the launcher, after this one has said why; the caller is about to
  /// leave. At most a second. Safe like announce_exit().
  void end_badly(int code);
  /// All is done: waits until all processes of the run have come here, for none may miss another. From the last thread
  /// of the process that is still busy; `pe`: its.
  void leave(int pe);
  /// Whether the run, when it ends, can be started again with another number of PEs; else why not.
  Status may_be_resized() const;
  /// Where it can: whether its checkpoint is kept in memory; else it goes to a folder.
  bool resizes_in_memory() const;
  /// The memory for it, where it is kept there: it is there from here on.
  Status keep_memory_for_resize();
  /// On one PE, before the end: the run is then started again with `start`.
  Status resize(const bootstrap::ResizedStart& start);
  /// A checkpoint is being written to `folder`: what started the run may need it when it is whole (charmrun ++recover).
  void checkpoint_begins(const std::string& folder);
  /// The last thing in a process: does not come back where the process itself is to be the program again.
  void start_again_if_resized();
  /// The program has ended as it should: every process is about to leave with the program's exit status. One that has
  /// several partitions has ended when all have come to leave(), so nothing is announced yet.
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
  static std::unique_ptr<MachineLayer> simulate(const sim::Options& options);
  static Result<std::unique_ptr<MachineLayer>> start(const bootstrap::HostLayout& layout,
                                                     const bootstrap::Partitions& partitions,
                                                     const NetOptions& options);
  // Until all partitions have come to leave().
  void wait_for_partitions(int pe);
  // Runs wait(), on a thread of its own where the network is driven meanwhile.
  template <class Wait>
  void drive_while(int pe, Wait&& wait);
  // barrier() for the carriers of this host.
  [[nodiscard]] bool host_barrier();
  std::unique_ptr<State> state_;
  bool net_ = false;
  OneSided* one_sided_;
  sim::Machine* simulated_ = nullptr;
};

}  // namespace periapt::machine
