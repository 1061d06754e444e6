// TreeLB, for programs that ask for it and for no strategy of its tree: GreedyRefine. There are no trees of strategies.
#include "runtime/loadbalance/strategies/greedy_refine.h"

namespace periapt::loadbalance {

StrategyInfo tree() {
  StrategyInfo info = greedy_refine();
  info.name = "Tree";
  info.classic = "TreeLB";
  info.summary = "what a program gets that asks for no strategy of the tree: GreedyRefine";
  return info;
}

}  // namespace periapt::loadbalance
