// Eager: a message that is sent whole, at once, and paid for with credit. Copied into the device's memory, lent to it
// where it lies, or handed over to the receiver, which then owns its bytes.
#include "machine/ucx-like/protocol/table.h"
#include "machine/ucx-like/protocol/transfer.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {
namespace {

MessageHeader header_of(EndpointImpl& endpoint, Operation& operation) {
  if (operation.awaits_answer) endpoint.owner.give_id(operation);
  MessageHeader header;
  header.kind = MessageKind::eager;
  header.credit = endpoint.credit.take_owed();
  header.tag = operation.tag;
  header.size = operation.size;
  header.id = operation.id;
  operation.all_parts_given = true;
  return header;
}

/// Is there a window for it, and credit? What is larger than the window has to be announced.
enum class Credit : std::uint8_t { covers, missing, window_too_small };
Credit credit_for(EndpointImpl& endpoint, std::int64_t charge) {
  if (charge > endpoint.credit.window()) return Credit::window_too_small;
  return endpoint.has_credit(charge) ? Credit::covers : Credit::missing;
}

Accepted lend_or_give(EndpointImpl& endpoint, const MessageHeader& header, Operation& operation) {
  if (!operation.owns_bytes()) return send_part(*endpoint.rails.first(), header, operation.bytes(), operation);
  const Accepted answer =
      endpoint.transport().send_owned(endpoint.link(), least_bytes_of(header), operation.state().buffer);
  return answer == Accepted::pending ? Accepted::done : answer;
}

Step start_whole(EndpointImpl& endpoint, Operation& operation) {
  const std::int64_t charge = static_cast<std::int64_t>(operation.size) + kMessageOverhead;
  switch (credit_for(endpoint, charge)) {
    case Credit::window_too_small:
      return kRendezvous.start(endpoint, operation);
    case Credit::missing:
      return Step::no_credit;
    case Credit::covers:
      break;
  }
  const MessageHeader header = header_of(endpoint, operation);
  const Accepted answer =
      operation.size <= endpoint.plan.inline_max
          ? endpoint.transport().send_inline(endpoint.link(), least_bytes_of(header), operation.bytes())
          : lend_or_give(endpoint, header, operation);
  return endpoint.after(answer, operation, charge, header.credit);
}

Step start_handed_over(EndpointImpl& endpoint, Operation& operation) {
  if (!endpoint.has_credit(kMessageOverhead)) return Step::no_credit;
  MessageHeader header = header_of(endpoint, operation);
  header.code = kHandedOver;
  const Accepted answer = lend_or_give(endpoint, header, operation);
  return endpoint.after(answer, operation, kMessageOverhead, header.credit);
}

void take_eager(WorkerImpl& worker, Rail& rail, const MessageHeader& header, const Payload& payload) {
  EndpointImpl& from = *rail.endpoint;
  if (header.kind == MessageKind::eager) {
    if (header.size != payload.bytes.size())
      return WorkerImpl::malformed(rail, "a message of another length than it says");
    return worker.receive_eager(from, header, payload);
  }
  // acknowledge: of a synchronous send, or of what took its number
  Operation* operation = worker.operation_of(from, header.id);
  if (operation == nullptr) return;
  operation->awaits_answer = false;
  if (operation->outstanding == 0) worker.part_completed(*operation, Outcome::ok);
}

}  // namespace

const Protocol kEagerCopied = {
    .name = "eager, copied",
    .uses = bit_of(Use::send),
    .cost =
        [](const Demand& demand, const Plan& plan) {
          if (demand.size > plan.inline_max) return Protocol::kNever;
          return static_cast<double>(demand.size) * plan.copying + plan.receiving_ns(demand.size);
        },
    .start = start_whole,
    .messages = bit_of(MessageKind::eager) | bit_of(MessageKind::acknowledge),
    .on_message = take_eager,
    .describe = [](const Plan& plan) { return "copied and sent at once: " + plan.why_inline; },
};

const Protocol kEagerLent = {
    .name = "eager, lent",
    .uses = bit_of(Use::send),
    .cost =
        [](const Demand& demand, const Plan& plan) {
          if (demand.size > plan.eager_max) return Protocol::kNever;
          return plan.lending_ns + plan.receiving_ns(demand.size);
        },
    .start = start_whole,
    .describe = [](const Plan& plan) { return "sent at once from where it lies: " + plan.why_eager; },
};

const Protocol kHandedOverWhole = {
    .name = "handed over",
    .uses = bit_of(Use::send),
    .cost =
        [](const Demand& demand, const Plan& plan) {
          const bool can =
              demand.owned && plan.hands_over && demand.size > plan.inline_max && demand.size <= plan.lent_max;
          return can ? 0.0 : Protocol::kNever;
        },
    .start = start_handed_over,
    .describe = [](const Plan&) { return std::string("handed over, which this device does without a copy"); },
};

}  // namespace periapt::ucx
