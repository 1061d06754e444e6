// DrivingLock: held by the PE that drives a worker of the network. It is tried, many times a microsecond, and hardly
// ever waited for, so trying and leaving are one atomic operation each. For std::unique_lock and the like.
#pragma once

#include <sched.h>

#include <atomic>

#include "base/platform.h"

namespace periapt::machine {

class DrivingLock {
 public:
  bool try_lock() {
    // acquire: partner is the release in unlock(). Looked at first, so that PEs that try in vain leave the line alone.
    return !held_.load(std::memory_order_relaxed) && !held_.exchange(true, std::memory_order_acquire);
  }
  /// Waits: its holder may have lost its core, so the waiting thread gives up its own now and then.
  void lock() {
    for (unsigned tries = 1; !try_lock(); ++tries) {
      if (tries % kTriesATurn == 0) {
        ::sched_yield();
      } else {
        platform::pause();
      }
    }
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  static constexpr unsigned kTriesATurn = 64;
  std::atomic<bool> held_{false};
};

}  // namespace periapt::machine
