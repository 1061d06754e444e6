// Watch: a thread that sleeps until something happens that no PE would notice: another process of the host has gone,
// the launcher ends the run, or a network that all PEs sleep on has something for us. It never touches a message.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace periapt::machine {

struct WatchConfig {
  std::vector<int> sockets;                           ///< readable: the process behind it has gone
  int launcher_fd = -1;                               ///< readable: ask the launcher
  std::function<bool(std::string* reason)> launcher;  ///< false: it ends the run; empty: there is none
  std::vector<int> net_fds;                           ///< readable: the network has something

  // Called on the watching thread.
  std::function<void(int socket_index)> gone;
  std::function<void(const std::string& reason)> ended_by_launcher;
  std::function<void()> net_ready;
  std::function<void()> leaving_badly;  ///< leave_badly() was called
};

class Watch {
 public:
  explicit Watch(WatchConfig watched);
  ~Watch();

  /// net_ready is called once, when the network has something.
  void arm_net();
  /// Calls leaving_badly on the watching thread; returns when it is done, or after a second. Safe in a signal handler.
  void leave_badly();
  /// From now on processes may end.
  void expect_ends() { ends_expected_.store(true, std::memory_order_release); }

 private:
  void run();
  void disarm_net();
  void look_at_launcher();

  WatchConfig watched_;
  int epoll_ = -1;
  int bell_ = -1;
  std::atomic<bool> stop_{false};
  std::atomic<bool> badly_{false};
  std::atomic<bool> badly_done_{false};
  std::atomic<bool> ends_expected_{false};
  std::thread thread_;
};

}  // namespace periapt::machine
