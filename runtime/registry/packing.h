// What message classes with pack() and unpack() of their own need before their bytes travel.
#pragma once
#include <utility>

#include "runtime/message/message.h"
#include "runtime/scheduler/pe.h"

namespace periapt {

// Whether copies of the message may be made with memcpy and used as they are: its class packs nothing, or no entry
// changes what is shared, as its function doesn't keep it.
bool shareable(const Message& message);
// The same of copies that stay in this process.
bool shareable_in_process(const Message& message);

// Message classes with a pack() of their own are packed on the way to another process, all classes on the way to
// another host.
void pack(Message& message);
// Hears of each pack() and unpack() of a class that begins and ends, on the PE that calls it. Of the process: set
// before the first PE runs.
struct PackingTold {
  static inline void (*observer)(bool packs, bool begins) = nullptr;  // null: none
};
// For CkAllocBuffer(packed, size) within an unpack(): the block in which the object has to be made, as its holder knows
// it by that address. None, mostly.
Message place_again_of(const void* packed, std::size_t size, unsigned priority_bits);
Message packed_for_other_host(Message message);
void unpack(Message& message);
// A copy whose own pointers point into the copy. Of a class that packs itself it is what its pack() and unpack() make,
// and so may the message itself be afterwards.
Message copied(Message& message);
// A message that this caller alone holds: the same, or a copy of it. One whose class packs what it owns has one owner,
// unless the program said otherwise (CkReferenceMsg): the runtime's own reference is dropped, and the bytes go on.
Message unshared(Message message);
// The message that a program gives away to be sent, or a copy where it holds that once more (CkReferenceMsg): what is
// sent is addressed and packed, and what the program holds stays as it is. (How many holders a block has is not asked
// here: of a block that is used again that is a line that another core had last.)
Message given_away_once_more(Message message);
inline Message given_away(void* payload) {
  Message message = Message::from_payload(payload);
  if (message->flags & envelope_referenced) [[unlikely]]
    return given_away_once_more(std::move(message));
  return message;
}
// Packs what send_to(pe, to) would, for a message that goes on under a target that hides its class (a creation).
void pack_for(const Pe& pe, int to, Message& message);

// Sends to `to`, packing messages that need it when they leave the process.
void send_to(Pe& pe, int to, Message&& message);

}  // namespace periapt
