// The watchdog of start-up: while one exists, it says every so many seconds that we are still waiting, for what, and
// for whom. PERIAPT_STARTUP_WATCHDOG gives the seconds (30; 0: never).
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace periapt::bootstrap {

class Watchdog {
 public:
  /// `explain` makes the sentences to be said; called on a thread of the watchdog. Empty: nothing is said this time.
  explicit Watchdog(std::function<std::string(int seconds)> explain);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch();

  std::function<std::string(int)> explain_;
  int seconds_;
  bool over_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::thread thread_;
};

/// The seconds between two warnings; 0: none.
int startup_watchdog_seconds();

}  // namespace periapt::bootstrap
