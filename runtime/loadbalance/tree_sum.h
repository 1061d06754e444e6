// What all PEs of a strategy hear of all, where they decide for themselves: sums, along a tree of PEs. A sum that has
// come down also says that every PE has said its part: it is the barrier of such strategies.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "runtime/loadbalance/member.h"

namespace periapt::loadbalance {

struct LoadSum {
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  double work = 0, speed = 0, max = 0;
  std::int64_t given = 0;     // objects of this iteration
  std::int64_t wrong = none;  // the first PE whose loads are none
  LoadSum& operator+=(const LoadSum& other);
  double average() const { return speed > 0 ? work / speed : 0; }
};
// As sums of floating-point numbers depend on their order, that is one for PEs that are played and for those that send
// messages: to what a PE says the sums of its children are added, from the last child on.
struct SumTree {
  static constexpr int arity = 4;
  static int parent(int place) { return (place - 1) / arity; }
  static int first_child(int place) { return arity * place + 1; }
};
// Of all places, which are not none.
LoadSum sum_of_all(std::vector<LoadSum> by_place);

// One PE's part, by messages.
class TreeSum {
 public:
  enum class Way { up, down };
  using Send = std::function<void(int to, Way, const LoadSum&)>;
  using Heard = std::function<void(const LoadSum& total)>;

  TreeSum(int pe, int pes, Send send, Heard heard);
  // Once for each sum. `heard` is called when all have, perhaps within this call.
  void contribute(const LoadSum& own);
  void hear(int from, Way, const LoadSum&);

 private:
  void pass_up();
  void pass_down(const LoadSum& total);

  const int pe_;
  const Send send_;
  const Heard heard_;
  LoadSum own_;
  bool contributed_ = false;
  std::vector<LoadSum> children_;  // what they said
  std::size_t children_heard_ = 0;
};

}  // namespace periapt::loadbalance
