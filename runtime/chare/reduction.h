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

#include "runtime/chare/callback.h"
#include "runtime/chare/pe_objects.h"
#include "runtime/chare/reducers.h"

namespace periapt {

using ReducerType = CkReduction::reducerType;

// The sum so far of some contributions: bytes worked into in place, or for reducers that need all at once, all of them.
class Accumulator {
 public:
  Accumulator() = default;
  Accumulator(Accumulator&&) = default;
  Accumulator& operator=(Accumulator&&) = delete;
  ~Accumulator();
  // One more that brings no data to a sum without data: the usual case of an empty reduction. False: use add().
  bool count_only(ReducerType type, const chare::Contribution& contribution) {
    if (!any_ || type != CkReduction::nop || type_ != type || contribution.size != 0 || contribution.user_flag != -1)
      return false;
    sources_ += contribution.sources;
    return true;
  }
  void add(ReducerType type, const chare::Contribution& contribution, std::uint64_t random_bits);
  // Everything as one contribution; its data live as long as this object.
  chare::Contribution result();
  // The same as a message for the program.
  CkReductionMsg* message();
  ReducerType type() const { return type_; }
  std::uint32_t sources() const { return sources_; }

 private:
  void* room(std::size_t bytes);
  ReducerType type_ = CkReduction::nop;
  std::uint32_t sources_ = 0;
  int user_flag_ = -1;
  bool reduced_ = true;
  std::size_t size_ = 0;
  bool any_ = false;
  alignas(16) char small_[64];
  std::vector<double> large_;
  std::vector<CkReductionMsg*> kept_;
};

class Reduction {
 public:
  // Where partial results go: PEs (groups, arrays), or the first PEs of processes (node groups).
  enum class Tree { pes, processes };
  // `everywhere`: each place of the tree has one contributor, for good.
  Reduction(PeObjects& objects, int collection, Tree tree, bool everywhere);

  static void register_entries();

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

  // While contributors are still being made no round is reported.
  void hold() { ++held_; }
  void unhold();

  std::uint32_t first_open() const { return base_; }
  // Somebody has contributed to a round that is not finished.
  bool open() const;
  // "round 3: 5 of 7 contributors here have contributed, waiting for reports of PEs 5, 6"; empty when none is open.
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

  static void on_report(Pe&, Delivery&);
  static void on_start(Pe&, Delivery&);
  static void on_passive(Pe&, Delivery&);
  static Reduction* of(Pe& pe, Delivery& call);
  // The element field of the protocol's messages: which tree, and who sends.
  std::uint64_t tree_of() const { return tree_ == Tree::processes ? 1 : 0; }
  std::uint64_t child_key() const { return tree_of() | static_cast<std::uint64_t>(pe_.index) << 1; }
  static Tree tree_of_key(std::uint64_t key) { return key & 1 ? Tree::processes : Tree::pes; }
  static int pe_of_key(std::uint64_t key) { return static_cast<int>(key >> 1); }

  Round& round(std::uint32_t number) {
    while (number >= first_ + rounds_.size()) rounds_.emplace_back();
    return rounds_[number - first_];
  }
  void begin(std::uint32_t number);
  void advance();
  void send_report(std::uint32_t number, Round& r, bool late);
  void receive(const Header& header, const CkCallback& callback, const char* bytes, int from);
  void deliver(std::uint32_t number, Round& r);
  std::string collection_name() const;
  void finish_rounds();
  void say_passive();
  bool passive_subtree() const;
  bool is_root() const { return parent_ < 0; }

  PeObjects& objects_;
  Pe& pe_;
  const int collection_;
  const Tree tree_;
  const bool everywhere_;
  int parent_ = -1;
  std::vector<int> children_;
  std::vector<bool> child_passive_;
  std::uint32_t base_ = 0;   // first round not reported
  std::uint32_t first_ = 0;  // number of rounds_.front()
  std::deque<Round> rounds_;
  std::uint32_t contributors_ = 0;  // here
  std::int64_t population_ = 0;     // root: of all PEs, up to round first_
  int held_ = 0;
  bool said_passive_ = true;
  CkCallback client_;
};

}  // namespace periapt
