// A World that passes everything on to another one: what stands before a World says only what it does differently.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "machine/bootstrap/world.h"

namespace periapt::bootstrap {

class PassingWorld : public World {
 public:
  explicit PassingWorld(std::unique_ptr<World> inner) : inner_(std::move(inner)) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::vector<int>& host_of() const override { return inner_->host_of(); }
  const std::string& job() const override { return inner_->job(); }
  const std::string& secret() const override { return inner_->secret(); }
  Status put(const std::string& name, const std::string& value) override { return inner_->put(name, value); }
  Status fence() override { return inner_->fence(); }
  Result<std::string> get(int rank, const std::string& name) override { return inner_->get(rank, name); }
  void abort(int code, const std::string& reason) override { inner_->abort(code, reason); }
  void finalize() override { inner_->finalize(); }
  bool well(std::string* reason) override { return inner_->well(reason); }
  int wait_fd() const override { return inner_->wait_fd(); }
  StartsAgain starts_again() const override { return inner_->starts_again(); }
  Status start_again(const std::string& start) override { return inner_->start_again(start); }
  void checkpoint_begins(const std::string& folder) override { inner_->checkpoint_begins(folder); }
  const std::string& describe() const override { return inner_->describe(); }
  const std::vector<std::string>& passed_over() const override { return inner_->passed_over(); }

 private:
  std::unique_ptr<World> inner_;
};

}  // namespace periapt::bootstrap
