// See runtime_message.h.
#include "runtime/registry/runtime_message.h"

#include "runtime/registry/dependencies.h"
#include "runtime/registry/messages.h"
#include "runtime/registry/packing.h"

namespace periapt {

void address(Message& message, Target target, int entry, std::uint32_t collection, std::uint64_t element) {
  message->target = target;
  message->entry = static_cast<std::uint16_t>(entry);
  message->collection = collection;
  message->element = element;
  const bool counted = target != Target::runtime || counting(entry) == Pe::Counting::yes;
  // One that came over the tree of a broadcast would go on over it.
  const int kept = message->flags & ~(envelope_counted | envelope_tree);
  message->flags = static_cast<std::uint8_t>(counted ? kept | envelope_counted : kept);
}

Message runtime_message(Message message, int entry, std::uint32_t collection, std::uint64_t element) {
  address(message, Target::runtime, entry, collection, element);
  return message;
}

Message enclosing::wrap(const void* header, std::size_t header_bytes, Message inner) {
  const std::size_t at = part_bytes(header_bytes);
  std::size_t bytes = 0;
  if (inner) {
    pack(inner);
    bytes = message_bytes(inner->size, inner->priority_bits);
  }
  const bool waits = inner && (inner->flags & envelope_waits);
  const int groups = waits ? GroupDependencies(inner.envelope()).count() : 0;
  Message outer = Message::make(GroupDependencies::padded(at + bytes, groups));
  std::memcpy(outer.payload(), header, header_bytes);
  if (bytes) std::memcpy(static_cast<char*>(outer.payload()) + at, inner.envelope(), bytes);
  if (waits) {
    GroupDependencies wanted(outer.envelope(), groups);
    for (int i = 0; i < groups; ++i) wanted.set(i, GroupDependencies(inner.envelope()).get(i));
  }
  return outer;
}

Message enclosing::unwrap(Delivery& call, std::size_t at) {
  if (call.length <= at) return Message();
  const char* bytes = static_cast<const char*>(call.arguments) + at;
  Envelope* copy = static_cast<Envelope*>(Pe::current()->heap.allocate(call.length - at));
  std::memcpy(copy, bytes, call.length - at);
  return Message(copy);
}

Message message_of_call(Target target, int ep, std::uint32_t collection, std::uint64_t element, const void* arguments,
                        std::size_t length) {
  Message message = Message::make(length);
  message->message_type = static_cast<std::uint16_t>(CMessage_CkMarshallMsg::__idx);
  address(message, target, ep, collection, element);
  if (length) std::memcpy(message.payload(), arguments, length);
  return message;
}

Message keep(Pe& pe, Delivery& call) {
  Message message = to_message(call);
  pe.count(message);
  return message;
}

Message to_message(Delivery& call) {
  if (call.message) return std::move(call.message);
  return message_of_call(call.target, call.entry, call.collection, call.element, call.arguments, call.length);
}

void send_whole(Pe& pe, int to, int entry, std::uint64_t element, Message message) {
  pack(message);  // as long as its class is known by its target
  address(message, Target::runtime, entry, message->collection, element);
  pe.send(to, std::move(message));
}

Message received_whole(Delivery& call) {
  Message message = std::move(call.message);
  message->target = Target::none;
  unpack(message);
  return message;
}

}  // namespace periapt
