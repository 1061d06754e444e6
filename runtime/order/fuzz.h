// +fuzz SEED: messages run in orders that a program may meet one day, on the PEs that are here. What one PE sends to
// one object keeps its order, and so does everything among what the runtime itself sends from one PE to another; all
// else is free, priorities too. For some pieces of work at a time one rule decides, and then another:
//
//   at random     any of those that may be next
//   by sender     PEs have random priorities: what one of them sends comes last of all, however early it was sent
//   by receiver   objects have them
//   newest first
//
// Priorities that change at random points find what needs one unlikely order, which a random walk hardly ever takes
// (Burckhardt, Kothari, Musuvathi, Nagarakatte, "A randomized scheduler with probabilistic guarantees of finding bugs",
// ASPLOS 2010). Now and then a PE stands still for a while, so that others overtake it. The seed gives each PE its
// random numbers; what there is to choose from depends on time. +record writes down what came of it.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "runtime/order/piece.h"

namespace periapt::order {

class Fuzz final : public Ordering {
 public:
  Fuzz(std::uint64_t seed, int pe);
  void add(const Arrival& arrival) override;
  bool take(Arrival& next) override;
  bool has_next() const override { return size() != 0; }
  std::size_t size() const override { return first_.size() + size_; }

 private:
  enum class Rule { at_random, by_sender, by_receiver, newest_first };
  struct Waiting {
    Arrival arrival;
    std::uint64_t receiver;  // see Piece
    std::uint64_t coming;    // how many came before
  };
  using Channel = std::deque<Waiting>;  // from one PE

  std::uint64_t random();
  void change_rule();
  std::uint64_t score(const Waiting& waiting);
  void stand_still();

  std::uint64_t random_state_;
  Rule rule_ = Rule::at_random;
  std::uint64_t salt_ = 0;  // of the priorities under this rule
  int left_ = 0;            // pieces of work until the next rule
  std::uint64_t comings_ = 0;
  std::deque<Arrival> first_;                      // what has waited elsewhere, and what is expedited
  std::size_t size_ = 0;                           // of all channels
  std::vector<std::pair<int, Channel>> channels_;  // by sender
};

}  // namespace periapt::order
