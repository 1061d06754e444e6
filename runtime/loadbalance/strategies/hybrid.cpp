// Hybrid: Tree on three levels, whatever the number of PEs, under the name that it had in Charm++ first. (G. Zheng,
// A. Bhatele, E. Meneses, L. V. Kale, "Periodic hierarchical load balancing for large supercomputers", IJHPCA 25,
// 2011.)
#include "runtime/loadbalance/strategies/tree.h"

namespace periapt::loadbalance {

StrategyInfo hybrid() {
  StrategyInfo info = tree();
  info.name = "Hybrid";
  info.classic = "HybridLB";
  info.summary = "Tree with groups of PEs, whatever their number";
  info.options[0].standard = 3;
  return info;
}

}  // namespace periapt::loadbalance
