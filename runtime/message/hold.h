// A body of an entry (SDAG) holds the message that it has given to the program until it ends, so that the program may
// free it or send it on at any time. It reads nothing of it meanwhile: it counts among the holders of the block, which
// it keeps alive, but as none of those that could notice a change.
#pragma once
#include "machine/host/heap.h"
#include "runtime/message/envelope.h"

namespace periapt {

struct Hold {
  // A block counts its holders in 32 bits: these lie above any number of ordinary ones.
  static constexpr std::uint32_t one = std::uint32_t{1} << 24;

  // Its caller holds the message too, or has it held.
  static void begin(Envelope* envelope) { host::Heap::add_reference(envelope, one); }
  // Turns the hold into an ordinary reference, which the caller drops. Relaxed: dropping it orders what came before.
  static void become_owner(Envelope* envelope) {
    host::Block::of(envelope)->references.fetch_sub(one - 1, std::memory_order_relaxed);
  }
  // How many hold it that are no bodies. Acquire, as Heap::is_shared(): a 1 stays 1 for that one holder.
  static std::uint32_t owners(const Envelope* envelope) {
    return host::Block::of(envelope)->references.load(std::memory_order_acquire) & (one - 1);
  }
};

}  // namespace periapt
