// NetPeers: what the workers of a process know together of the other processes: how their workers are called and
// reached, and which have gone. Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "machine/layer/net_config.h"
#include "machine/ucx-like/transport.h"

namespace periapt::machine {

class NetPeers {
 public:
  /// Most workers of a process; a worker's number fits a byte of a key.
  static constexpr int kWorkersMax = NetOptions::kWorkersMax;
  using Address = std::vector<std::byte>;

  explicit NetPeers(const NetConfig& config);

  int processes() const { return processes_; }
  /// A number for each worker of the run, less than processes() * kWorkersMax. The first worker of a process has the
  /// number of the process.
  int index_of(int process, int worker) const { return worker * processes_ + process; }
  /// The engine's name of it; 0 names no worker.
  static ucx::PeerId id_of(int index) { return static_cast<ucx::PeerId>(index) + 1; }
  static int index_of(ucx::PeerId peer) { return static_cast<int>(peer) - 1; }
  int process_of(ucx::PeerId peer) const { return index_of(peer) % processes_; }

  /// Of what another process has told; nothing: it makes no sense.
  static std::optional<std::vector<Address>> read_addresses(const std::string& text);

  /// Tells the others where the workers of this process are reached; they know after the next fence.
  Status announce(const std::vector<Address>& own) const;
  /// Those of another process; asked for at the first call. Ends the run if they are not to be had.
  const std::vector<Address>& addresses_of(int process);

  /// A worker of a process has gone. Told once for each process.
  void lost(ucx::PeerId peer, const std::string& reason);
  /// There is no way to a worker of a process. Of one that has gone that has been told, and the run ends; else it ends
  /// here.
  [[noreturn]] void refuse_to_connect(int process, const std::string& why);
  /// One has ended the run.
  void disconnected(ucx::PeerId peer);
  /// The process that has ended the run; -1: none.
  int ended_by() const { return ended_by_.load(std::memory_order_relaxed); }

 private:
  const NetConfig& config_;
  int processes_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<std::vector<Address>>> addresses_;  // by process; null: not asked for yet
  std::vector<bool> told_lost_;                                   // by process
  std::atomic<int> ended_by_{-1};
};

}  // namespace periapt::machine
