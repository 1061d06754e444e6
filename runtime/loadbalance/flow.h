// Balancing by diffusion: load flows between neighbours only, as heat does. Neighbours of a PE are those PEs that its
// objects exchange most with, and the ones before and after it. First it is computed how much has to flow where, then
// objects are sent that amount to it, those first that the receiver hears most from.
//
// Here is what one PE does. It follows from what its neighbours have told it, so it is the same whether the PEs are
// played, all in one memory (play_flow()), or send each other messages (flow_member()), in whichever order these come.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/loadbalance/member.h"
#include "runtime/loadbalance/strategy.h"

namespace periapt::loadbalance {

struct FlowRules {
  double tolerance = 1.03;     // the flow ends where the fullest PE would have that, in times of the average
  std::size_t neighbours = 8;  // that a PE chooses, at most; others choose it
  int steps = 200;             // of the flow, at most
  int rounds = 8;              // in which objects are sent
  // Steps after which all hear how full the fullest PE would be. That takes longer than a step with neighbours.
  static constexpr int steps_between_sums = 10;
};
FlowRules flow_rules(const StrategyOptions& options);

// What an object exchanges with another, which is named as in a Claim: by the PE where it is as the step begins, its
// home, and its place there. Sums of whole numbers do not depend on their order.
struct Link {
  std::int32_t home = 0;
  std::uint32_t object = 0;
  std::uint64_t exchange = 0;
};
inline std::uint64_t exchange_of(const Communication& c) { return c.bytes + 1000 * c.messages; }

// Stands for an object, as a Token of rumours.h, and knows what that exchanges with which others.
struct LinkedToken {
  double work = 0;
  std::int32_t home = 0;
  std::uint32_t object = 0;
  std::vector<Link> links;  // in any order, perhaps several for one object
  void pup(PUP::er& p);
};

// What a PE tells its neighbours of itself.
struct Level {
  double load = 0, speed = 1;
  std::int64_t neighbours = 0;  // as wide as the others: it is sent as it lies here
};

class FlowPe {
 public:
  // `fixed`: seconds of what cannot leave it.
  FlowPe(int pe, double speed, double fixed, std::vector<LinkedToken> held);

  // Which PEs it wants for neighbours.
  std::vector<int> choice(std::size_t most) const;
  // Those it gets: that it has chosen, that have chosen it, and that stand next to it; in any order, itself too.
  void connect(std::vector<int> pes);
  const std::vector<int>& near() const { return near_; }

  // What neighbours have told, here and below, is in the order of near().
  Level expected() const { return {expected_, speed_, static_cast<std::int64_t>(near_.size())}; }
  void flow(std::span<const Level> neighbours);  // a step, after which it expects something else

  Level present() const { return {load_, speed_, static_cast<std::int64_t>(near_.size())}; }
  // What it gives to each neighbour, and no longer holds. It reckons with their loads as they were when they told, and
  // with what it gives them itself.
  std::vector<std::vector<LinkedToken>> give(std::span<const Level> neighbours);
  void take(std::vector<LinkedToken> tokens);

  int pe() const { return pe_; }
  const std::vector<LinkedToken>& held() const { return held_; }

 private:
  void put_in_order();
  int where(const Link& link) const;
  std::int64_t loss(const LinkedToken& token, int to) const;

  int pe_;
  double speed_, fixed_;
  std::vector<LinkedToken> held_;  // largest first
  double load_ = 0;                // a sum in the order of `held`: however that came about, it is the same
  double expected_ = 0;            // as far as the flow is computed
  std::vector<int> near_;          // ascending
  std::vector<double> work_;       // that is still to flow there
  // Objects that have been here, and which PE they went to, or this one. Of others it knows their home.
  std::unordered_map<std::uint64_t, int> seen_;
};

// All PEs of a database, played here.
Assignment play_flow(const LoadDatabase& database, const FlowRules& rules);
// One of them, in a run whose PEs are all available.
std::unique_ptr<Member> flow_member(const FlowRules& rules, Seat seat);

}  // namespace periapt::loadbalance
PUPbytes(periapt::loadbalance::Link);
PUPbytes(periapt::loadbalance::Level);
