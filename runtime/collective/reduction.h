// Reductions of one array or group: the part on one PE.
//
// Contributions are numbered by their contributor: its first belongs to round 0, and so on. A PE adds up what its
// contributors give to a round and, when all that are here have given, reports to its parent in a tree. Nothing is
// lost or doubled when contributors move, appear or vanish meanwhile, because the root counts: a round is complete when
// every PE has reported it and as many have contributed as there are contributors in that round.
//
//   - One that arrives after its PE has reported a round it still owes sends that contribution on its own (late).
//   - One that is born takes part from the first round that its PE has not reported; the report says how many.
//   - One that dies owing rounds that its PE has reported is taken back from each with a late report.
//   - A PE without contributors reports when it hears that a round has begun: `start` messages go to subtrees that said
//     they hold such a PE (passive).
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "runtime/api/callback.h"
#include "runtime/api/reducers.h"
#include "runtime/collective/accumulator.h"
#include "runtime/collective/sender.h"

namespace periapt {

class Reduction {
 public:
  // Where partial results go: PEs (groups, arrays), or the first PEs of processes (node groups).
  enum class Tree { pes, processes };
  // `place`: this PE's in that tree, in PEs. `everywhere`: each place of the tree has one contributor, for good.
  Reduction(Sender& sender, int collection, Tree tree, TreePlace place, bool everywhere);

  // `function` finds the reduction that a message of the protocol is for, and has it receive() that.
  static void register_entries(RuntimeFunction function);
  void receive(Delivery& call);
  // Of which tree the reduction is that a message is for.
  static Tree tree_of(const Delivery& call) { return call.element & 1 ? Tree::processes : Tree::pes; }

  void set_client(const CkCallback& client) { client_ = client; }
  const CkCallback& client() const { return client_; }

  // --- contributors; `next` is the number of its next contribution ---
  // A new one here: returns the round it begins with.
  std::uint32_t born();
  void died(std::uint32_t next);
  void arrived(std::uint32_t next);
  void left(std::uint32_t next);
  // `callback`: null for the one set for the array or group.
  void contribute(std::uint32_t round, ReducerType type, const chare::Contribution& contribution,
                  const CkCallback* callback);

  // --- checkpoints: what a PE knows when no message of the protocol is on its way ---
  struct OpenRound {
    std::uint32_t number = 0, sources = 0;
    std::int32_t population = 0, adjust = 0, user_flag = -1;
    ReducerType type = CkReduction::nop;
    bool reduced = true;
    CkCallback callback;
    std::vector<char> data;
    void pup(PUP::er& p);
  };
  struct State {
    std::uint32_t first = 0;      // open round; what counts is the root's
    std::int64_t population = 0;  // the root's
    CkCallback client;
    std::vector<OpenRound> rounds;
    void pup(PUP::er& p);
  };
  State state();
  // Begins there, before it has contributors. `state`: of the root, with the rounds of all PEs if this is the root, and
  // without any if not. Contributors that come by arrived() have been counted.
  void resume(const State& state);
  // The same where each place has one contributor, with that one. `counted`: in the state's population.
  void resume_with_member(const State& state, std::uint32_t contributions, bool counted);

  // While contributors are still being made no round is reported.
  void hold() { ++held_; }
  void unhold();

  // The first round that is not told from here, and whether it has begun.
  std::uint32_t first_open() const { return base_; }
  bool first_has_begun() const { return base_ - first_ < rounds_.size() && rounds_[base_ - first_].begun; }
  // A member has contributed to a round that is not finished.
  bool open() const;
  // A line for each open round: "reduction 3 of Piece: 5 of 7 contributors on PE 2 have contributed ...". Of one that
  // waits for late contributions alone, the root has the line.
  std::string describe() const;

 private:
  struct Round {
    std::uint32_t given = 0;      // local contributors that are past this round
    std::int32_t population = 0;  // contributors born minus died from this round on: here and in reports from below
    std::int32_t adjust = 0;      // contributors taken back from this round alone
    std::uint32_t reports = 0;    // children's first reports
    bool begun = false;
    bool asked = false;     // children that said they are passive have been told
    bool reported = false;  // root: all PEs have reported
    CkCallback callback;
    Accumulator sum;
  };
  struct Header;

  struct Report;

  void on_report(Delivery& call);
  void on_start(std::uint32_t number);
  void on_passive(int child);
  // The element field of the protocol's messages: which tree, and the PE that sends.
  std::uint64_t tree_of() const { return tree_ == Tree::processes ? 1 : 0; }
  std::uint64_t child_key() const { return tree_of() | static_cast<std::uint64_t>(sender_.me) << 1; }
  static int pe_of_key(std::uint64_t key) { return static_cast<int>(key >> 1); }

  // Nearly all ask for the oldest round, which is found without the deque's arithmetic.
  Round& round(std::uint32_t number) {
    if (number == first_ && !rounds_.empty()) [[likely]]
      return rounds_.front();
    return later_round(number);
  }
  Round& later_round(std::uint32_t number);
  void begin(std::uint32_t number);
  void advance();
  void send_report(std::uint32_t number, Round& r, bool late);
  void count_report(Round& r, std::uint32_t number, int child, bool passive);
  void deliver(std::uint32_t number, Round& r);
  std::string collection_name() const;
  void finish_rounds();
  void say_passive();
  bool passive_subtree() const;
  bool is_root() const { return parent_ < 0; }

  Sender& sender_;
  const int collection_;
  const Tree tree_;
  const bool everywhere_;
  const int parent_;
  const std::vector<int> children_;
  std::vector<bool> child_passive_;
  std::uint32_t base_ = 0;   // first round not reported
  std::uint32_t first_ = 0;  // number of rounds_.front()
  std::deque<Round> rounds_;
  std::uint32_t contributors_ = 0;  // here
  std::int64_t population_ = 0;     // root: of all PEs, up to round first_
  int held_ = 0;
  bool said_passive_;
  CkCallback client_;
};

}  // namespace periapt
