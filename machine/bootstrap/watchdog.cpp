#include "machine/bootstrap/watchdog.h"

#include <atomic>
#include <chrono>
#include <cstdlib>

#include "base/log.h"
#include "base/thread.h"

namespace periapt::bootstrap {
namespace {

constexpr char kLimit[] = "PERIAPT_STARTUP_TIMEOUT";
std::atomic<bool> over{false};

int seconds_of(const char* variable, int usual) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return usual;
  char* end = nullptr;
  long seconds = std::strtol(text, &end, 10);
  if (*end == '\0' && seconds >= 0 && seconds <= 86400) return static_cast<int>(seconds);
  log::warn(std::string(variable) + "=" + text + " is not a number of seconds from 0 to 86400; " +
            std::to_string(usual) + " is used");
  return usual;
}

}  // namespace

int startup_watchdog_seconds() { return seconds_of("PERIAPT_STARTUP_WATCHDOG", 30); }

int startup_limit_seconds() {
  static const int seconds = seconds_of(kLimit, 600);
  return is_startup_over() ? 0 : seconds;
}

void startup_is_over() { over.store(true, std::memory_order_relaxed); }
bool is_startup_over() { return over.load(std::memory_order_relaxed); }

std::string no_answer_in_words() {
  return "the launcher has not answered for " + std::to_string(startup_limit_seconds()) + " s (" + kLimit + ")";
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
