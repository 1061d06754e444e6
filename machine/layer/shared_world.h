// A World for the threads of a process: see SharedWorld.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "machine/bootstrap/passing_world.h"

namespace periapt::machine {

/// A World for several threads: PEs, the driver of the network, the watch. What waits for others is not to be
/// overlapped by anything else of it, but the watch's look.
class SharedWorld : public bootstrap::PassingWorld {
 public:
  using PassingWorld::PassingWorld;
  Status put(const std::string& name, const std::string& value) override {
    std::lock_guard<std::mutex> lock(mutex_);
    return PassingWorld::put(name, value);
  }
  Status fence() override {
    std::lock_guard<std::mutex> lock(mutex_);
    return PassingWorld::fence();
  }
  Result<std::string> get(int rank, const std::string& name) override {
    std::lock_guard<std::mutex> lock(mutex_);
    return PassingWorld::get(rank, name);
  }
  void finalize() override {
    std::lock_guard<std::mutex> lock(mutex_);
    PassingWorld::finalize();
  }
  bool well(std::string* reason) override {
    std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    return !lock.owns_lock() || PassingWorld::well(reason);
  }

 private:
  std::mutex mutex_;
};

}  // namespace periapt::machine
