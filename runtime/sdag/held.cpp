// See held.h.
#include "runtime/sdag/held.h"

#include <cstring>
#include <new>
#include <utility>

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

bool is_shared(Envelope* envelope) {
  Message message(envelope);
  const bool out = message.shared();
  static_cast<void>(message.release());
  return out;
}
}  // namespace

// --- life ------------------------------------------------------------------------------------------------------------

Held* Held::of_message(Blocks& blocks, Message message, void* arguments, std::size_t length) {
  Held* held = new (blocks.take(sizeof(Held) + sizeof(Far))) Held(reinterpret_cast<std::uintptr_t>(message.release()));
  new (held + 1) Far{arguments, length};
  return held;
}

Held* Held::of_call_with_message(Blocks& blocks, Delivery& call) {
  return of_message(blocks, call.message ? std::move(call.message) : shared(call), call.arguments, call.length);
}

Held* Held::of(Blocks& blocks, Message message) {
  void* const payload = message.payload();
  return of_message(blocks, std::move(message), payload, 0);
}

void Held::destroy_with_message(Blocks& blocks, Held* held) {
  const Message last(held->envelope());
  blocks.give(held, sizeof(Held) + sizeof(Far));
}

// The program's reference: it frees the message when it likes, the Held its own when the body has ended.
void Held::share_with_program() {
  Message mine(envelope());
  static_cast<void>(mine.share().release());
  static_cast<void>(mine.release());
}

void Held::leave() {
  if (!is_made() || !made_.type->is_message || made_.type->is_lent) return;
  Message of_program(envelope());
  if (!of_program.shared()) static_cast<void>(of_program.release());
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
  bool is_made = held->is_made();
  p | is_made;
  if (!is_made) return held;
  if (type.is_message) {
    bool program_has_it = !p.isUnpacking() && is_shared(held->envelope());
    p | program_has_it;
    if (!p.isUnpacking()) return held;
    held->make(blocks, type);
    if (!program_has_it && !type.is_lent) Message(held->envelope());
    return held;
  }
  if (p.isUnpacking()) held->make(blocks, type);
  type.pup(p, held->made());
  return held;
}

void Held::pack(PUP::er& p, const ArgumentsType& type) {
  if (type.is_message) {
    pack_message(p, type);
  } else if (type.ncpy_arrays != 0) {
    Message whole = with_arrays(arguments());
    std::uint64_t bytes = whole->size;
    p | bytes;
    p(static_cast<char*>(whole.payload()), bytes);
  } else {
    std::uint64_t bytes = length();
    p | bytes;
    p(static_cast<char*>(arguments()), bytes);
  }
}

// The pack() of a class frees one of the references, and unpack() may make another message, which the program gets for
// the first.
void Held::pack_message(PUP::er& p, const ArgumentsType& type) {
  Envelope* const before = envelope();
  const bool program_has_it = is_made() && !type.is_lent && is_shared(before);
  void* payload = payload_of(before);
  CkPupMessage(p, &payload);
  Envelope* const after = envelope_of(payload);
  owner_ = reinterpret_cast<std::uintptr_t>(after) | (owner_ & made_bit);
  far().arguments = payload;
  if (!program_has_it || after == before) return;
  const Message of_program(before);
  share_with_program();
  type.destroy(made());
  type.make(made(), payload, length());
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
    held = of_message(blocks, std::move(message), payload, bytes);
  } else {
    held = of_inline(blocks, nullptr, bytes);
  }
  p(static_cast<char*>(held->arguments()), bytes);
  return held;
}

}  // namespace periapt::sdag
