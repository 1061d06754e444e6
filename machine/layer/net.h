// Net: messages to PEs on other hosts. One a process. It opens the transports and one or more workers on them
// (net_worker.h), and shares the PEs of the process out to the workers.
//
// There is no network thread: any PE that sends, or looks for work, drives a worker if no other PE of the process is
// driving it at that moment. A PE that finds its worker taken leaves its messages in a queue, and the driver sends
// them. A PE drives its own worker, which is the far side of its Port, and now and then another one whose PEs may be
// busy.
//
// A message has a tag that says for which PE it is, and its number among those from that worker to this one. A line
// goes as a short active message, and is copied from where it lies; or, if it could not go at once, in a block. A block
// goes as a tagged message, and each worker has one persistent receive, which takes it into a block of its size from
// the heap of the PE that drives. All are delivered in the order of the numbers: the runtime counts on the order of
// messages between two PEs, but a large one may come after those that were sent behind it. What is for the PE that
// drives it gets at once; what is for another one waits in that one's delivery queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "machine/host/inbox.h"
#include "machine/layer/net_access.h"
#include "machine/layer/net_config.h"
#include "machine/layer/net_peers.h"
#include "machine/layer/net_worker.h"

namespace periapt::machine {

class Net {
 public:
  using Access = NetAccess;

  /// Whether the settings make sense: known transports, values of options that are understood. Opens nothing.
  static Status check(const NetSettings& settings);

  /// How many workers a process has in a run of so many of its kind; `wanted` is what +workers says, 0: nothing.
  static int workers_for(const bootstrap::Process& process, int processes, int wanted);

  /// Opens the transports and tells the others where this process is reached; they may be sent to after the next fence.
  static Result<std::unique_ptr<Net>> open(const NetConfig& config);

  /// By own PE: its worker.
  std::vector<host::FarSide*> far_sides() const;
  /// Before the first message: the Port of each own PE.
  void set_ports(std::vector<host::Port*> ports) { ports_ = std::move(ports); }

  // ---- one-sided access to memory of this process and of others on other hosts

  /// Lets holders of the answer, a key of at most `key_bytes_max` bytes, reach those bytes until forget_memory(id).
  Result<std::vector<std::byte>> register_memory(std::uint64_t id, std::span<std::byte> bytes,
                                                 std::size_t key_bytes_max,
                                                 ucx::MemoryKind kind = ucx::MemoryKind::host);
  void forget_memory(std::uint64_t id);
  /// From the thread of the PE `from`. Never blocks.
  void access(int from, Access access);

  // ---- driving

  /// FarSide::progress() of all workers, for the last PE that drives; what comes for it is of no interest any more.
  bool progress_all(int pe);

  /// Before the PE `pe` sleeps: false when there is something to do. After true, one of wait_fds() gets readable when
  /// there is.
  bool arm(int pe);
  /// After an arm() that said true: that PE is awake again.
  void awake();
  /// One for each worker; none: there is nothing to wait for, and one has to look.
  std::vector<int> wait_fds() const;

  /// This process ends the run and has said why: those that it is connected with are told, so that they end without a
  /// word. Any thread; takes some milliseconds. A worker that a PE keeps using is left out.
  void shutdown();

  // ---- what there is, and what was chosen

  std::string explain() const;
  /// As the first worker uses them: also those that could not be opened, with the reason.
  const std::vector<ucx::Device>& devices() const { return workers_.front()->engine().devices(); }
  int workers() const { return static_cast<int>(workers_.size()); }
  /// What was measured is kept for the next run (+cost-file). After the last message.
  Status keep_costs() const;

 private:
  explicit Net(const NetConfig& config) : config_(config), peers_(config_) {}
  Status start();

  std::size_t rank_of(int pe) const { return static_cast<std::size_t>(pe + config_.origin - config_.own().first_pe); }
  host::Port& port_of(int pe) const { return *ports_[rank_of(pe)]; }
  NetWorker& worker_of(int pe) const { return *worker_of_[rank_of(pe)]; }
  bool drive_others(int pe);
  std::string name_of_peer(ucx::PeerId peer) const;

  NetConfig config_;
  NetPeers peers_;
  std::unique_ptr<ucx::Context> context_;
  std::vector<std::unique_ptr<NetWorker>> workers_;
  std::vector<NetWorker*> worker_of_;  // by own PE
  std::vector<host::Port*> ports_;     // the same
  std::atomic<int> sleepers_{0};       // own PEs between arm() and awake()
};

}  // namespace periapt::machine
