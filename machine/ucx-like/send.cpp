// Sends: what goes out at once, and the order of everything that is paid for with credit.
#include "machine/ucx-like/endpoint.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {

// Sends a small message that nothing is in the way of: all that could be is in two numbers, fast_max_ and the credit.
// `header_with` makes its header with the credit that goes back with it.
template <class HeaderWith>
PERIAPT_INLINE bool EndpointImpl::send_fast(std::span<const std::byte> payload, const HeaderWith& header_with) {
  const std::int64_t charge = static_cast<std::int64_t>(payload.size()) + kMessageOverhead;
  if (PERIAPT_UNLIKELY(static_cast<std::int64_t>(payload.size()) > fast_max_ || !credit.covers(charge))) return false;
  const std::uint32_t owed = credit.take_owed();
  const auto header = header_with(owed);
  if (PERIAPT_UNLIKELY(transport_->send_inline(*link_, bytes_of(header), payload) != Accepted::done)) {
    credit.put_back(owed);
    return false;
  }
  credit.spend(charge);
  ++counters->messages_sent;
  counters->bytes_sent += payload.size();
  return true;
}

PERIAPT_INLINE auto tagged(Tag tag) {
  return [tag](std::uint32_t credit) { return ShortHeader(MessageKind::eager, credit, tag); };
}

RequestPtr EndpointImpl::tag_send(std::span<const std::byte> bytes, Tag tag, SendDone done, void* context) {
  if (PERIAPT_LIKELY(send_fast(bytes, tagged(tag)))) return nullptr;
  return begin(begin_send(Doing::send, bytes, tag, done, context));
}

RequestPtr EndpointImpl::tag_send_from(MemoryKind kind, std::span<const std::byte> bytes, Tag tag, SendDone done,
                                       void* context, bool sync) {
  if (kind == MemoryKind::host && !sync) return tag_send(bytes, tag, done, context);
  Operation* operation = begin_send(sync ? Doing::sync_send : Doing::send, bytes, tag, done, context);
  operation->kind = kind;
  operation->awaits_answer = sync;
  return begin(operation);
}

void EndpointImpl::tag_send_owned(Buffer bytes, Tag tag) {
  if (PERIAPT_LIKELY(send_fast(bytes.bytes(), tagged(tag)))) return;
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
  const auto with_header = [&](std::uint32_t credit) {
    MessageHeader made = active_header(id, header);
    made.credit = credit;
    return made;
  };
  if (PERIAPT_LIKELY(UserHeader::fits(header.size()) && send_fast(payload, with_header))) return nullptr;
  Operation* operation = begin_send(Doing::active_send, payload, 0, done, context);
  operation->state().code = id;
  operation->state().extra.assign(header.begin(), header.end());
  return begin(operation);
}

bool EndpointImpl::active_send_short(std::uint64_t header, std::span<const std::byte> payload) {
  return send_fast(payload,
                   [header](std::uint32_t credit) { return ShortHeader(MessageKind::active_short, credit, header); });
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
    demand.copies = operation.kind != MemoryKind::host && owner.device_memory() != nullptr;
    demand.owned = operation.owns_bytes();
    operation.protocol = owner.protocols.choose(demand, plan);
  }
  if (operation.protocol != nullptr) return operation.protocol->start(*this, operation);
  unqueue(operation);
  owner.end_later(operation, Outcome::failed);
  return Step::gone;
}

}  // namespace periapt::ucx
