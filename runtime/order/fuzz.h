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
// ASPLOS 2010). Now and then a PE stands still for a while, so that others overtake it. What a decision comes to
// follows from the seed, the PE and how many decisions came before; what there is to choose from depends on time.
// +record writes down what came of it.
//
// Decisions that `changes` does not have (changes.h) take what comes next without +fuzz, except that a message which
// another one has been let run before stays behind all that waited then: one decision can delay a message.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "runtime/order/changes.h"
#include "runtime/order/piece.h"

namespace periapt::order {

class Fuzz final : public Ordering {
 public:
  Fuzz(std::uint64_t seed, int pe, const Changes& changes = {}, std::unique_ptr<ChangeLog> log = nullptr);
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
    std::uint64_t place;     // the same in the usual order, where one that is overtaken goes to the end
    bool is_put_off() const { return place != coming; }
  };
  using Channel = std::deque<Waiting>;  // from one PE
  struct Choice {
    Channel* from = nullptr;
    std::size_t at = 0;
    const Waiting& waiting() const { return (*from)[at]; }
    bool operator==(const Choice&) const = default;
  };

  std::uint64_t random();
  void change_rule();
  std::uint64_t score(const Waiting& waiting, std::uint64_t dice) const;
  // What comes next without +fuzz; what the rule says.
  Choice usual();
  Choice by_rule(std::uint64_t dice);
  // Those that may be next, of the first `looked_at` of each sender.
  template <class Function>
  void for_each_candidate(std::size_t looked_at, Function&& function);
  void put_off(const Choice& choice);
  static std::string described(const Waiting& waiting);

  std::uint64_t random_state_;  // for rules
  const std::uint64_t dice_;    // a decision has numbers of its own
  Changes::OfPe changes_;
  const std::unique_ptr<ChangeLog> log_;
  std::uint64_t decisions_ = 0;
  std::size_t with_priority_ = 0, put_off_ = 0;  // of those that wait
  Rule rule_ = Rule::at_random;
  std::uint64_t salt_ = 0;  // of the priorities under this rule
  int left_ = 0;            // pieces of work until the next rule
  std::uint64_t comings_ = 0;
  std::deque<Arrival> first_;                      // what has waited elsewhere, and what is expedited
  std::size_t size_ = 0;                           // of all channels
  std::vector<std::pair<int, Channel>> channels_;  // by sender
};

}  // namespace periapt::order
