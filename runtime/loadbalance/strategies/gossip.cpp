// Gossip: Grapevine. PEs with less than the average tell a few others at random, which tell on what they heard; then
// each PE with more than the average gives objects to PEs that it has heard of, the emptier the likelier. (H. Menon, L.
// V. Kale, "A distributed dynamic load balancer for iterative applications", SC 2013.)
#include "runtime/loadbalance/rumours.h"

namespace periapt::loadbalance {

StrategyInfo gossip() {
  return {.name = "Gossip",
          .classic = "DistributedLB",
          .summary = "Grapevine: PEs hear of emptier ones by rumour, and each decides for itself",
          .solve = [](const LoadDatabase& database,
                      const StrategyOptions& options) { return play_gossip(database, gossip_rules(options)); },
          .member = [](const StrategyOptions& options,
                       Seat seat) { return gossip_member(gossip_rules(options), std::move(seat)); },
          .options = {{"overload", 1.05, 1, 10, "from where a PE gives away, in times of the average"},
                      {"iterations", 6, 1, 100, "how often rumours go round, and objects after them"},
                      {"fanout", 2, 1, 64, "how many PEs are told"},
                      {"rounds", 12, 1, 64, "how often what was heard is told on"},
                      {"known", 128, 1, 65536, "how many PEs one remembers to have heard of, at most"}}};
}

}  // namespace periapt::loadbalance
