// The one PE that decides when a step is complete, runs the strategy and hands out its result, or lets the PEs decide.
// See balancer.h.
#pragma once
#include <optional>
#include <string>

#include "runtime/loadbalance/balancer.h"
#include "runtime/loadbalance/load_model.h"
#include "runtime/loadbalance/member.h"
#include "runtime/loadbalance/meta_balancer.h"

namespace periapt::loadbalance {

// The warning of a step that is refused.
std::string nothing_moves(std::uint32_t step, const std::string& wrong);

class Coordinator {
 public:
  Coordinator(Balancer& balancer, int pes);

  void ready(int pe, std::uint32_t step);
  LoadDatabase& loads_of(int pe) { return loads_[pe]; }  // what it answers with goes here first
  void answer(int pe, const Count& count);
  // What leaves one PE, where the members of a balancer decide by themselves.
  void decided(const std::vector<Balancer::Move>& moves);
  // What comes to one PE, where the members of a strategy decide.
  void claimed(int pe, const std::vector<Claim>& claims);
  void settled();
  // A step was asked for that no balancer can decide yet.
  bool waits_for_balancer() const { return asked_ && state_ == State::waiting; }
  // One more PE knows that the step is over.
  void heard();
  void hold_next_step() { holds_ = true; }
  // Loads are what this model says from now on; null: as measured, or as +LBModel says.
  void set_model(const LoadModelInfo* model);
  void go_on();

  // configureTreeLB() of step `step` was given this text: all processes hear of it.
  void set_tree(std::uint32_t step, const std::string& text);

  // --- balancing at any time ---
  void set_period(double seconds);
  // A step, if there is none in progress. `step`: the one that a PE was before when it asked; where that is over, it
  // was in progress there.
  static constexpr std::uint32_t any_step = 0;  // steps count from 1
  void begin(std::uint32_t step = any_step);
  void awake();
  // Where a period was said, or a balancer made, when there could be no step: one begins that was asked for then, or a
  // period, if none runs.
  void take_up();

 private:
  enum class State { waiting, probing, collecting, held, deciding, moving, ending };
  struct Sum {
    Count total;
    bool all_ready = true, same_arrays = true;
    bool operator==(const Sum&) const;
    bool complete() const { return all_ready && same_arrays && total.sent == total.received && total.waiting > 0; }
  };

  void say_what_is_unread();
  // Of this step: a strategy, a line of output or a file needs it; its loads on this PE; those but for the strategy.
  bool is_wanted() const;
  bool wants_loads() const;
  bool shows_loads() const;
  bool members_decide() const;  // for a strategy that PEs can decide without this one
  void consider();
  void ask(State state);
  Sum sum() const;
  void decide();
  bool is_due();
  bool something_ran() const;
  void sleep();
  void arm();
  Interval interval() const;
  void gather();
  void carry_out(Assignment assignment, const std::string& wrong, double seconds);
  void resume(bool balanced = true);
  void end();
  bool try_to_begin();
  int group() const;  // of the step's balancer, see Balancer::ask_count()
  int pes() const { return static_cast<int>(answers_.size()); }

  Balancer& balancer_;
  State state_ = State::waiting;
  std::uint32_t step_ = 1;
  std::vector<Count> answers_;
  std::vector<LoadDatabase> loads_;  // by PE; they and what they make together keep their memory from step to step
  LoadDatabase database_;
  std::vector<char> ready_;
  bool called_ = false;  // a PE has said that it is ready, and none was asked since
  Sum before_;           // of the last round
  bool have_before_ = false;
  int outstanding_ = 0;
  bool asks_loads_ = false;  // those that are to answer

  std::optional<LoadHistory> history_;  // with +LBModel
  std::optional<MetaBalancer> meta_;    // with +MetaLB
  bool due_ = false;                    // it wants this AtSync to be a balancing
  double due_since_ = 0;
  const Strategy* strategy_ = nullptr;  // of this step
  bool told_of_positions_ = false;      // that none was said
  bool told_of_phases_ = false;         // that their sum is balanced

  // What was announced last, and the step in which it was said.
  std::string tree_;
  std::uint32_t tree_step_ = 0;

  bool at_any_time_ = false;  // this step, and all that follow
  double period_ = -1;        // seconds from the end of one to the next
  bool holds_ = false;        // the step that all elements come to next
  bool asked_ = false;     // for a step at any time, while it looks whether all elements have come to one; or ends one
  bool balanced_ = false;  // see Resumption
  bool armed_ = false;     // a timer runs, until:
  std::uint64_t deadline_ns_ = 0;
  bool asleep_ = false;  // no timer, until something runs
  // While members of a balancer decide: what they have said so far.
  std::vector<Balancer::Move> said_;
  double deciding_since_ = 0;
  // Of the step before: what it said of this one, and what its moves took.
  double predicted_ = 0, moved_seconds_ = 0, moving_since_ = 0;
  int moved_ = 0;
  int moves_now_ = 0;  // of this one
};

}  // namespace periapt::loadbalance
