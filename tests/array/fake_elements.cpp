// What the protocols of arrays need of the rest of the runtime, besides messages (tests/collective/fake_messages.cpp).
#include <cstdlib>
#include <cstring>

#include "runtime/api/objects.h"
#include "runtime/registry/packing.h"
#include "runtime/registry/registry.h"
#include "runtime/registry/runtime_message.h"
#include "tests/array/world.h"

namespace periapt {

std::uint64_t test::next_element = 0;

Registry& registry() {
  static Registry none;
  return none;
}
bool shareable(const Message&) { return true; }
void pack(Message&) {}

Message enclosing::wrap(const void* header, std::size_t bytes, Message inner) {
  const std::size_t at = part_bytes(bytes);
  Message outer = Message::make(at + message_bytes(inner->size, inner->priority_bits));
  std::memcpy(outer.payload(), header, bytes);
  std::memcpy(static_cast<char*>(outer.payload()) + at, static_cast<void*>(inner.envelope()), outer->size - at);
  return outer;
}
Message enclosing::unwrap(Delivery& call, std::size_t at) {
  const auto* inner = reinterpret_cast<const Envelope*>(static_cast<const char*>(call.arguments) + at);
  Message message = Message::make(inner->size, inner->priority_bits);
  std::memcpy(static_cast<void*>(message.envelope()), static_cast<const void*>(inner), call.length - at);
  return message;
}

}  // namespace periapt

ArrayElement::ArrayElement() {
  thisArray = nullptr;
  myRec.id_ = periapt::test::next_element;
}
ArrayElement::~ArrayElement() = default;
void ArrayElement::ckDestroy() {}
void ArrayElement::pup(PUP::er&) {}
