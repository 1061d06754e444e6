// A message that was announced, sent as data messages over all rails: what always works.
#include "machine/ucx-like/bytes.h"
#include "machine/ucx-like/protocol/rendezvous.h"
#include "machine/ucx-like/protocol/transfer.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {
namespace {

// At the receiver.
Step start_data(EndpointImpl& endpoint, Operation& receive) {
  ask_for(endpoint, receive, {});
  return Step::gone;
}

void on_data(WorkerImpl& worker, Rail& from, const MessageHeader& header, const Payload& payload) {
  Operation* receive = worker.operation_of(*from.endpoint, header.id);
  const std::size_t size = payload.bytes.size();
  if (receive == nullptr || receive->into == nullptr || !receive->fits(header.offset, size)) return;
  if (receive->kind != MemoryKind::host) return worker.bring(*receive, header.offset, payload);
  copy_bytes(receive->into + header.offset, payload.bytes.data(), size);
  receive->state().reserved += size;
  worker.received_part(*receive, size);
}

}  // namespace

const Protocol kRendezvousData = {
    .name = "data",
    .uses = bit_of(Use::fetch),
    .memory_kinds = Protocol::kAnyKind,
    .cost =
        [](const Demand& demand, const Plan&) {
          if (!is_between_kinds(demand)) return cost_of(LargeWay::data, demand);
          return is_out_of_reach(demand) ? Protocol::kNever : 1.0;
        },
    .start = start_data,
    .advance = [](EndpointImpl& endpoint, Operation& send) { return push_messages(endpoint, send, MessageKind::data); },
    .finish = [](EndpointImpl&, Operation& receive) { WorkerImpl::note_time(receive, LargeWay::data); },
    .messages = bit_of(MessageKind::data),
    .on_message = on_data,
};

}  // namespace periapt::ucx
