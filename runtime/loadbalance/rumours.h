// Balancing by rumour, as Gossip and Tempered do it: PEs tell each other which of them have little to do, and those
// with much give objects to PEs that they have heard of. What goes from PE to PE is tokens; objects move when all is
// decided.
//
// Here is what one PE does. It follows from what the PE holds and has heard, and from chance, which is drawn from the
// moment and the PE; so it is the same whether the PEs are played, all in one memory (play_gossip()), or send each
// other messages (gossip_member()), in whichever order these come.
#pragma once
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/loadbalance/member.h"
#include "runtime/loadbalance/strategies/problem.h"
#include "runtime/loadbalance/tree_sum.h"

namespace periapt::loadbalance {

struct GossipRules {
  int trials = 1, iterations = 3;  // an iteration: rumours, then transfers
  bool keep_best = false;          // of all iterations; otherwise, the last
  double enough = 1.0;             // with keep_best: all ends where no PE is above that, in times of the average
  // What is told on.
  int fanout = 2;   // to how many PEs
  int rounds = 8;   // and how often
  int known = 128;  // of how many PEs one keeps what it has heard, at most
  // Which PEs give, and what.
  double overload = 1.0;           // a PE gives away what it has above that, in times of the average
  bool only_below_mean = true;     // the receiver has to stay below the average, and gives back what would have it
                                   // above; otherwise, it has to stay below the giver
  bool weigh_against_max = false;  // chances of receivers: by what they are below the fullest known PE, not the average
  bool again_each_time = false;    // chances are computed anew after each object
  enum class Order { any, largest_first, fewest_moves, smallest_first } order = Order::any;
};

// With the options that all ways of gossip have: iterations, fanout, rounds, known, overload.
GossipRules gossip_rules(const StrategyOptions& options);

// Stands for an object, which is named by its home, the PE where it is, and its place there.
struct Token {
  double work = 0;
  std::int32_t home = 0;
  std::uint32_t object = 0;
};

// Of a PE with little to do, as it was when the iteration began.
struct Rumour {
  double load = 0, speed = 1;
  std::int64_t pe = 0;  // as wide as the others: it is sent as it lies here
};

// When something happens; all PEs come through the same ones.
struct Moment {
  std::uint32_t step = 0;
  int trial = 0, iteration = 0, round = 0;
};
// In a round each PE tells `fanout` others: the k-th is so many places behind it, in a ring of all. So each PE also
// hears from so many, and nothing has to say that a round is over. 0 where there is one PE.
std::size_t stride(const Moment& moment, int k, std::size_t pes);

// What one PE holds and has heard.
struct GossipPe {
  // `fixed`: seconds of what cannot leave it.
  GossipPe(int pe, double speed, double fixed, std::vector<Token> held);
  void take(std::vector<Token> tokens);
  void hold(std::vector<Token> tokens);  // these and no others
  Rumour rumour() const { return {load, speed, pe}; }

  int pe;
  double speed, fixed;
  std::vector<Token> held;  // largest first
  double load = 0;          // a sum in the order of `held`: however that came about, it is the same
  std::vector<Rumour> known;

 private:
  void add_up();
};

// What a PE does in an iteration. One of these serves any number of PEs, as it remembers none of them.
class Gossiper {
 public:
  using Gift = std::pair<int, Token>;  // to a PE, or from one

  Gossiper(const GossipRules& rules, std::size_t pes, double average);
  // Forgets what was heard. A PE with less than the average is the first to know of that.
  void begin(GossipPe& self) const;
  // The k-th message of a round, with what its sender knows. True: some of it is new.
  bool hear(GossipPe& self, const Moment& moment, int k, std::span<const Rumour> told);
  // What it gives away, it no longer holds. It reckons with the loads of others as they were when it heard, and with
  // what it has given them itself.
  std::vector<Gift> give(GossipPe& self, const Moment& moment);
  // Takes what it was given in an iteration, by whom is said, and answers what goes back. Many may have heard of the
  // same PE, and none of them knows what others give.
  std::vector<Gift> accept(GossipPe& self, std::vector<Gift> gifts) const;

 private:
  struct Target {
    int pe;
    double load, speed;
  };
  void weigh(double own);
  std::size_t pick(Chance& chance) const;
  std::size_t emptiest() const;
  void put_in_order(const GossipPe& self, Chance& chance);

  const GossipRules rules_;
  const double average_;
  // Room to work in.
  std::vector<bool> seen_;  // by PE; all false between calls
  std::vector<Target> targets_;
  std::vector<double> cumulated_;
  std::vector<std::uint32_t> order_;
};

// How far all PEs are. Each of them finds the same, as all hear the same sums.
class GossipCourse {
 public:
  GossipCourse(const GossipRules& rules, std::uint32_t step, double average, double max)
      : now{step}, rules_(rules), enough_(rules.enough * average), best_(max) {}
  // Whether what an iteration has led to is better than all before.
  bool is_better(double max);
  enum class Next { iteration, trial, end };
  // After one in which so many objects were given.
  Next next(std::int64_t given);

  Moment now;

 private:
  const GossipRules rules_;
  const double enough_;
  double best_;
};

// All PEs of a database, played here.
Assignment play_gossip(const LoadDatabase& database, const GossipRules& rules);
// One of them, in a run whose PEs are all available.
std::unique_ptr<Member> gossip_member(const GossipRules& rules, Seat seat);

}  // namespace periapt::loadbalance
