// See meta_balancer.h.
#include "runtime/loadbalance/meta_balancer.h"

#include <algorithm>
#include <cstdio>

#include "base/clock.h"

namespace periapt::loadbalance {

bool MetaBalancer::is_due(const Interval& interval) {
  last_ = interval;
  const double ratio = std::max(interval.ratio(), 1.0);
  reachable_ = intervals_ == 0 ? ratio : std::min(reachable_, ratio);
  if (spent_ == 0) reachable_ = 1;  // what a balancing can do is not known yet
  ++intervals_;
  busy_ += interval.average;
  busy_fullest_ += interval.max;
  if (ratio > kNoise * reachable_) waited_ += interval.max - interval.average * reachable_;
  return waited_ > price();
}

std::string MetaBalancer::reason() const {
  char text[200];
  std::snprintf(
      text, sizeof text,
      "fullest PE %.4f s, max/avg %.3f; in %d intervals %.4f s were lost to imbalance, and a balancing costs %.4f s",
      last_.max, last_.ratio(), intervals_, waited_, cost_);
  std::string reason = text;
  if (patience_ > 1) {
    std::snprintf(text, sizeof text, ", times %.0f as the last ones won less", patience_);
    reason += text;
  }
  return reason;
}

const Strategy* MetaBalancer::choose(const LoadDatabase& database, Assignment* assignment, std::string* wrong) {
  const Balance now = balance_of(database, present(database));
  const Strategy* best = nullptr;
  *assignment = present(database);
  std::string complaint;
  double most = 0;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    // One that thinks for longer than there is to win is not asked; the first is, or none would ever be.
    if (i > 0 && solve_seconds_[i] > waited_) continue;
    Assignment answer;
    const double start = clock::seconds();
    const std::string refused = candidates_[i].answer(database, &answer);
    solve_seconds_[i] = clock::seconds() - start;
    if (!refused.empty()) {
      complaint = refused;
      continue;
    }
    const Balance then = balance_of(database, answer);
    if (then.migrations == 0) continue;
    const double won = (now.max - then.max) * std::max(period_, intervals_);
    const double lost = learnt_per_move() * then.migrations + solve_seconds_[i];
    if (won - lost <= most) continue;
    best = &candidates_[i];
    most = won - lost;
    *assignment = std::move(answer);
  }
  if (best == nullptr) *wrong = complaint;
  return best;
}

// Has the last balancing won back what it took? Called before the next one.
void MetaBalancer::judge() {
  if (ratio_before_ == 0 || spent_ == 0) return;
  const double won = busy_ * ratio_before_ - busy_fullest_;
  patience_ = won >= spent_ ? std::max(patience_ / 2, 1.0) : std::min(2 * patience_, kPatienceMost);
}

void MetaBalancer::balanced(double seconds, int moved) {
  judge();
  ratio_before_ = busy_ > 0 ? busy_fullest_ / busy_ : 0;
  spent_ = seconds;
  if (moved > 0) {
    cost_ = seconds;
    moved_ = moved;
  } else {
    cost_ = std::max(cost_, seconds);
  }
  period_ = std::max(intervals_, 1);
  waited_ = busy_ = busy_fullest_ = 0;
  intervals_ = 0;
}

}  // namespace periapt::loadbalance
