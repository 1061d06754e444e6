// Tempered: Gossip with a milder criterion (an object may go wherever the receiver stays below the giver), chances that
// are computed anew after each object, a choice of which objects go first, and several trials of several iterations of
// which the best is kept. (J. Lifflander, N. L. Slattengren, P. P. Pebay, P. Miller, F. Rizzi, M. T. Bettencourt,
// "Optimizing distributed load balancing for workloads with time-varying imbalance", CLUSTER 2021.)
#include "runtime/loadbalance/rumours.h"

namespace periapt::loadbalance {

namespace {
GossipRules rules_of(const StrategyOptions& options) {
  GossipRules rules = gossip_rules(options);
  rules.trials = static_cast<int>(options["trials"]);
  rules.keep_best = true;
  rules.enough = options["enough"];
  rules.only_below_mean = options["criterion"] < 1;
  rules.weigh_against_max = options["chances"] >= 1;
  rules.again_each_time = true;
  rules.order = static_cast<GossipRules::Order>(options["order"]);
  return rules;
}
}  // namespace

StrategyInfo tempered() {
  return {.name = "Tempered",
          .classic = "TemperedLB",
          .summary = "Gossip with a milder criterion, tried several times",
          .solve = [](const LoadDatabase& database,
                      const StrategyOptions& options) { return play_gossip(database, rules_of(options)); },
          .member = [](const StrategyOptions& options,
                       Seat seat) { return gossip_member(rules_of(options), std::move(seat)); },
          .options = {{"trials", 4, 1, 100, "how often it begins anew where it is stuck; the best is kept"},
                      {"iterations", 30, 1, 1000, "of rumours and transfers in each trial, at most"},
                      {"enough", 1.01, 1, 10, "ends where no PE is above that, in times of the average"},
                      {"criterion", 1, 0, 1, "a receiver stays below 0: the average, 1: the giver"},
                      {"chances", 1, 0, 1, "of receivers, by how far they are below 0: the average, 1: the fullest"},
                      {"order", 2, 0, 3, "of objects. 0: any, 1: largest first, 2: fewest moves, 3: smallest first"},
                      {"overload", 1, 1, 10, "from where a PE gives away, in times of the average"},
                      {"fanout", 4, 1, 64, "how many PEs are told"},
                      {"rounds", 6, 1, 64, "how often what was heard is told on"},
                      {"known", 128, 1, 65536, "how many PEs one remembers to have heard of, at most"}}};
}

}  // namespace periapt::loadbalance
