// Messages as programs see them: allocation, copies, packing, the envelope's fields.
#include "runtime/registry/messages.h"

#include <cstring>
#include <limits>
#include <string>

#include "base/fatal.h"
#include "runtime/registry/dependencies.h"
#include "runtime/registry/packing.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace {
void* new_with_options(int message_type, std::size_t size, const CkEntryOptions* options) {
  const int bits = options ? options->getPriorityBits() : 0;
  const int groups = options ? options->getGroupDepSize() : 0;
  Message message = Message::make(GroupDependencies::padded(size, groups), bits);
  message->message_type = static_cast<std::uint16_t>(message_type);
  if (options) {
    message->queueing = static_cast<Queueing>(options->getQueueing());
    if (bits) std::memcpy(priority_of(message.envelope()), options->getPriorityPtr(), 4 * priority_words(bits));
    if (groups) {
      GroupDependencies wanted(message.envelope(), groups);
      for (int i = 0; i < groups; ++i) wanted.set(i, options->getGroupDepID(i));
    }
  }
  return payload_of(message.release());
}
}  // namespace

void* new_marshalled(std::size_t size, const CkEntryOptions* options) {
  return new_with_options(CMessage_CkMarshallMsg::__idx, size, options);
}

CMK_REFNUM_TYPE checked_reference(std::int64_t reference) {
  using Limits = std::numeric_limits<CMK_REFNUM_TYPE>;
  if (reference >= Limits::min() && reference <= Limits::max()) return static_cast<CMK_REFNUM_TYPE>(reference);
  fatal("reference number " + std::to_string(reference) +
            " of a message or callback is too large: it has to lie between " + std::to_string(Limits::min()) + " and " +
            std::to_string(Limits::max()),
        Pe::current() ? Pe::describe(*Pe::current()) : "", "CkSetRefNum() or setRefNum() was given it",
        "use smaller numbers, or let the first argument of the entry be the number: that may be larger");
}

void cut_message(void* message, std::size_t size) {
  Envelope* envelope = envelope_of(message);
  const std::uint32_t* const priority = priority_of(envelope);
  envelope->size = size;
  std::memmove(priority_of(envelope), priority, 4 * priority_words(envelope->priority_bits));
}

}  // namespace periapt

using periapt::Envelope;
using periapt::envelope_of;
using periapt::GroupDependencies;
using periapt::Message;
using periapt::payload_of;

int CMessage_CkMessage::__idx, CMessage_CkArgMsg::__idx, CMessage_CkMarshallMsg::__idx, CkMarshallMsg::__idx,
    CMessage_CkDataMsg::__idx;

void* CkAllocMsg(int message_type, std::size_t bytes, int priority_bits, GroupDepNum groups) {
  Message message = Message::make(GroupDependencies::padded(bytes, groups), priority_bits);
  message->message_type = static_cast<std::uint16_t>(message_type);
  if (groups) GroupDependencies(message.envelope(), groups);
  return payload_of(message.release());
}
void* CkAllocSysMsg(const CkEntryOptions* options) { return periapt::new_marshalled(0, options); }
void CkFreeSysMsg(void* message) { CkFreeMsg(message); }
void* CkAllocBuffer(void* message, int bytes) {
  const Envelope* like = envelope_of(message);
  const bool waits = like->flags & periapt::envelope_waits;
  const int groups = waits ? GroupDependencies(like).count() : 0;
  const std::size_t size = GroupDependencies::padded(bytes, groups);
  Message copy = periapt::place_again_of(message, size, like->priority_bits);
  if (!copy) copy = Message::make(size, like->priority_bits);
  if (waits) {
    GroupDependencies wanted(copy.envelope(), groups);
    for (int i = 0; i < groups; ++i) wanted.set(i, GroupDependencies(like).get(i));
  }
  copy->message_type = like->message_type;
  copy->queueing = like->queueing;
  copy->target = like->target;
  if (like->priority_bits)
    std::memcpy(priority_of(copy.envelope()), periapt::priority_of(const_cast<Envelope*>(like)),
                4 * periapt::priority_words(like->priority_bits));
  return payload_of(copy.release());
}
void CkFreeMsg(void* message) {
  if (message) Message::from_payload(message);
}
void* CkCopyMsg(void** message) {
  Message original = Message::from_payload(*message);
  Message copy = periapt::copied(original);
  *message = payload_of(original.release());
  return payload_of(copy.release());
}
void* CkReferenceMsg(void* message) {
  envelope_of(message)->flags |= periapt::envelope_referenced;
  periapt::Heap::add_reference(envelope_of(message));
  return message;
}
void CkSetQueueing(void* message, int strategy) {
  envelope_of(message)->queueing = static_cast<periapt::Queueing>(strategy);
}
void* CkPriorityPtr(void* message) { return periapt::priority_of(envelope_of(message)); }
void CkSetRefNum(void* message, std::int64_t reference) {
  envelope_of(message)->reference = periapt::checked_reference(reference);
}
CMK_REFNUM_TYPE CkGetRefNum(void* message) { return envelope_of(message)->reference; }
int CkGetSrcPe(void* message) { return envelope_of(message)->source; }
int CkGetSrcNode(void* message) { return periapt::Process::current()->process_of(CkGetSrcPe(message)); }
std::size_t CkGetMsgSize(void* message) { return envelope_of(message)->size; }

void CkPupMessage(PUP::er& p, void** message, int) {
  std::uint64_t bytes = 0;
  if (!p.isUnpacking() && *message) {
    Message m = Message::from_payload(*message);
    periapt::pack(m);
    bytes = periapt::message_bytes(m->size, m->priority_bits);
    *message = payload_of(m.release());
  }
  p | bytes;
  if (bytes == 0) {
    if (p.isUnpacking()) *message = nullptr;
    return;
  }
  if (p.isUnpacking()) {
    void* room = periapt::Pe::current()->heap.allocate(bytes);
    p(static_cast<char*>(room), bytes);
    Message m(static_cast<Envelope*>(room));
    periapt::unpack(m);
    *message = payload_of(m.release());
  } else {
    p(reinterpret_cast<char*>(envelope_of(*message)), bytes);
    Message m = Message::from_payload(*message);
    periapt::unpack(m);
    *message = payload_of(m.release());
  }
}

CkDataMsg* CkDataMsg::buildNew(int length, const void* bytes) {
  constexpr std::size_t data_at = sizeof(CkDataMsg) - sizeof(CkDataMsg::data);
  auto* message = static_cast<CkDataMsg*>(CkAllocMsg(CMessage_CkDataMsg::__idx, data_at + length, 0));
  message->length = length;
  if (length && bytes) std::memcpy(message->data, bytes, length);
  return message;
}

// --- CkMarshallMsg of a program: one block, the pointer is set again where it is unpacked
// --------------------------------

int CkMarshallMsg::own_index;

namespace {
constexpr std::size_t marshall_buffer_at = (sizeof(CkMarshallMsg) + 15) & ~std::size_t{15};
// As generated ones: the pointer becomes its distance from the message, and a pointer again.
void* pack_marshall(void* message) {
  char*& buffer = static_cast<CkMarshallMsg*>(message)->msgBuf;
  buffer -= reinterpret_cast<std::uintptr_t>(message);
  return message;
}
void* unpack_marshall(void* message) {
  char*& buffer = static_cast<CkMarshallMsg*>(message)->msgBuf;
  buffer += reinterpret_cast<std::uintptr_t>(message);
  return message;
}
CkMarshallMsg* with_buffer(void* message) {
  auto* const made = static_cast<CkMarshallMsg*>(message);
  made->msgBuf = static_cast<char*>(message) + marshall_buffer_at;
  return made;
}
}  // namespace

void* CkMarshallMsg::operator new(std::size_t, int* bytes, int priority_bits) {
  return with_buffer(CkAllocMsg(own_index, marshall_buffer_at + static_cast<std::size_t>(*bytes), priority_bits));
}
CkMarshallMsg* CkAllocateMarshallMsg(std::size_t bytes, const CkEntryOptions* options) {
  return with_buffer(periapt::new_with_options(CkMarshallMsg::own_index, marshall_buffer_at + bytes, options));
}
void CkMarshallMsg::register_own() {
  own_index = CkRegisterMsg("CkMarshallMsg of the program", pack_marshall, unpack_marshall, CkFreeMsg,
                            sizeof(CkMarshallMsg), true);
}
