// See mailbox.h.
#include "runtime/sdag/mailbox.h"

#include <cstring>

#include "runtime/objects/pe_objects.h"
#include "runtime/registry/messages.h"

namespace periapt::sdag {

// --- what came -------------------------------------------------------------------------------------------------------

namespace {
// The message in whose bytes the arguments of a call lie that does not own it: a broadcast's, for one of many elements.
Message shared(const Delivery& call) {
  Message owner = Message::from_payload(call.arguments);
  Message mine = owner.share();
  static_cast<void>(owner.release());
  return mine;
}
}  // namespace

Held::Held(Delivery& call) : arguments(call.arguments), length(call.length) {
  if (call.message) {
    message = std::move(call.message);
  } else if (length > inline_arguments_max) {
    message = shared(call);
  } else {
    if (length) std::memcpy(inline_, call.arguments, length);
    arguments = inline_;
  }
}

Held::~Held() {
  if (!type_) return;
  type_->destroy(made_);
  if (made_ != room_) ::operator delete(made_);
}

void Held::make(const ArgumentsType& type) {
  // The program's reference: it frees the message when it likes, we ours when the body has ended.
  if (type.is_message) static_cast<void>(message.share().release());
  made_ = type.size <= made_max ? room_ : ::operator new(type.size);
  type.make(made_, arguments, length);
  type_ = &type;
}

void Held::leave() {
  if (type_ && type_->is_message && message.shared()) Message(message.envelope());
}

void Held::pup(PUP::er& p, const ArgumentsType& type) {
  pup_bytes(p, type);
  bool is_made = type_ != nullptr;
  p | is_made;
  if (!is_made) return;
  if (type.is_message) {
    bool program_has_it = !p.isUnpacking() && message.shared();
    p | program_has_it;
    if (!p.isUnpacking()) return;
    make(type);
    if (!program_has_it) Message(message.envelope());
    return;
  }
  if (p.isUnpacking()) make(type);
  type.pup(p, made_);
}

namespace {
// Arrays that were sent without a copy may lie in buffers of the object's: over there they lie in the message.
Message with_arrays(const void* bytes, std::size_t length) {
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

void Held::pup_bytes(PUP::er& p, const ArgumentsType& type) {
  if (type.is_message) {
    void* payload = message ? payload_of(message.release()) : nullptr;
    CkPupMessage(p, &payload);
    message = Message::from_payload(payload);
    arguments = payload;
    return;
  }
  if (!p.isUnpacking() && type.ncpy_arrays != 0) {
    Message whole = with_arrays(arguments, length);
    std::uint64_t bytes = whole->size;
    p | bytes;
    return p(static_cast<char*>(whole.payload()), bytes);
  }
  std::uint64_t bytes = length;
  p | bytes;
  if (p.isUnpacking()) {
    length = bytes;
    if (bytes > inline_arguments_max) message = Message::make(bytes);
    arguments = message ? message.payload() : inline_;
  }
  p(static_cast<char*>(arguments), bytes);
}

// --- lists -----------------------------------------------------------------------------------------------------------

Mailbox::~Mailbox() {
  queues_.for_each([](Key key, Queue& queue) {
    if (!is_any(key)) return;
    while (Held* held = queue.first) {
      queue.first = held->of_entry.behind;
      delete held;
    }
  });
}

void Mailbox::add_to(Key key, Held* held, Held::Neighbours Held::*list) {
  Queue& queue = queues_[key];
  (held->*list) = {queue.last, nullptr};
  (queue.last ? (queue.last->*list).behind : queue.first) = held;
  queue.last = held;
}

void Mailbox::remove_from(Key key, Held* held, Held::Neighbours Held::*list) {
  const Held::Neighbours at = held->*list;
  if (at.before) (at.before->*list).behind = at.behind;
  if (at.behind) (at.behind->*list).before = at.before;
  if (at.before && at.behind) return;
  Queue& queue = *queues_.find(key);
  if (!at.before) queue.first = at.behind;
  if (!at.behind) queue.last = at.before;
  if (queue.empty()) queues_.erase(key);
}

void Mailbox::add(Held* held) {
  add_to(key_of_any(held->key), held, &Held::of_entry);
  if (!is_any(held->key)) add_to(held->key, held, &Held::of_number);
  ++size_;
}

void Mailbox::remove(Held* held) {
  remove_from(key_of_any(held->key), held, &Held::of_entry);
  if (!is_any(held->key)) remove_from(held->key, held, &Held::of_number);
  --size_;
}

void Mailbox::add(Link* link) {
  Queue& queue = queues_[link->key];
  link->before = queue.last_link;
  link->behind = nullptr;
  (queue.last_link ? queue.last_link->behind : queue.first_link) = link;
  queue.last_link = link;
}

void Mailbox::remove(Link* link) {
  if (link->before) link->before->behind = link->behind;
  if (link->behind) link->behind->before = link->before;
  if (link->before && link->behind) return;
  Queue& queue = *queues_.find(link->key);
  if (!link->before) queue.first_link = link->behind;
  if (!link->behind) queue.last_link = link->before;
  if (queue.empty()) queues_.erase(link->key);
}

}  // namespace periapt::sdag
