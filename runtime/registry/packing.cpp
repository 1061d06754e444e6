// See packing.h.
#include "runtime/registry/packing.h"

#include "runtime/registry/registry.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace {
// pack() or unpack() has answered with another message: it takes over the envelope of the first.
PERIAPT_NOINLINE void replace(Message& message, Envelope* after, const Envelope& saved) {
  const std::uint64_t size = after->size;
  const std::uint16_t bits = after->priority_bits;
  const std::uint8_t waits = after->flags & envelope_waits;  // as the new one was allocated
  *after = saved;
  after->flags = static_cast<std::uint8_t>((saved.flags & ~envelope_waits) | waits);
  after->size = size;
  after->priority_bits = bits;
  static_cast<void>(message.release());  // a pack() that answers with another one has freed it
  message = Message(after);
}
PERIAPT_INLINE void put_through(void* (*change)(void*), Message& message, bool packs) {
  const Envelope saved = *message.envelope();
  if (PackingTold::observer) [[unlikely]]
    PackingTold::observer(packs, true);
  Envelope* after = envelope_of(change(message.payload()));
  if (PackingTold::observer) [[unlikely]]
    PackingTold::observer(packs, false);
  if (after != message.envelope()) [[unlikely]]
    replace(message, after, saved);
}
const MessageInfo* class_of(const Message& message) {
  if (message->target == Target::runtime || message->target == Target::converse) return nullptr;
  return &message_info(message->message_type);
}
// Whether there was something to do.
PERIAPT_INLINE bool pack_now(Message& message) {
  const MessageInfo* info = class_of(message);
  if (!info || !info->pack || (message->flags & envelope_packed)) return false;
  put_through(info->pack, message, true);
  message->flags |= envelope_packed;
  return true;
}
}  // namespace

// Every process of the host sees a message at the same address, so a class that kept the generated pack() needs it only
// where bytes are copied: to another host, above all.
bool shareable_in_process(const Message& message) {
  const MessageInfo* info = class_of(message);
  if (!info || !info->pack) return true;
  return info->relocatable && entry_info(message->entry).runtime_frees();
}
bool shareable(const Message& message) {
  const MessageInfo* info = class_of(message);
  if (!info || !info->pack) return true;
  return Process::current()->layout().host_count() == 1 && shareable_in_process(message);
}

void pack(Message& message) { pack_now(message); }

void unpack(Message& message) {
  if (!(message->flags & envelope_packed)) return;
  put_through(message_info(message->message_type).unpack, message, false);
  message->flags &= ~envelope_packed;
}

Message unshared(Message message) {
  if (!message.shared()) [[likely]]
    return message;
  const MessageInfo* info = class_of(message);
  if (!info || !info->pack || !info->relocatable || (message->flags & envelope_packed)) return message.copy();
  pack(message);  // and back at once: nothing else runs on this PE meanwhile, and only this one holds it so far
  Message copy = message.copy();
  unpack(message);
  unpack(copy);
  return copy;
}

Message given_away_once_more(Message message) {
  const MessageInfo* info = class_of(message);
  const bool packs_itself = info && info->pack && !info->relocatable;
  if (!packs_itself) message = unshared(std::move(message));
  message->flags &= static_cast<std::uint8_t>(~envelope_referenced);
  return message;
}

Message packed_for_other_host(Message message) {
  pack(message);
  return message;
}

void pack_for(const Pe& pe, int to, Message& message) {
  if (pe.process.is_mine(to)) return;
  const MessageInfo* info = class_of(message);
  if (info && (!info->relocatable || pe.process.layer().route(to) == machine::Route::other_host)) pack(message);
}

void send_to(Pe& pe, int to, Message&& message) {
  if (to == pe.index) return pe.send(to, std::move(message));
  if (pe.is_small(message) && (!pack_now(message) || pe.is_small(message)) && !message.shared())
    return pe.send_small(to, std::move(message));
  pack_for(pe, to, message);
  pe.send(to, std::move(message));
}

}  // namespace periapt
