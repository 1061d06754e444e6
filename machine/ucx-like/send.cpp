// Sends: what goes out at once, and the order of everything that is paid for with credit.
#include "machine/ucx-like/endpoint.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {

// Everything that could be in the way of a small message is in two numbers: fast_max_ and the credit.
template <class AnyHeader>
PERIAPT_INLINE bool EndpointImpl::send_at_once(const AnyHeader& header, std::span<const std::byte> payload) {
  if (PERIAPT_UNLIKELY(transport_->send_inline(*link_, bytes_of(header), payload) != Accepted::done)) {
    credit.put_back(credit_in(header));
    return false;
  }
  credit.spend(static_cast<std::int64_t>(payload.size()) + kMessageOverhead);
  ++counters->messages_sent;
  counters->bytes_sent += payload.size();
  return true;
}

PERIAPT_INLINE bool EndpointImpl::send_fast(std::span<const std::byte> bytes, Tag tag) {
  auto size = static_cast<std::int64_t>(bytes.size());
  if (PERIAPT_UNLIKELY(size > fast_max_ || !credit.covers(size + kMessageOverhead))) return false;
  ShortHeader header(credit.take_owed(), tag);
  return send_at_once(header, bytes);
}

PERIAPT_INLINE bool EndpointImpl::active_fast(std::uint16_t id, std::span<const std::byte> user_header,
                                              std::span<const std::byte> payload) {
  auto size = static_cast<std::int64_t>(payload.size());
  if (PERIAPT_UNLIKELY(size > fast_max_ || !credit.covers(size + kMessageOverhead))) return false;
  if (!UserHeader::fits(user_header.size())) return false;
  MessageHeader header = active_header(id, user_header);
  header.credit = credit.take_owed();
  return send_at_once(header, payload);
}

RequestPtr EndpointImpl::tag_send(std::span<const std::byte> bytes, Tag tag, SendDone done, void* context) {
  if (PERIAPT_LIKELY(send_fast(bytes, tag))) return nullptr;
  return begin(begin_send(Doing::send, bytes, tag, done, context));
}

RequestPtr EndpointImpl::tag_send_from(MemoryKind kind, std::span<const std::byte> bytes, Tag tag, SendDone done,
                                       void* context) {
  if (kind == MemoryKind::host) return tag_send(bytes, tag, done, context);
  Operation* operation = begin_send(Doing::send, bytes, tag, done, context);
  operation->kind = kind;
  return begin(operation);
}

bool EndpointImpl::tag_send_now(std::span<const std::byte> bytes, Tag tag) { return send_fast(bytes, tag); }

void EndpointImpl::tag_send_owned(Buffer bytes, Tag tag) {
  if (PERIAPT_LIKELY(send_fast(bytes.bytes(), tag))) return;
  Operation* operation = begin_send(Doing::send, bytes.bytes(), tag);
  operation->state().buffer = std::move(bytes);
  begin(operation);
}

RequestPtr EndpointImpl::tag_send_sync(std::span<const std::byte> bytes, Tag tag, SendDone done, void* context) {
  Operation* operation = begin_send(Doing::sync_send, bytes, tag, done, context);
  operation->awaits_answer = true;
  return begin(operation);
}

RequestPtr EndpointImpl::active_send(std::uint16_t id, std::span<const std::byte> header,
                                     std::span<const std::byte> payload, SendDone done, void* context) {
  if (PERIAPT_LIKELY(active_fast(id, header, payload))) return nullptr;
  Operation* operation = begin_send(Doing::active_send, payload, 0, done, context);
  operation->state().code = id;
  operation->state().extra.assign(header.begin(), header.end());
  return begin(operation);
}

Operation* EndpointImpl::begin_send(Doing doing, std::span<const std::byte> bytes, Tag tag, SendDone done,
                                    void* context) {
  Operation* operation = owner.begin(doing, done, context);
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
    owner.mark_ended(*operation, Outcome::peer_lost);
  } else {
    own(*operation);
    bool first = sends_.empty();
    queue_ordered(*operation);
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
  owner.end_later(*operation, operation->result);
  return request;
}

// The front of the ordered queue.
Step EndpointImpl::try_send(Operation& operation) {
  if (operation.protocol == nullptr) {
    Demand demand;
    demand.use = operation.doing == Doing::active_send ? Use::active_send : Use::send;
    demand.size = operation.size;
    demand.kind = operation.kind;
    demand.owned = operation.owns_bytes();
    operation.protocol = owner.protocols.choose(demand, plan);
  }
  if (operation.protocol != nullptr) return operation.protocol->start(*this, operation);
  unqueue(operation);
  owner.end_later(operation, Outcome::failed);
  return Step::gone;
}

}  // namespace periapt::ucx
