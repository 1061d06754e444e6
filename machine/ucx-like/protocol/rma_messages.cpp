// One-sided operations by messages, where no device has them: `put` and its bytes; `get`, answered by `got` messages;
// `atomic`, answered by `value`. The peer's engine does them when it makes progress, and checks each against the bounds
// of the memory that was registered there.
#include <algorithm>
#include <cstring>

#include "machine/ucx-like/atomics.h"
#include "machine/ucx-like/bytes.h"
#include "machine/ucx-like/protocol/staged.h"
#include "machine/ucx-like/protocol/table.h"
#include "machine/ucx-like/protocol/transfer.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {
namespace {

// ---- asking

Step start_put(EndpointImpl& endpoint, Operation& operation) {
  // Answers that are still waiting were there first; a fence counts on that.
  if (endpoint.has_control()) return Step::no_room;
  if (operation.kind != MemoryKind::host) return push_staged(endpoint, operation, MessageKind::put);
  Rail& first = *endpoint.rails.first();
  RequestState& state = operation.state();
  const std::uint64_t inline_max = std::min<std::uint64_t>(endpoint.plan.inline_max, first.can().max_inline);
  while (state.moved < operation.size) {
    if (operation.outstanding >= kFlightsPerRail) return Step::no_credit;
    const std::uint64_t part = part_of(endpoint.plan, operation.size - state.moved, payload_max(first.can()), 1);
    MessageHeader header;
    header.kind = MessageKind::put;
    header.credit = endpoint.credit.take_owed();
    header.tag = state.rkey->memory;
    header.offset = state.remote + state.moved;
    const std::span<const std::byte> payload = operation.bytes().subspan(state.moved, part);
    const Accepted answer = part <= inline_max ? first.transport().send_inline(*first.link, bytes_of(header), payload)
                                               : send_part(first, header, payload, operation);
    if (is_refused(answer)) {
      endpoint.credit.put_back(header.credit);
      return refused(endpoint, answer);
    }
    state.moved += part;
    ++endpoint.remote.puts_by_message;
    endpoint.remote.put_at = endpoint.activity();
  }
  all_given(endpoint, operation);
  return Step::gone;
}

void start_get(EndpointImpl& endpoint, Operation& operation) {
  endpoint.owner.give_id(operation);
  MessageHeader header;
  header.kind = MessageKind::get;
  header.tag = operation.state().rkey->memory;
  header.size = operation.size;
  header.id = operation.id;
  header.offset = operation.state().remote;
  endpoint.send_control(header);
}

void start_atomic_by_message(EndpointImpl& endpoint, Operation& operation) {
  const RequestState& state = operation.state();
  endpoint.owner.give_id(operation);
  operation.awaits_answer = operation.all_parts_given = true;
  MessageHeader header;
  header.kind = MessageKind::atomic;
  header.code = state.code;
  header.tag = state.rkey->memory;
  header.id = operation.id;
  header.offset = state.remote;
  const AtomicOperands operands{state.operand, state.compare};
  endpoint.send_control(header, std::as_bytes(std::span(&operands, 1)));
}

Step start_by_message(EndpointImpl& endpoint, Operation& operation) {
  if (operation.doing == Doing::put) return start_put(endpoint, operation);
  if (operation.doing == Doing::get && operation.size == 0) {
    all_given(endpoint, operation);
    return Step::gone;
  }
  operation.doing == Doing::get ? start_get(endpoint, operation) : start_atomic_by_message(endpoint, operation);
  operation.Hook<InQueue>::unlink();  // it ends with its answer
  return Step::gone;
}

// ---- at the peer

void serve_put(WorkerImpl& worker, EndpointImpl& from, const MessageHeader& header, const Payload& payload) {
  const std::span<const std::byte> bytes = payload.bytes;
  const Place into = worker.exposed(header.tag, header.offset, bytes.size());
  if (into.at != nullptr && into.kind != MemoryKind::host) return worker.bring_put(from, into, payload);
  if (into.at != nullptr) return copy_bytes(into.at, bytes.data(), bytes.size());
  ++from.counters->dropped;
  from.say(MessageKind::refused, 0);
}

void serve_get(WorkerImpl& worker, EndpointImpl& from, const MessageHeader& header) {
  const Place source = worker.exposed(header.tag, header.offset, header.size);
  if (source.at == nullptr || header.size == 0) return from.say(MessageKind::refused, header.id);
  if (!from.open()) return;
  Operation& serve = worker.begin_internal(Doing::serve_get);
  serve.protocol = &kRmaMessages;
  serve.endpoint = &from;
  serve.source = source.at;
  serve.kind = source.kind;
  serve.size = header.size;
  serve.state().their_id = header.id;
  from.own(serve);
  from.queue_bulk(serve);
}

void serve_atomic(WorkerImpl& worker, EndpointImpl& from, const MessageHeader& header,
                  std::span<const std::byte> payload) {
  const std::size_t width = header.code >> 8;
  const unsigned op = header.code & 0xFF;
  AtomicOperands operands;
  Place word;
  const bool well_formed = payload.size() == sizeof(operands) && is_word(header.offset, width) &&
                           op <= static_cast<unsigned>(AtomicOp::compare_swap);
  if (well_formed) word = worker.exposed(header.tag, header.offset, width);
  if (word.at == nullptr || word.kind != MemoryKind::host) return from.say(MessageKind::refused, header.id);
  std::memcpy(&operands, payload.data(), sizeof(operands));
  MessageHeader answer;
  answer.kind = MessageKind::value;
  answer.id = header.id;
  answer.tag = apply(static_cast<AtomicOp>(op), width, word.at, operands.operand, operands.compare);
  from.send_control(answer);
}

// ---- answers

void on_got(WorkerImpl& worker, Operation& operation, const MessageHeader& header, const Payload& payload) {
  const std::span<const std::byte> bytes = payload.bytes;
  if (operation.doing != Doing::get || !operation.fits(header.offset, bytes.size())) return;
  if (operation.kind != MemoryKind::host) return worker.bring(operation, header.offset, payload);
  copy_bytes(operation.into + header.offset, bytes.data(), bytes.size());
  operation.state().reserved += bytes.size();
  worker.received_part(operation, bytes.size());
}

Outcome failed_at_peer(const Operation& operation) {
  return operation.doing == Doing::receive ? Outcome::failed : Outcome::bad_key;
}

void on_answer(WorkerImpl& worker, EndpointImpl& from, const MessageHeader& header, const Payload& payload) {
  if (header.kind == MessageKind::refused && header.id == 0) {
    from.remote.put_refused = true;
    return;
  }
  Operation* operation = worker.operation_of(from, header.id);
  if (operation == nullptr) return;
  if (header.kind == MessageKind::got) return on_got(worker, *operation, header, payload);
  if (header.kind == MessageKind::refused) {
    // Of a message: its sender's memory could not be copied.
    if (operation->result == Outcome::ok) operation->result = failed_at_peer(*operation);
  } else if (operation->doing != Doing::atomic) {
    return;
  } else if (void* value = operation->state().value) {
    std::memcpy(value, &header.tag, operation->size);
  }
  worker.answered(*operation);
}

void take_rma(WorkerImpl& worker, Rail& rail, const MessageHeader& header, const Payload& payload) {
  EndpointImpl& from = *rail.endpoint;
  switch (header.kind) {
    case MessageKind::put:
      return serve_put(worker, from, header, payload);
    case MessageKind::get:
      return serve_get(worker, from, header);
    case MessageKind::atomic:
      return serve_atomic(worker, from, header, payload.bytes);
    default:
      return on_answer(worker, from, header, payload);
  }
}

// In the bulk queue: a flush in its own waits for it already.
const Protocol kRestarted = {
    .name = "one-sided, by messages after all",
    .advance = start_by_message,
    .abort = [](EndpointImpl& endpoint, Operation& operation) { return give_up_staged(endpoint, operation); },
};

}  // namespace

bool restart_by_messages(EndpointImpl& endpoint, Operation& operation) {
  if (operation.result != Outcome::unsupported) return false;
  operation.result = Outcome::ok;
  operation.state().moved = 0;
  operation.state().staged.reset();
  operation.all_parts_given = false;
  operation.Hook<InQueue>::unlink();
  operation.protocol = &kRestarted;
  endpoint.queue_bulk(operation);
  return true;
}

const Protocol kRmaMessages = {
    .name = "one-sided, by messages",
    .uses = bit_of(Use::put) | bit_of(Use::get) | bit_of(Use::atomic),
    .memory_kinds = Protocol::kAnyKind,
    .cost =
        [](const Demand& demand, const Plan&) {
          return is_out_of_reach(demand) ? Protocol::kNever : 1.0;  // what a device can do is left to it
        },
    .start = start_by_message,
    .advance =
        [](EndpointImpl& endpoint, Operation& serve) {
          const bool on_host = serve.kind == MemoryKind::host;
          return on_host ? push_messages(endpoint, serve, MessageKind::got)
                         : push_staged(endpoint, serve, MessageKind::got);
        },
    .abort = [](EndpointImpl& endpoint, Operation& operation) { return give_up_staged(endpoint, operation); },
    .messages = bit_of(MessageKind::put) | bit_of(MessageKind::get) | bit_of(MessageKind::atomic) |
                bit_of(MessageKind::got) | bit_of(MessageKind::value) | bit_of(MessageKind::refused),
    .on_message = take_rma,
};

}  // namespace periapt::ucx
