// See held.h.
#include "runtime/sdag/held.h"

#include <cstring>
#include <new>

#include "runtime/registry/messages.h"

namespace periapt::sdag {

namespace {
// The message in whose bytes the arguments of a call lie that does not own it: a broadcast's, for one of many elements.
Message shared(const Delivery& call) {
  Message owner = Message::from_payload(call.arguments);
  Message mine = owner.share();
  static_cast<void>(owner.release());
  return mine;
}
}  // namespace

// --- life ------------------------------------------------------------------------------------------------------------

Held* Held::of_inline(Blocks& blocks, const void* arguments, std::size_t length) {
  Held* held = new (blocks.take(sizeof(Held) + length)) Held(nullptr, length);
  held->arguments_ = held + 1;
  if (arguments && length != 0) std::memcpy(held->arguments_, arguments, length);
  return held;
}

Held* Held::of_bytes(Blocks& blocks, Message message, void* arguments, std::size_t length) {
  Held* held = new (blocks.take(sizeof(Held))) Held(arguments, length);
  held->message_ = std::move(message);
  return held;
}

Held* Held::of(Blocks& blocks, Delivery& call) {
  if (call.message) return of_bytes(blocks, std::move(call.message), call.arguments, call.length);
  if (call.length > inline_arguments_max) return of_bytes(blocks, shared(call), call.arguments, call.length);
  return of_inline(blocks, call.arguments, call.length);
}

Held* Held::of(Blocks& blocks, Message message) {
  void* const payload = message.payload();
  return of_bytes(blocks, std::move(message), payload, 0);
}

void Held::destroy(Blocks& blocks, Held* held) {
  if (held->type_) {
    held->type_->destroy(held->made_);
    blocks.give(held->made_, held->type_->size);
  }
  const std::size_t bytes = sizeof(Held) + (held->message_ ? 0 : held->length_);
  held->~Held();
  blocks.give(held, bytes);
}

void Held::make(Blocks& blocks, const ArgumentsType& type) {
  // The program's reference: it frees the message when it likes, we ours when the body has ended.
  if (type.is_message) static_cast<void>(message_.share().release());
  made_ = blocks.take(type.size);
  type.make(made_, arguments_, length_);
  type_ = &type;
}

void Held::leave() {
  if (type_ && type_->is_message && message_.shared()) Message(message_.envelope());
}

// --- packing ---------------------------------------------------------------------------------------------------------

namespace {
// Arrays that were sent without a copy may lie in buffers of the object's: over there they lie in the message.
Message with_arrays(const void* bytes) {
  using namespace zero_copy;
  const auto* head = static_cast<const ArraysHead*>(bytes);
  std::size_t total = head->tail;
  for (unsigned i = 0; i < head->arrays; ++i) total += padded(records_of(head)[i].bytes);
  Message whole = Message::make(total);
  auto* to = static_cast<char*>(whole.payload());
  std::memcpy(to, bytes, head->tail);
  auto* new_head = static_cast<ArraysHead*>(whole.payload());
  new_head->where = Where::in_message;
  new_head->call = nullptr;
  std::size_t at = head->tail;
  for (unsigned i = 0; i < head->arrays; ++i) {
    ArrayRecord& record = records_of(new_head)[i];
    std::memcpy(to + at, elements(head, i), record.bytes);
    record.offset = at;
    at += padded(record.bytes);
  }
  return whole;
}
}  // namespace

Held* Held::pup(PUP::er& p, Blocks& blocks, Held* held, const ArgumentsType& type) {
  if (p.isUnpacking())
    held = unpacked(p, blocks, type);
  else
    held->pack(p, type);
  bool is_made = held->type_ != nullptr;
  p | is_made;
  if (!is_made) return held;
  if (type.is_message) {
    bool program_has_it = !p.isUnpacking() && held->message_.shared();
    p | program_has_it;
    if (!p.isUnpacking()) return held;
    held->make(blocks, type);
    if (!program_has_it) Message(held->message_.envelope());
    return held;
  }
  if (p.isUnpacking()) held->make(blocks, type);
  type.pup(p, held->made_);
  return held;
}

void Held::pack(PUP::er& p, const ArgumentsType& type) {
  if (type.is_message) {
    void* payload = payload_of(message_.release());
    CkPupMessage(p, &payload);
    message_ = Message::from_payload(payload);
    arguments_ = payload;
  } else if (type.ncpy_arrays != 0) {
    Message whole = with_arrays(arguments_);
    std::uint64_t bytes = whole->size;
    p | bytes;
    p(static_cast<char*>(whole.payload()), bytes);
  } else {
    std::uint64_t bytes = length_;
    p | bytes;
    p(static_cast<char*>(arguments_), bytes);
  }
}

Held* Held::unpacked(PUP::er& p, Blocks& blocks, const ArgumentsType& type) {
  if (type.is_message) {
    void* payload = nullptr;
    CkPupMessage(p, &payload);
    return of(blocks, Message::from_payload(payload));
  }
  std::uint64_t bytes = 0;
  p | bytes;
  Held* held;
  if (bytes > inline_arguments_max) {
    Message message = Message::make(bytes);
    void* const payload = message.payload();
    held = of_bytes(blocks, std::move(message), payload, bytes);
  } else {
    held = of_inline(blocks, nullptr, bytes);
  }
  p(static_cast<char*>(held->arguments_), bytes);
  return held;
}

}  // namespace periapt::sdag
