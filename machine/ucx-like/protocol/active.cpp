// Active messages: a handler's number, a header of the user's, and a payload.
//
// Small ones travel whole: a short header of the user's in the engine's own, so that the payload goes from where it
// lies to where the transport brings it, and may be looked at there; a longer header before the payload. Large ones are
// announced with their header, and fetched into a buffer that the handler's owner allocates. A handler gets its
// messages in the order of their ends: a large one may be overtaken. (A short one has the header of an eager message,
// and one handler for all; EndpointImpl::active_send_short() sends it, or nothing does.)
#include <algorithm>
#include <cstring>

#include "machine/ucx-like/bytes.h"
#include "machine/ucx-like/protocol/table.h"
#include "machine/ucx-like/protocol/transfer.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {
namespace {

// A longer header is copied together with its payload; beyond this, the payload is fetched.
constexpr std::uint64_t kGatheredMost = 8 << 10;

Accepted send_payload(EndpointImpl& endpoint, const MessageHeader& header, Operation& operation) {
  if (operation.size <= endpoint.plan.inline_max) {
    return endpoint.transport().send_inline(endpoint.link(), bytes_of(header), operation.bytes());
  }
  return send_part(*endpoint.rails.first(), header, operation.bytes(), operation);
}

// The user's header and the payload, one behind the other: on the stack when they are few.
Accepted send_gathered(EndpointImpl& endpoint, const MessageHeader& header, Operation& operation) {
  const std::vector<std::byte>& extra = operation.state().extra;
  const std::uint64_t whole = extra.size() + operation.size;
  const std::uint64_t inline_max = endpoint.rails.first()->can().max_inline;
  std::byte few[1024];
  Buffer many;
  if (whole > sizeof(few) || whole > inline_max) many = allocate_plain(whole);
  std::byte* bytes = many ? many.data() : few;
  if (!many && whole > sizeof(few)) return Accepted::no_resource;
  std::memcpy(bytes, extra.data(), extra.size());
  copy_bytes(bytes + extra.size(), operation.source, operation.size);
  if (whole <= inline_max) return endpoint.transport().send_inline(endpoint.link(), bytes_of(header), {bytes, whole});
  if (!many) return Accepted::no_resource;
  const Accepted answer = endpoint.transport().send_owned(endpoint.link(), bytes_of(header), many);
  return answer == Accepted::pending ? Accepted::done : answer;
}

Step start_active(EndpointImpl& endpoint, Operation& operation) {
  const Plan& plan = endpoint.plan;
  const RequestState& state = operation.state();
  const bool gathered = !UserHeader::fits(state.extra.size());
  const std::uint64_t whole = operation.size + (gathered ? state.extra.size() : 0);
  const std::int64_t charge = kMessageOverhead + static_cast<std::int64_t>(whole);
  const std::uint64_t most = gathered ? std::min(kGatheredMost, plan.eager_max) : plan.eager_max;
  if (whole > most || charge > endpoint.credit.window()) return kRendezvous.start(endpoint, operation);
  if (!endpoint.has_credit(charge)) return Step::no_credit;
  MessageHeader header = active_header(state.code, state.extra);
  header.credit = endpoint.credit.take_owed();
  operation.all_parts_given = true;
  const Accepted answer =
      gathered ? send_gathered(endpoint, header, operation) : send_payload(endpoint, header, operation);
  return endpoint.after(answer, operation, charge, header.credit);
}

// ---- at the receiver

void deliver(WorkerImpl& worker, Operation& operation, Buffer payload) {
  RequestState& state = operation.state();
  const ActiveHandler& handler = worker.active.handlers[state.code];
  handler.handler(handler.context, *operation.endpoint, state.extra, std::move(payload));
}

Buffer room_for(const ActiveHandler& handler, std::uint64_t size) {
  return handler.allocate != nullptr ? handler.allocate(handler.context, size) : allocate_plain(size);
}

void out_of_memory(EndpointImpl& from, std::uint64_t size) {
  from.fail("no memory for an active message of " + std::to_string(size) + " bytes");
}

void fetch(WorkerImpl& worker, const ActiveMessages::Waiting& waiting) {
  EndpointImpl& from = *waiting.from;
  if (!from.failure().empty()) return;
  Buffer room = room_for(worker.active.handlers[waiting.header.code], waiting.header.size);
  if (!room) return out_of_memory(from, waiting.header.size);
  Operation& receive = worker.begin_internal(Doing::active_receive);
  RequestState& state = receive.state();
  state.code = waiting.header.code;
  state.deliver = deliver;
  receive.into = room.data();
  receive.size = waiting.header.size;
  state.buffer = std::move(room);
  worker.fetching += receive.size;
  from.consume_credit(kMessageOverhead + static_cast<std::int64_t>(waiting.extra.size()));
  const std::span<const std::byte> extra(waiting.extra);
  state.extra.assign(extra.begin(), extra.begin() + static_cast<std::ptrdiff_t>(waiting.header.tag));
  from.begin_fetch(receive, waiting.header, extra.subspan(waiting.header.tag));
}

// Fetches announced payloads, as many as may be on their way at a time.
void fetch_waiting(WorkerImpl& worker) {
  auto& waiting = worker.active.waiting;
  while (!waiting.empty() && worker.may_fetch(waiting.front().header.size)) {
    const ActiveMessages::Waiting next = std::move(waiting.front());
    waiting.pop_front();
    fetch(worker, next);
  }
}

// A message for a handler that was not set is dropped; the sender ends as if it had been taken.
void no_handler(EndpointImpl& from, const MessageHeader& header, std::size_t payload) {
  from.consume_credit(charge_of(header, payload));
  if (header.kind == MessageKind::active_announce) from.say(MessageKind::fetched, header.id);
  ++from.counters->dropped;
}

// A message that has come whole; `before`: bytes of the user's header before the payload.
void handle(const ActiveHandler& handler, EndpointImpl& from, Header user_header, std::uint64_t before,
            const Payload& payload) {
  const std::span<const std::byte> bytes = payload.bytes.subspan(before);
  from.consume_credit(kMessageOverhead + static_cast<std::int64_t>(payload.bytes.size()));
  if (handler.look != nullptr && handler.look(handler.context, from, user_header, bytes)) return;
  Buffer body;
  if (payload.owned != nullptr && before == 0 && handler.allocate == nullptr) {
    body = std::move(*payload.owned);
  } else {
    body = room_for(handler, bytes.size());
    if (!body) return out_of_memory(from, bytes.size());
    copy_bytes(body.data(), bytes.data(), bytes.size());
  }
  handler.handler(handler.context, from, user_header, std::move(body));
}

void take_active(WorkerImpl& worker, Rail& rail, const MessageHeader& header, const Payload& payload) {
  EndpointImpl& from = *rail.endpoint;
  if (header.kind == MessageKind::active_short) return worker.receive_active_short(from, header.tag, payload.bytes);
  const bool announced = header.kind == MessageKind::active_announce;
  const bool in_header = !announced && UserHeader::fits(header.tag);
  const std::uint64_t before = in_header ? 0 : header.tag;
  if (before > payload.bytes.size()) {
    return WorkerImpl::malformed(rail, "an active message with a header beyond its end");
  }
  worker.count_received(announced ? header.size : payload.bytes.size() - before);
  const auto& handlers = worker.active.handlers;
  if (header.code >= handlers.size() || handlers[header.code].handler == nullptr) {
    return no_handler(from, header, payload.bytes.size());
  }
  if (announced) {
    from.grow_window(header.size);
    worker.active.waiting.push_back({&from, header, {payload.bytes.begin(), payload.bytes.end()}});
    return fetch_waiting(worker);
  }
  const Header user_header = in_header ? Header(UserHeader::in(header), header.tag) : payload.bytes.first(before);
  handle(handlers[header.code], from, user_header, before, payload);
}

}  // namespace

const Protocol kActive = {
    .name = "active message",
    .uses = bit_of(Use::active_send),
    .cost =
        [](const Demand& demand, const Plan& plan) {
          if (demand.size > plan.eager_max) return Protocol::kNever;
          return plan.receiving_ns(demand.size);
        },
    .start = start_active,
    .messages = bit_of(MessageKind::active) | bit_of(MessageKind::active_announce) | bit_of(MessageKind::active_short),
    .on_message = take_active,
    .retry = fetch_waiting,
};

}  // namespace periapt::ucx
