// The priority of a message as the queue compares it, from its envelope.
#pragma once
#include <algorithm>
#include <cstring>

#include "runtime/message/envelope.h"
#include "runtime/scheduler/priority_queue.h"

namespace periapt::scheduler {

inline Order order_of(Queueing queueing) { return static_cast<int>(queueing) & 1 ? Order::lifo : Order::fifo; }
static_assert(static_cast<int>(Queueing::lifo) % 2 == 1 && static_cast<int>(Queueing::long_lifo) % 2 == 1);

// Room for a priority is none yet: of FIFO and LIFO the words mean nothing, as in Charm++.
inline bool has_priority(const Envelope* envelope) {
  return envelope->priority_bits != 0 && envelope->queueing > Queueing::lifo;
}

inline PriorityKey key_of(Envelope* envelope) {
  const std::uint32_t* words = priority_of(envelope);
  switch (envelope->queueing) {
    case Queueing::int_fifo:
    case Queueing::int_lifo:
      return PriorityKey::of_int(static_cast<std::int32_t>(words[0]));
    case Queueing::long_fifo:
    case Queueing::long_lifo: {
      std::int64_t value = 0;
      std::memcpy(&value, words, std::min<std::size_t>(sizeof value, 4 * priority_words(envelope->priority_bits)));
      return PriorityKey::of_long(value);
    }
    case Queueing::bits_fifo:
    case Queueing::bits_lifo:
      return PriorityKey::of_bits(words, envelope->priority_bits);
    default:
      return PriorityKey::none();
  }
}

}  // namespace periapt::scheduler
