// Diffusion: load flows between neighbours only, as heat does. (G. Cybenko, "Dynamic load balancing for distributed
// memory multiprocessors", JPDC 7, 1989; Y. F. Hu, R. J. Blake, D. R. Emerson, Concurrency 10, 1998: flow first,
// objects after.)
#include "runtime/loadbalance/flow.h"

namespace periapt::loadbalance {

StrategyInfo diffusion() {
  return {
      .name = "Diffusion",
      .classic = "DiffusionLB",
      .summary = "load flows to PEs with which objects exchange messages, and no further",
      .solve = [](const LoadDatabase& database,
                  const StrategyOptions& options) { return play_flow(database, flow_rules(options)); },
      .member = [](const StrategyOptions& options,
                   Seat seat) { return flow_member(flow_rules(options), std::move(seat)); },
      .options = {{"tolerance", 1.03, 1, 100, "when the flow ends: the fullest PE, in times of the average"},
                  {"neighbours", 8, 0, 1000, "how many PEs a PE takes for neighbours by what it exchanges with them"},
                  {"steps", 200, 1, 1e6, "how far load may flow"},
                  {"rounds", 8, 1, 1000, "how often objects may pass through a PE"}},
      .communication = true};
}

}  // namespace periapt::loadbalance
