// The watchdog of start-up: while one exists, it says every so many seconds that we are still waiting, for what, and
// for whom. PERIAPT_STARTUP_WATCHDOG gives the seconds (30; 0: never).
//
// And the bound on such a wait, PERIAPT_STARTUP_TIMEOUT. The end of a launcher or of its daemon on this host is seen as
// the end of a connection; but a launcher that has lost a process, or itself, and leaves its daemons waiting, looks
// like one whose processes are late.
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

/// The seconds after which an answer of the launcher is not waited for any longer (600); 0: it is waited for without
/// end, as all are when start-up is over: before the end of a run a process may compute as long as it wants.
int startup_limit_seconds();
void startup_is_over();
bool is_startup_over();
/// What is to be said then.
std::string no_answer_in_words();

}  // namespace periapt::bootstrap
