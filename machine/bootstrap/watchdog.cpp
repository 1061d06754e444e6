#include "machine/bootstrap/watchdog.h"

#include <chrono>
#include <cstdlib>

#include "base/log.h"
#include "base/thread.h"

namespace periapt::bootstrap {

int startup_watchdog_seconds() {
  const char* text = std::getenv("PERIAPT_STARTUP_WATCHDOG");
  if (text == nullptr || *text == '\0') return 30;
  char* end = nullptr;
  long seconds = std::strtol(text, &end, 10);
  if (*end == '\0' && seconds >= 0 && seconds <= 86400) return static_cast<int>(seconds);
  log::warn(std::string("PERIAPT_STARTUP_WATCHDOG=") + text +
            " is not a number of seconds from 0 to 86400; 30 is used");
  return 30;
}

Watchdog::Watchdog(std::function<std::string(int)> explain)
    : explain_(std::move(explain)), seconds_(startup_watchdog_seconds()) {
  if (seconds_ > 0) thread_ = make_thread("that watches over the start", [this] { watch(); });
}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

void Watchdog::watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (int waited = seconds_;; waited += seconds_) {
    if (ended_.wait_for(lock, std::chrono::seconds(seconds_), [this] { return over_; })) return;
    std::string text = explain_(waited);
    if (!text.empty()) log::warn(text);
  }
}

}  // namespace periapt::bootstrap
