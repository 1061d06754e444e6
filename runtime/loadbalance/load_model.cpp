// See load_model.h.
#include "runtime/loadbalance/load_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/nearest.h"

namespace periapt::loadbalance {

namespace {
double last(std::span<const float> past, const StrategyOptions&) { return past.back(); }

std::span<const float> latest(std::span<const float> past, const StrategyOptions& options) {
  return past.last(std::min(past.size(), static_cast<std::size_t>(options["steps"])));
}

double mean(std::span<const float> past, const StrategyOptions& options) {
  const auto seen = latest(past, options);
  return std::accumulate(seen.begin(), seen.end(), 0.0) / static_cast<double>(seen.size());
}

// The line with the least squares, one step further.
double trend(std::span<const float> past, const StrategyOptions& options) {
  const auto seen = latest(past, options);
  const auto n = static_cast<double>(seen.size());
  if (seen.size() < 2) return seen.back();
  const double middle = (n - 1) / 2, level = mean(past, options);
  double along = 0, square = 0;
  for (std::size_t k = 0; k < seen.size(); ++k) {
    const double x = static_cast<double>(k) - middle;
    along += x * (seen[k] - level);
    square += x * x;
  }
  return std::max(0.0, level + along / square * (n - middle));
}

double phase(std::span<const float> past, const StrategyOptions& options) {
  const auto period = static_cast<std::size_t>(options["period"]);
  return past.size() >= period ? past[past.size() - period] : past.back();
}

std::deque<LoadModelInfo>& known_models() {
  static std::deque<LoadModelInfo> list = {
      {"last", "as in the last interval", last},
      {"mean", "the mean of the last ones", mean, {{"steps", 4, 1, 1000, "of how many intervals"}}},
      {"trend", "the straight line through the last ones", trend, {{"steps", 4, 2, 1000, "of how many intervals"}}},
      {"phase",
       "as it was a period ago, for programs whose phases take turns",
       phase,
       {{"period", 2, 1, 1000, "after how many intervals a phase comes again"}}},
  };
  return list;
}
}  // namespace

const std::deque<LoadModelInfo>& load_models() { return known_models(); }

void add_load_model(LoadModelInfo info) {
  const auto same = [&](const LoadModelInfo& known) { return std::string_view(known.name) == info.name; };
  if (std::none_of(known_models().begin(), known_models().end(), same)) known_models().push_back(std::move(info));
}

std::size_t LoadModel::depth() const {
  if (info->options.empty()) return info->depth;
  return static_cast<std::size_t>(options[info->options[0].name]);
}

std::optional<LoadModel> read_load_model(const std::string& text, Complaint* complaint) {
  const std::string name = text.substr(0, text.find(':'));
  std::vector<std::string_view> known;
  for (const LoadModelInfo& info : load_models()) {
    known.push_back(info.name);
    if (name != info.name) continue;
    LoadModel model(info);
    const OptionOwner owner{"load model", info.name, info.name, info.options};
    if (!read_options(text, owner, model.options, complaint)) return std::nullopt;
    return model;
  }
  *complaint = {"there is no load model called " + name, "", "did you mean " + nearest(name, known) + "?",
                "+balancer help lists them"};
  return std::nullopt;
}

void LoadHistory::add(const LoadDatabase& database) {
  ++interval_;
  for (const ObjectLoad& object : database.objects) {
    if (!std::isfinite(object.seconds)) continue;  // it is refused as it is
    Past& past = past_[{object.array, object.element}];
    past.interval = interval_;
    if (past.work.size() == depth_) past.work.erase(past.work.begin());
    past.work.push_back(static_cast<float>(object.seconds * database.pes[object.pe].speed));
  }
  std::erase_if(past_, [&](const auto& entry) { return entry.second.interval != interval_; });
}

LoadDatabase LoadHistory::expected(LoadDatabase database) const {
  for (ObjectLoad& object : database.objects) {
    const auto past = past_.find({object.array, object.element});
    if (past != past_.end()) object.seconds = model_.predict(past->second.work) / database.pes[object.pe].speed;
  }
  return database;
}

}  // namespace periapt::loadbalance
