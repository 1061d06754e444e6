// Seeds that wait on one PE: chares that were made without a PE and are not constructed yet, and messages of Converse's
// for CLD_ANYWHERE. Each may still go to another PE.
//
// A seed is the message that makes its chare, or Converse's own. Those without a priority wait in a queue of their own,
// for which one token is in the scheduler's queue: when its turn comes the oldest seed runs, and the token goes to the
// end. (So a hundred thousand seeds do not keep the PE from looking into its inbox, which it does only while its queue
// is short.) A seed with a priority has a token of its own, with the same priority; when the seed has been given away
// the token means nothing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>

#include "runtime/converse/cld.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/seeds/policy.h"

namespace periapt::seeds {

class Pool final : public SeedKeeper {
 public:
  using Make = std::unique_ptr<Policy> (*)(Pool&);
  Pool(Pe& pe, Make make);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  // `makes_chare`: the entry of the runtime that constructs a chare, here.
  static void register_entries(int makes_chare);
  // Of a message for that entry: its chare was made on another PE, whose handles name that one.
  static bool has_moved(const Envelope& seed);

  Pe& pe;
  std::size_t size() const { return plain_.size() + urgent_.size(); }
  // A message for the entry that makes chares, not counted as sent yet; or one of Converse's, which counts itself.
  void put(Message seed);
  void keep(Message seed, int from) override;
  int unqueued() const override;
  // The oldest that wait go to the pool of another PE.
  void give(int to, std::size_t count);
  // Sends a word, of this PE, to the policy of another; `at_once`: before what is queued there.
  enum class Hurry : bool { no, at_once };
  void tell(int to, Word word, Hurry hurry);
  void tell(int to, int kind, std::int64_t number, Hurry hurry) { tell(to, {.kind = kind, .number = number}, hurry); }
  // Another PE, by chance. There must be one.
  int other_by_chance();

 private:
  Message take_oldest();
  void run(Message seed);
  void run_next();
  void run_urgent(std::uint64_t number);
  void queue_token();

  std::unique_ptr<Policy> policy_;
  std::deque<Message> plain_;                // the oldest first
  std::map<std::uint64_t, Message> urgent_;  // those with a priority, or other than first come, first served
  std::uint64_t last_number_ = 0;            // of those
  bool token_queued_ = false;                // for plain_
};

}  // namespace periapt::seeds
