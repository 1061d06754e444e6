// A World for the threads of a process: see SharedWorld.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "machine/bootstrap/world.h"

namespace periapt::machine {

/// A World for several threads: PEs, whoever drives the network, the watch. What waits for others is not to be
/// overlapped by anything else of it, but the watch's look.
class SharedWorld : public bootstrap::World {
 public:
  explicit SharedWorld(std::unique_ptr<bootstrap::World> world) : world_(std::move(world)) {}
  int rank() const override { return world_->rank(); }
  int size() const override { return world_->size(); }
  const std::vector<int>& host_of() const override { return world_->host_of(); }
  const std::string& job() const override { return world_->job(); }
  const std::string& secret() const override { return world_->secret(); }
  Status put(const std::string& name, const std::string& value) override {
    std::lock_guard<std::mutex> lock(mutex_);
    return world_->put(name, value);
  }
  Status fence() override {
    std::lock_guard<std::mutex> lock(mutex_);
    return world_->fence();
  }
  Result<std::string> get(int rank, const std::string& name) override {
    std::lock_guard<std::mutex> lock(mutex_);
    return world_->get(rank, name);
  }
  void abort(int code, const std::string& reason) override { world_->abort(code, reason); }
  void finalize() override {
    std::lock_guard<std::mutex> lock(mutex_);
    world_->finalize();
  }
  bool well(std::string* reason) override {
    std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    return !lock.owns_lock() || world_->well(reason);
  }
  int wait_fd() const override { return world_->wait_fd(); }
  const std::string& describe() const override { return world_->describe(); }
  const std::vector<std::string>& passed_over() const override { return world_->passed_over(); }

 private:
  std::unique_ptr<bootstrap::World> world_;
  std::mutex mutex_;
};

}  // namespace periapt::machine
