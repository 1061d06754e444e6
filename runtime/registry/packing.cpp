// See packing.h.
#include "runtime/registry/packing.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/fatal.h"
#include "machine/host/heap.h"
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
// Moves the bytes of one message into another's block, with what in them points into the first.
void move_contents(Message& from, const Message& to) {
  const auto low = reinterpret_cast<std::uintptr_t>(from.payload());
  auto* const bytes = static_cast<char*>(from.payload());
  for (std::size_t at = 0; at + sizeof(std::uintptr_t) <= from->size; at += sizeof(std::uintptr_t)) {
    std::uintptr_t word;
    std::memcpy(&word, bytes + at, sizeof word);
    if (word - low > from->size) continue;
    word += reinterpret_cast<std::uintptr_t>(to.payload()) - low;
    std::memcpy(bytes + at, &word, sizeof word);
  }
  std::memcpy(to.payload(), bytes, from->size);
}
// Where unpack() makes the object of another holder again. Of the thread: no unpack() waits.
struct UnpackTarget {
  const void* packed = nullptr;  // what is unpacked; null: nothing
  Envelope* envelope = nullptr;
};
thread_local UnpackTarget place_again;

[[noreturn]] PERIAPT_NOINLINE void has_grown(const Message& from, const Message& to, const MessageInfo& info) {
  fatal("a message of class " + std::string(info.name) + " that the program holds once more has grown from " +
            std::to_string(from->size) + " to " + std::to_string(to->size) + " bytes in its pack() and unpack()",
        Pe::describe(*Pe::current()),
        "CkReferenceMsg() was called for it, and as its pack() ends it, the program's own is unpacked in its place",
        "let unpack() ask CkAllocBuffer() for as many bytes as the message had, or send what CkCopyMsg() makes of it");
}
// Of a class that packs itself, when the program holds the message once more: its pack() is for one holder, and
// mostly ends what it has packed. So the message becomes its packed bytes, and the other holder's is made again of
// them, in its place: there CkAllocBuffer() says that it be made, or its bytes are moved.
PERIAPT_NOINLINE void pack_apart(Message& message, const MessageInfo& info) {
  const Message original = message.share();
  put_through(info.pack, message, true);
  message->flags |= envelope_packed;
  Message packed = message.copy();
  packed->flags &= static_cast<std::uint8_t>(~envelope_referenced);
  if (message.envelope() != original.envelope()) place_again = {message.payload(), original.envelope()};
  put_through(info.unpack, message, false);
  place_again = {};
  original.envelope()->flags &= static_cast<std::uint8_t>(~envelope_packed);
  if (message.envelope() != original.envelope()) {
    if (message->size != original.envelope()->size) has_grown(original, message, info);
    move_contents(message, original);
  }
  message = std::move(packed);
}
// Whether there was something to do.
PERIAPT_INLINE bool pack_now(Message& message) {
  const MessageInfo* info = class_of(message);
  if (!info || !info->pack || (message->flags & envelope_packed)) return false;
  if ((message->flags & envelope_referenced) && !info->relocatable && message.shared()) [[unlikely]] {
    pack_apart(message, *info);
    return true;
  }
  put_through(info->pack, message, true);
  message->flags |= envelope_packed;
  return true;
}
// A copy with pointers of its own, of a message that other PEs may be reading: nothing is written to it. Where the
// pointers lie the generated pack() says, which subtracts from each the address of what it packs: here of zeroes.
Message moved_copy(const Message& message, const MessageInfo& info) {
  Message copy = message.copy();
  std::vector<std::uintptr_t> zeroes(info.size / sizeof(std::uintptr_t) + 1);
  info.pack(zeroes.data());
  const auto* const probe = reinterpret_cast<const char*>(zeroes.data());
  const std::uintptr_t mark = 0 - reinterpret_cast<std::uintptr_t>(probe);
  const std::uintptr_t distance =
      reinterpret_cast<std::uintptr_t>(copy.payload()) - reinterpret_cast<std::uintptr_t>(message.payload());
  for (std::size_t at = 0; at + sizeof mark <= info.size; ++at) {
    if (std::memcmp(probe + at, &mark, sizeof mark) != 0) continue;
    char* const field = static_cast<char*>(copy.payload()) + at;
    std::uintptr_t pointer;
    std::memcpy(&pointer, field, sizeof pointer);
    pointer += distance;
    std::memcpy(field, &pointer, sizeof pointer);
    at += sizeof mark - 1;
  }
  return copy;
}
}  // namespace

Message place_again_of(const void* packed, std::size_t size, unsigned priority_bits) {
  if (!packed || place_again.packed != packed) [[likely]]
    return Message();
  Envelope* const envelope = std::exchange(place_again, {}).envelope;
  if (message_bytes(size, priority_bits) > host::Heap::size(envelope)) return Message();
  host::Heap::add_reference(envelope);
  *envelope = Envelope{};
  envelope->size = size;
  envelope->priority_bits = static_cast<std::uint16_t>(priority_bits);
  return Message(envelope);
}

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

Message copied(Message& message) {
  const MessageInfo* info = class_of(message);
  if (!info || !info->pack || (message->flags & envelope_packed)) return message.copy();
  if (info->relocatable) return moved_copy(message, *info);
  pack(message);
  Message copy = message.copy();
  unpack(message);
  unpack(copy);
  return copy;
}

Message unshared(Message message) {
  if (!message.shared()) [[likely]]
    return message;
  const MessageInfo* info = class_of(message);
  if (!info || !info->pack || info->relocatable || (message->flags & envelope_packed)) return copied(message);
  if (!(message->flags & envelope_referenced)) return message.copy();
  pack(message);
  unpack(message);
  return message;
}

Message given_away_once_more(Message message) {
  message = unshared(std::move(message));
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
