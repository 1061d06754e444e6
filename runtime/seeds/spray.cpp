// spray: the average over all PEs is found by a tree, and what a PE has above it goes to PEs by chance.
//
// PE 0, the root, begins a round when a PE says that seeds wait there, and another some time after each that found any.
#include <algorithm>

#include "base/clock.h"
#include "runtime/collective/sender.h"
#include "runtime/scheduler/process.h"
#include "runtime/seeds/pool.h"

namespace periapt::seeds {

namespace {
constexpr std::uint64_t period_ns = 10'000'000;

class Spray final : public Policy {
 public:
  explicit Spray(Pool& pool) : pool_(pool), place_(pool.pe.index, pool.pe.process.pes()) {}

  void changed() override {
    if (rounds_go_on_ || pool_.size() < 2) return;
    rounds_go_on_ = true;
    if (is_root())
      begin_round();
    else
      pool_.tell(0, wake, 0, Pool::Hurry::at_once);
  }

  void heard(const Word& word) override {
    switch (word.kind) {
      case wake:
        rounds_go_on_ = true;
        return begin_round();
      case count:
        return add_up();
      case sum:
        sum_ += word.number;
        ++reports_;
        return report();
      default:  // average
        return level(word.number);
    }
  }

 private:
  enum SprayMessage { wake, count, sum, average };
  bool is_root() const { return place_.parent < 0; }
  void tell_children(SprayMessage kind, std::int64_t number) {
    for (const int child : place_.children) pool_.tell(child, kind, number, Pool::Hurry::at_once);
  }

  void begin_round() {
    if (in_round_) return;
    in_round_ = true;
    add_up();
  }
  void add_up() {
    tell_children(count, 0);
    counted_ = static_cast<std::int64_t>(pool_.size());
    sum_ += counted_;
    ++reports_;
    report();
  }
  // When this PE and all below it are counted.
  void report() {
    if (reports_ <= place_.children.size()) return;
    const std::int64_t total = std::exchange(sum_, 0);
    reports_ = 0;
    if (!is_root()) return pool_.tell(place_.parent, sum, total, Pool::Hurry::at_once);
    level(total);
    if (total > 0)
      pool_.pe.conditions.call_after([](void* self, double) { static_cast<Spray*>(self)->next_round(); }, this,
                                     period_ns, clock::now_ns());
    else
      end_rounds();
  }
  void next_round() {
    in_round_ = false;
    begin_round();
  }
  void end_rounds() {
    in_round_ = false;
    changed();
  }

  // Gives away what was above the average of `total` when it was counted, and still waits; a little more than the
  // average is as good.
  void level(std::int64_t total) {
    tell_children(average, total);
    rounds_go_on_ = total > 0;
    const std::int64_t pes = pool_.pe.process.pes();
    const std::int64_t mine = std::min(counted_, static_cast<std::int64_t>(pool_.size()));
    const std::int64_t mean = (total + pes - 1) / pes;
    if (mine > mean + mean / 5)
      for (std::int64_t left = mine - mean; left > 0; --left) pool_.give(pool_.other_by_chance(), 1);
    if (!is_root()) changed();
  }

  Pool& pool_;
  const TreePlace place_;
  std::int64_t counted_ = 0;   // that waited here, for this round
  std::int64_t sum_ = 0;       // of this round, as far as it is known here
  std::size_t reports_ = 0;    // that are in it: of this PE and of its children
  bool in_round_ = false;      // of the root: a round, or the time until the next one
  bool rounds_go_on_ = false;  // as this PE has heard, or asked for
};
}  // namespace

std::unique_ptr<Policy> spray(Pool& pool) { return std::make_unique<Spray>(pool); }

}  // namespace periapt::seeds
