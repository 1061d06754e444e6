// See tree_sum.h.
#include "runtime/loadbalance/tree_sum.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace periapt::loadbalance {

LoadSum& LoadSum::operator+=(const LoadSum& other) {
  work += other.work;
  speed += other.speed;
  max = std::max(max, other.max);
  given += other.given;
  wrong = std::min(wrong, other.wrong);
  return *this;
}

LoadSum sum_of_all(std::vector<LoadSum> by_place) {
  for (std::size_t place = by_place.size() - 1; place > 0; --place)
    by_place[static_cast<std::size_t>(SumTree::parent(static_cast<int>(place)))] += by_place[place];
  return by_place[0];
}

TreeSum::TreeSum(int pe, int pes, Send send, Heard heard)
    : pe_(pe),
      send_(std::move(send)),
      heard_(std::move(heard)),
      children_(static_cast<std::size_t>(std::clamp(pes - SumTree::first_child(pe), 0, SumTree::arity))) {}

void TreeSum::contribute(const LoadSum& own) {
  own_ = own;
  contributed_ = true;
  pass_up();
}
void TreeSum::hear(int from, Way way, const LoadSum& sum) {
  if (way == Way::down) return pass_down(sum);
  children_.at(static_cast<std::size_t>(from - SumTree::first_child(pe_))) = sum;
  ++children_heard_;
  pass_up();
}
// The last child first: see SumTree.
void TreeSum::pass_up() {
  if (!contributed_ || children_heard_ < children_.size()) return;
  contributed_ = false;
  children_heard_ = 0;
  LoadSum total = own_;
  for (auto child = children_.rbegin(); child != children_.rend(); ++child) total += *child;
  if (pe_ == 0) return pass_down(total);
  send_(SumTree::parent(pe_), Way::up, total);
}
void TreeSum::pass_down(const LoadSum& total) {
  for (std::size_t k = 0; k < children_.size(); ++k)
    send_(SumTree::first_child(pe_) + static_cast<int>(k), Way::down, total);
  heard_(total);
}

}  // namespace periapt::loadbalance
