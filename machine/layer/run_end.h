// RunEnd: how a run of several processes ends when it goes wrong: a process is missed, the launcher ends the run, or
// this process does. All of a host see the exit that is announced in its words (host_control_block.h); those of other
// hosts get a notice over the network, and the launcher is told.
//
// Of all that notice an end, one says why.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "machine/bootstrap/layout.h"
#include "machine/layer/host_memory.h"
#include "machine/layer/job_setup.h"
#include "machine/layer/net.h"
#include "machine/layer/watch.h"

namespace periapt::machine {

class RunEnd {
 public:
  /// All outlive this. `net`: null within one host.
  RunEnd(const bootstrap::HostLayout& layout, int process, HostMemory& memory, Job& job, Net* net)
      : layout_(layout), process_(process), memory_(memory), job_(job), net_(net) {}
  ~RunEnd();
  RunEnd(const RunEnd&) = delete;
  RunEnd& operator=(const RunEnd&) = delete;

  /// The network can't reach a process any more; a process gave notice because it ended the run.
  void lost(int which, const std::string& reason);
  void disconnected();

  /// Adds to what is watched what may end this run: the other processes of the host, on `sockets`, and the launcher.
  void watch(WatchConfig& watched, const std::vector<int>& sockets);
  /// The code that the launcher is told when the watch leaves badly. Safe in a signal handler.
  void leave_with(int code) { leaving_with_.store(code, std::memory_order_release); }

 private:
  std::string name_of(int which) const;
  bool ending() const { return memory_.control().has_ended() || memory_.control().exit_announced(); }
  void end_for(int which, const std::string& what, const std::string& where, const std::string& next);
  void end_after(int looks, std::function<void()> otherwise);
  void gone(int socket);
  void ended_by_launcher(const std::string& reason);
  void tell_others();

  const bootstrap::HostLayout& layout_;
  const int process_;
  HostMemory& memory_;
  Job& job_;
  Net* const net_;
  std::atomic<int> leaving_with_{1};
  std::atomic<bool> waits_{false};  // end_after() is at work, or has been
  std::thread waiting_;             // its own
  std::mutex mutex_;
  std::condition_variable left_;
  bool has_left_ = false;  // this is about to go
  std::atomic<bool> told_elsewhere_{false};
};

}  // namespace periapt::machine
