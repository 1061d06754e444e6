// Reductions of one section: the part on one PE.
//
// A member counts its contributions in its cookie: the first belongs to round 0, and so on. Where members are does not
// matter to the result, as the root counts: a round is complete when as many have contributed as the section has
// members. The tree only says what is worth waiting for:
//
//   - A PE of the tree expects as many contributions to a round as members stand at it, and a report of each child;
//   then
//     it reports the sum to its parent, and is done with the round.
//   - What comes beyond that goes straight to the root, as `extra`: from a PE that is done or is not in the tree, or of
//     more members than are expected, because one has come from elsewhere.
//   - Where one too many contributes, one too few does somewhere else, and would be waited for in vain. So the root has
//     the tree give up waiting, with a `flush` of that round: each PE sends the root what it has and is done.
//   - When the tree is made anew, each PE sends the root what it has of open rounds, and the root flushes those that
//     it knows of in the new tree. What was still under way in the old one arrives as `extra`.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "runtime/collective/accumulator.h"
#include "runtime/collective/sender.h"

namespace periapt {

// The element field of a section's messages: its number on the PE that made it, and the version of its tree.
constexpr std::uint64_t section_key(std::uint32_t number, std::uint32_t version) {
  return static_cast<std::uint64_t>(version) << 32 | number;
}
constexpr std::uint32_t section_number_of(std::uint64_t key) { return static_cast<std::uint32_t>(key); }
constexpr std::uint32_t section_version_of(std::uint64_t key) { return static_cast<std::uint32_t>(key >> 32); }

class SectionReduction {
 public:
  // Of section `number` of those made on PE `root`.
  SectionReduction(Sender& sender, int root, std::uint32_t number);

  // `function` finds the reduction that a message is for, by collection (the root) and element (section_key), and has
  // it receive() that, no earlier than the tree of the message's version is known there. A report may be of a tree that
  // has been forgotten there: it counts for the root all the same.
  static void register_entries(RuntimeFunction function);
  static bool is_report(const Delivery& call);
  void receive(Delivery& call);

  // This PE's place in a tree: the first has version 1. `parent`: of the root -1. `expected`: members that stand here.
  // All rounds below `first_open` are complete.
  struct Place {
    std::uint32_t version = 0;
    int parent = -1;
    std::vector<int> children;
    std::uint32_t expected = 0;
    std::uint32_t first_open = 0;
  };
  void set_place(Place place);

  // `members`: of the whole section. `callback`: null for the client.
  void contribute(std::uint32_t round, std::uint32_t members, ReducerType type, const chare::Contribution& contribution,
                  const CkCallback* callback);
  // The root's: gets the results of rounds that bring no callback.
  void set_client(const CkCallback& client) { client_ = client; }

  std::uint32_t first_open() const { return first_; }
  bool open() const;
  // No round is known here that is not complete.
  bool empty() const { return rounds_.empty(); }
  const CkCallback& client() const { return client_; }
  // The root's, of a section that it has forgotten meanwhile: so many rounds are complete.
  void resume(std::uint32_t rounds, const CkCallback& client) {
    first_ = rounds;
    client_ = client;
  }
  // A line a round: how many have contributed. Empty when none is open here.
  std::string describe() const;

 private:
  struct Header;
  struct Report;
  struct Round {
    std::uint32_t given = 0;    // contributions of members here
    std::uint32_t reports = 0;  // of children
    std::uint32_t members = 0;  // of the section; 0: not known here yet
    bool done = false;          // a PE below the root has sent its sum; the root has had the tree flushed
    CkCallback callback;
    Accumulator sum;
  };

  bool is_root() const { return sender_.me == root_; }
  Round& round(std::uint32_t number) {
    while (number >= first_ + rounds_.size()) rounds_.emplace_back();
    return rounds_[number - first_];
  }
  bool passed(std::uint32_t number) const { return number < first_; }
  bool is_done(std::uint32_t number) { return passed(number) || round(number).done; }
  void add_own(Round& r, std::uint32_t members, ReducerType type, const chare::Contribution& contribution,
               const CkCallback* callback);
  void on_report(Delivery& call);
  void on_flush(std::uint32_t number);
  void check(std::uint32_t number);
  void flush(std::uint32_t number);
  void send_sum(int to, std::uint32_t number, Round& r, bool extra);
  void drop_done();
  void finish_rounds();
  void deliver(std::uint32_t number, Round& r);
  [[noreturn]] void too_many(std::uint32_t number, std::uint32_t members) const;
  std::string name() const;

  Sender& sender_;
  const int root_;
  const std::uint32_t number_;
  Place place_;
  std::uint32_t first_ = 0;  // number of rounds_.front()
  std::deque<Round> rounds_;
  CkCallback client_;
};

}  // namespace periapt
