// When to balance, and by which strategy (+MetaLB). A program then calls AtSync whenever it could be balanced; at most
// of these calls it goes on at once.
//
// In each interval between two of them all PEs wait for the fullest. A balancing is due when that has cost more since
// the last one than a balancing costs. For an imbalance that grows in a straight line this is the period that costs
// least, sqrt(2 * cost / slope), and it needs no line: H. Menon, N. Jain, G. Zheng and L. Kale, "Automated load
// balancing invocation based on application characteristics", IEEE Cluster 2012. What no balancing has mended does not
// count, and balancings that did not win back what they cost become rare.
#pragma once
#include <string>
#include <vector>

#include "runtime/loadbalance/model.h"
#include "runtime/loadbalance/strategy.h"

namespace periapt::loadbalance {

// What lies between two AtSyncs, in seconds that PEs were busy.
struct Interval {
  double max = 0, average = 0;
  double ratio() const { return average > 0 ? max / average : 1; }
};

class MetaBalancer {
 public:
  // `candidates`: the strategies that a balancing chooses from.
  explicit MetaBalancer(std::vector<Strategy> candidates)
      : candidates_(std::move(candidates)), solve_seconds_(candidates_.size()) {}

  // An interval has ended. Whether to balance now.
  bool is_due(const Interval& interval);
  // Why, or why not, in words: of the last is_due().
  std::string reason() const;

  // The strategy whose answer wins most in as many intervals as lay between the last two balancings, less what its
  // moves and its thinking cost. Null where each loses; then *assignment is to leave all where it is, and *wrong is
  // what was wrong with an answer that could not be carried out.
  const Strategy* choose(const LoadDatabase& database, Assignment* assignment, std::string* wrong);
  // It has been carried out, and took that long with all that belongs to it; `moved` objects.
  void balanced(double seconds, int moved);

  const std::vector<Strategy>& candidates() const { return candidates_; }

 private:
  static constexpr double kNoise = 1.02;  // max/avg that is taken for even
  static constexpr double kPatienceMost = 64;

  double price() const { return cost_ * patience_; }
  double learnt_per_move() const { return moved_ > 0 ? cost_ / moved_ : 0; }
  void judge();

  std::vector<Strategy> candidates_;
  std::vector<double> solve_seconds_;  // of each, the last time

  Interval last_;
  double reachable_ = 1;  // the best max/avg since the last balancing
  double waited_ = 0;     // for fullest PEs since then, beyond that
  double busy_ = 0;       // sums of `average` and `max` since then
  double busy_fullest_ = 0;
  int intervals_ = 0;  // since then
  int period_ = 1;     // intervals between the last two

  double cost_ = 0;          // of the last balancing that moved something, or of one that took longer
  int moved_ = 0;            // objects in the last that moved some
  double spent_ = 0;         // by the last balancing, whether it moved something or not
  double ratio_before_ = 0;  // max/avg over all intervals before it; 0: there was none
  double patience_ = 1;
};

}  // namespace periapt::loadbalance
