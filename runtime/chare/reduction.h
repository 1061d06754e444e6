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

// What one contributor gives, or several together.
struct Contribution {
  std::int32_t reducer = 0;
  std::int32_t user_flag = -1;
  std::uint32_t contributors = 1;
  CkCallback callback;  // invalid: the one set for the array or group
  std::vector<char> data;
};

class Reduction {
 public:
  // Where partial results go: PEs (groups, arrays), or the first PEs of processes (node groups).
  enum class Tree { pes, processes };
  Reduction(PeObjects& objects, int collection, Tree tree);

  static void register_entries();

  void set_client(const CkCallback& client) { client_ = client; }
  const CkCallback& client() const { return client_; }

  // --- contributors; `next` is the number of its next contribution ---
  // A new one here: returns the round it begins with.
  std::uint32_t born();
  void died(std::uint32_t next);
  void arrived(std::uint32_t next);
  void left(std::uint32_t next);
  void contribute(std::uint32_t round, Contribution contribution);

  // While contributors are still being made no round is reported.
  void hold() { ++held_; }
  void unhold();

  std::uint32_t first_open() const { return base_; }
  // "round 3: 5 of 7 contributors here have contributed, waiting for reports of PEs 5, 6"; empty when none is open.
  std::string describe() const;

 private:
  struct Round {
    std::uint32_t given = 0;      // local contributors that are past this round
    std::int32_t population = 0;  // contributors born minus died from this round on, in this subtree
    std::uint32_t reports = 0;    // children's first reports
    bool begun = false;
    bool asked = false;    // children without contributors have been told
    std::uint32_t contributors = 0;
    std::int32_t user_flag = -1;
    bool mixed = false;
    CkCallback callback;
    std::unique_ptr<Accumulator> sum;
    std::int32_t adjust = 0;  // root: died, for this round alone
    bool reported = false;    // root: all reports are in
  };
  struct Header;

  static void on_report(Pe&, const RuntimeCall&);
  static void on_start(Pe&, const RuntimeCall&);

  Round& round(std::uint32_t number);
  void begin(std::uint32_t number);
  void advance();
  void add(Round& r, const Contribution& contribution);
  void report(std::uint32_t number, Round& r);
  void send_report(std::uint32_t number, Round& r, bool late, std::int32_t adjust);
  void receive(const Header& header, const char* bytes, std::size_t size);
  void finish_rounds();
  void deliver(std::uint32_t number, Round& r);
  bool is_root() const { return parent_ < 0; }

  PeObjects& objects_;
  Pe& pe_;
  const int collection_;
  const Tree tree_;
  int parent_ = -1;
  std::vector<int> children_;
  std::vector<bool> child_passive_;
  std::uint32_t base_ = 0;          // first round not reported
  std::uint32_t first_ = 0;         // number of rounds_.front()
  std::deque<Round> rounds_;
  std::uint32_t contributors_ = 0;  // here
  std::int64_t population_ = 0;     // root: of all PEs, up to round first_
  int held_ = 0;
  bool said_passive_ = true;
  CkCallback client_;
};

}  // namespace periapt
