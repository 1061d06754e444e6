// A scheduler that runs inside an entry method: Csd...() and Cmi...() functions that look after messages, and a [sync]
// call of an entry that is not threaded. The object of the entry around it must not go away meanwhile: an order to move
// or to destroy it, which would be carried out inside, is kept until the scheduler has returned.
//
// What an entry does to its own object, as its last act, is no order: it is done at once. In a [threaded] entry nothing
// need be held: RunningThreads knows its object.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/message/message.h"

namespace periapt {

class Pe;

namespace scheduler {

// Lies on the stack around the scheduler's run.
class NestedScheduling {
 public:
  explicit NestedScheduling(Pe& pe);
  ~NestedScheduling();
  NestedScheduling(const NestedScheduling&) = delete;

  // Whether an entry of the object (Delivery::owner) is around one that runs on this PE.
  static bool is_around(const Pe& pe, std::uint64_t owner) { return !all_.empty() && innermost(pe, owner) != nullptr; }
  // Where that is so: the message goes back into the queue when the innermost such scheduler has returned.
  static void keep(const Pe& pe, std::uint64_t owner, Message message);

 private:
  static NestedScheduling* innermost(const Pe& pe, std::uint64_t owner);

  Pe& pe_;
  const std::uint64_t owner_;
  std::vector<Message> kept_;

  // Of all PEs whose scheduler this thread runs: one, or all of a run that is simulated or stepped by hand.
  static thread_local std::vector<NestedScheduling*> all_;
};

}  // namespace scheduler
}  // namespace periapt
