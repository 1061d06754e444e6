// What one PE does. See flow.h.
#include "runtime/loadbalance/flow.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "runtime/pup/stl.h"

namespace periapt::loadbalance {

namespace {
std::uint64_t key_of(std::int32_t home, std::uint32_t object) {
  return static_cast<std::uint64_t>(home) << 32 | object;
}
}  // namespace

void LinkedToken::pup(PUP::er& p) {
  p | work;
  p | home;
  p | object;
  p | links;
}

FlowRules flow_rules(const StrategyOptions& options) {
  FlowRules rules;
  rules.tolerance = options["tolerance"];
  rules.neighbours = static_cast<std::size_t>(options["neighbours"]);
  rules.steps = static_cast<int>(options["steps"]);
  rules.rounds = static_cast<int>(options["rounds"]);
  return rules;
}

FlowPe::FlowPe(int pe, double speed, double fixed, std::vector<LinkedToken> held)
    : pe_(pe), speed_(speed), fixed_(fixed), held_(std::move(held)) {
  put_in_order();
  expected_ = load_;
}

void FlowPe::put_in_order() {
  std::sort(held_.begin(), held_.end(), [](const LinkedToken& a, const LinkedToken& b) {
    return std::tuple(-a.work, a.home, a.object) < std::tuple(-b.work, b.home, b.object);
  });
  load_ = fixed_;
  for (const LinkedToken& token : held_) load_ += token.work / speed_;
}

std::vector<int> FlowPe::choice(std::size_t most) const {
  std::map<int, std::uint64_t> traffic;
  for (const LinkedToken& token : held_)
    for (const Link& link : token.links)
      if (link.home != pe_) traffic[link.home] += link.exchange;
  std::vector<std::pair<int, std::uint64_t>> by_traffic(traffic.begin(), traffic.end());
  std::stable_sort(by_traffic.begin(), by_traffic.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<int> chosen;
  for (std::size_t n = 0; n < std::min(most, by_traffic.size()); ++n) chosen.push_back(by_traffic[n].first);
  return chosen;
}

void FlowPe::connect(std::vector<int> pes) {
  std::sort(pes.begin(), pes.end());
  pes.erase(std::unique(pes.begin(), pes.end()), pes.end());
  std::erase(pes, pe_);
  near_ = std::move(pes);
  work_.assign(near_.size(), 0);
}

// Of the two ends of an edge each finds what the other does, with the opposite sign.
void FlowPe::flow(std::span<const Level> neighbours) {
  double next = expected_;
  for (std::size_t k = 0; k < near_.size(); ++k) {
    const Level& other = neighbours[k];
    const double part =
        1.0 / static_cast<double>(1 + std::max(static_cast<std::int64_t>(near_.size()), other.neighbours));
    const double flowing = part * std::min(speed_, other.speed) * (expected_ - other.load);
    work_[k] += flowing;
    next -= flowing / speed_;
  }
  expected_ = next;
}

int FlowPe::where(const Link& link) const {
  const auto found = seen_.find(key_of(link.home, link.object));
  return found == seen_.end() ? link.home : found->second;
}
// What it would exchange with objects here, less what it would with those there.
std::int64_t FlowPe::loss(const LinkedToken& token, int to) const {
  std::uint64_t here = 0, there = 0;
  for (const Link& link : token.links) {
    const int at = where(link);
    if (at == pe_) here += link.exchange;
    if (at == to) there += link.exchange;
  }
  return static_cast<std::int64_t>(here - there);
}

// The object that fits into what is to flow and saves most traffic, until none does.
std::vector<std::vector<LinkedToken>> FlowPe::give(std::span<const Level> neighbours) {
  std::vector<std::vector<LinkedToken>> gifts(near_.size());
  std::vector<bool> gone(held_.size());
  for (std::size_t k = 0; k < near_.size(); ++k) {
    if (work_[k] <= 0) continue;
    std::vector<std::pair<std::int64_t, std::size_t>> order;
    for (std::size_t i = 0; i < held_.size(); ++i)
      if (!gone[i]) order.emplace_back(loss(held_[i], near_[k]), i);
    std::sort(order.begin(), order.end());
    double there = neighbours[k].load;
    for (const auto& [value, i] : order) {
      LinkedToken& token = held_[i];
      if (token.work <= 0 || token.work / 2 > work_[k]) continue;
      if (there + token.work / neighbours[k].speed >= load_) continue;
      there += token.work / neighbours[k].speed;
      load_ -= token.work / speed_;
      work_[k] -= token.work;
      seen_[key_of(token.home, token.object)] = near_[k];
      gone[i] = true;
      gifts[k].push_back(std::move(token));
    }
  }
  std::size_t left = 0;
  for (std::size_t i = 0; i < held_.size(); ++i) {
    if (gone[i]) continue;
    if (left != i) held_[left] = std::move(held_[i]);
    ++left;
  }
  held_.resize(left);
  return gifts;
}

void FlowPe::take(std::vector<LinkedToken> tokens) {
  for (LinkedToken& token : tokens) {
    seen_[key_of(token.home, token.object)] = pe_;
    held_.push_back(std::move(token));
  }
  put_in_order();
}

}  // namespace periapt::loadbalance
