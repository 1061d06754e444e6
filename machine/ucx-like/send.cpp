// Tag sends, and the order of everything that is paid for with credit.
#include <cstring>

#include "machine/ucx-like/engine.h"

namespace periapt::ucx {

// Everything that could be in the way of a small message is in two numbers.
PERIAPT_INLINE bool EndpointImpl::send_fast(std::span<const std::byte> bytes, Tag tag) {
  auto size = static_cast<std::int64_t>(bytes.size());
  if (PERIAPT_UNLIKELY(size > fast_max_ || !credit_.covers(size + kMessageOverhead))) return false;
  ShortHeader header(credit_.take_owed(), tag);
  if (PERIAPT_UNLIKELY(transport_->send_inline(*link_, bytes_of(header), bytes) != Accepted::done)) {
    credit_.put_back(header.credit());
    return false;
  }
  credit_.spend(size + kMessageOverhead);
  ++counters_->messages_sent;
  counters_->bytes_sent += bytes.size();
  return true;
}

RequestPtr EndpointImpl::tag_send(std::span<const std::byte> bytes, Tag tag, SendDone done, void* context) {
  if (PERIAPT_LIKELY(send_fast(bytes, tag))) return nullptr;
  return begin(begin_send(Operation::Doing::send, bytes, tag, done, context));
}

bool EndpointImpl::tag_send_now(std::span<const std::byte> bytes, Tag tag) { return send_fast(bytes, tag); }

void EndpointImpl::tag_send_owned(Buffer bytes, Tag tag) {
  if (PERIAPT_LIKELY(send_fast(bytes.bytes(), tag))) return;
  Operation* operation = begin_send(Operation::Doing::send, bytes.bytes(), tag);
  operation->course().buffer = std::move(bytes);
  begin(operation);
}

RequestPtr EndpointImpl::tag_send_sync(std::span<const std::byte> bytes, Tag tag, SendDone done, void* context) {
  Operation* operation = begin_send(Operation::Doing::sync_send, bytes, tag, done, context);
  operation->wants_answer = true;
  return begin(operation);
}

Operation* EndpointImpl::begin_send(Operation::Doing doing, std::span<const std::byte> bytes, Tag tag, SendDone done,
                                    void* context) {
  Operation* operation = worker_.begin(doing, done, context);
  operation->source = bytes.data();
  operation->size = bytes.size();
  operation->tag = tag;
  return operation;
}

// Puts an operation in its place of the order, and sends it if nothing is in the way.
RequestPtr EndpointImpl::begin(Operation* operation) {
  RequestPtr request(operation);
  operation->endpoint = this;
  operation->within_call = true;
  if (!failure_.empty() || closing_ || !open()) {
    worker_.mark_ended(*operation, Outcome::peer_lost);
  } else {
    active_.push_back(operation);
    bool first = sends_.empty();
    sends_.push_back(operation);
    ++waiting_messages_;
    waiting_bytes_ += operation->size;
    if (first && drain_sends()) busy();
    set_fast();
  }
  return ended_within_call(std::move(request));
}

// What has ended well before the call returns needs no request; what has ended badly is told later.
RequestPtr EndpointImpl::ended_within_call(RequestPtr request) {
  auto* operation = static_cast<Operation*>(request.get());
  operation->within_call = false;
  if (!operation->has_ended()) return request;
  if (operation->result == Outcome::ok) {
    operation->told = true;
    return nullptr;
  }
  worker_.end_later(*operation, operation->result);
  return request;
}

EndpointImpl::Step EndpointImpl::try_send(Operation& operation) {
  if (operation.doing == Operation::Doing::active_send) return try_active(operation);
  if (operation.doing == Operation::Doing::flush) return try_flush(operation);
  if (hands_over(operation) && operation.size <= rail_->port->can().max_lent) return try_eager(operation);
  auto charge = static_cast<std::int64_t>(operation.size) + kMessageOverhead;
  if (operation.size <= plan_.eager_max && charge <= credit_.window()) return try_eager(operation);
  return try_announce(operation);
}

// Does it change owner, so that the receiver's memory is not used for it?
bool EndpointImpl::hands_over(const Operation& operation) const {
  return operation.owns_bytes() && plan_.hands_over && operation.size > plan_.inline_max;
}

bool EndpointImpl::has_credit(std::int64_t charge) {
  if (credit_.covers(charge)) return true;
  if (credit_.request_credit()) {
    ++counters_->credit_waits;
    MessageHeader header;
    header.kind = Kind::out_of_credit;
    send_control(header);
  }
  return false;
}

EndpointImpl::Step EndpointImpl::try_eager(Operation& operation) {
  bool hand_over = hands_over(operation);
  std::int64_t charge = kMessageOverhead + (hand_over ? 0 : static_cast<std::int64_t>(operation.size));
  if (!has_credit(charge)) return Step::no_credit;
  if (operation.wants_answer && operation.id == 0) operation.id = worker_.ids_.add(&operation);
  MessageHeader header;
  header.kind = Kind::eager;
  header.code = hand_over ? kHandedOver : 0;
  header.credit = credit_.take_owed();
  header.tag = operation.tag;
  header.size = operation.size;
  header.id = operation.id;
  std::span<const std::byte> payload(operation.source, operation.size);
  operation.all_parts_given = true;
  Accepted answer;
  if (operation.size <= plan_.inline_max) {
    answer = transport_->send_inline(*link_, least_bytes_of(header), payload);
  } else if (operation.owns_bytes()) {
    answer = transport_->send_owned(*link_, least_bytes_of(header), operation.course().buffer);
    if (answer == Accepted::pending) answer = Accepted::done;
  } else {
    answer = send_part(*rail_, header, payload, operation);
  }
  if (answer == Accepted::no_resource || answer == Accepted::lost) credit_.put_back(header.credit);
  return after(answer, operation, charge);
}

EndpointImpl::Step EndpointImpl::after(Accepted answer, Operation& operation, std::int64_t charge) {
  if (answer == Accepted::no_resource || answer == Accepted::lost) {
    operation.all_parts_given = false;
    ++counters_->no_resource;
    // A lost link is reported by its transport; nothing is to be tried until then.
    return answer == Accepted::lost ? Step::no_credit : Step::no_room;
  }
  credit_.spend(charge);
  gone(operation);
  return Step::gone;
}

// It has left the ordered queue: what comes behind it may go.
void EndpointImpl::gone(Operation& operation) {
  unqueue(operation);
  ++counters_->messages_sent;
  counters_->bytes_sent += operation.size;
  if (operation.all_parts_given && operation.outstanding == 0 && !operation.wants_answer) {
    worker_.end_later(operation, Outcome::ok);
  }
}

void EndpointImpl::unqueue(Operation& operation) {
  operation.Hook<InQueue>::unlink();
  --waiting_messages_;
  waiting_bytes_ -= operation.size;
}

}  // namespace periapt::ucx
