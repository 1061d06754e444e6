// Load models: what objects will have to do until the next balancing, from what they had to do before. Strategies don't
// know which model made the loads that they see; +LBModel chooses one for all of them.
#pragma once
#include <deque>
#include <functional>
#include <span>
#include <unordered_map>

#include "runtime/loadbalance/strategy.h"

namespace periapt::loadbalance {

struct LoadModelInfo {
  const char* name;
  const char* summary;
  // The work of an object in the next interval. `past`: in those before, the last one last; never empty.
  std::function<double(std::span<const float> past, const StrategyOptions& options)> predict;
  std::vector<StrategyOption> options = {};  // the first: how many intervals it looks back
  std::size_t depth = 1;                     // the same, where it has none
};

struct LoadModel {
  explicit LoadModel(const LoadModelInfo& info) : info(&info), options(info.options) {}
  double predict(std::span<const float> past) const { return info->predict(past, options); }
  // How many intervals it looks back.
  std::size_t depth() const;

  const LoadModelInfo* info;
  StrategyOptions options;
};

// The first is the one that is taken where nothing is said.
const std::deque<LoadModelInfo>& load_models();
// One of a program's own, whose texts stay where they are. One of that name that is there already is kept.
void add_load_model(LoadModelInfo info);
// "mean:steps=4"; or what is wrong with it, as read_strategy() has it.
std::optional<LoadModel> read_load_model(const std::string& text, Complaint* complaint);

// The work of all objects in the last intervals. Objects are known by name, so they may move, come and go.
class LoadHistory {
 public:
  explicit LoadHistory(const LoadModel& model) : model_(model), depth_(model.depth()) {}
  void add(const LoadDatabase& database);
  // The same database with the loads that are to be expected. Objects without a past keep theirs.
  LoadDatabase expected(LoadDatabase database) const;

 private:
  struct Past {
    std::uint32_t interval = 0;  // the last one that it was seen in
    std::vector<float> work;
  };
  LoadModel model_;
  std::size_t depth_;
  std::uint32_t interval_ = 0;
  std::unordered_map<ElementName, Past> past_;
};

}  // namespace periapt::loadbalance
