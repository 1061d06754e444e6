// Balancing by rumour, as Gossip and Tempered do it: PEs tell each other which of them have little to do, and those
// with much give objects to PEs that they have heard of. Here all PEs are played by one, which changes nothing in what
// each of them knows and decides.
#pragma once
#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

struct GossipRules {
  // What is told on.
  int fanout = 2;   // to how many PEs
  int rounds = 8;   // and how often
  int known = 128;  // of how many PEs one keeps what it has heard, at most
  // Which PEs give, and what.
  double overload = 1.0;           // a PE gives away what it has above that, in times of the average
  bool only_below_mean = true;     // the receiver has to stay below the average; otherwise, below the giver
  bool weigh_against_max = false;  // chances of receivers: by what they are below the fullest known PE, not the average
  bool again_each_time = false;    // chances are computed anew after each object
  enum class Order { any, largest_first, fewest_moves, smallest_first } order = Order::any;
};

// One iteration: rumours, then transfers. Returns how many objects change their PE.
std::size_t gossip_once(Standing& standing, const GossipRules& rules, Chance& chance);

}  // namespace periapt::loadbalance
