// A message that was announced, sent as data messages over all rails: what always works.
#include "base/clock.h"
#include "machine/ucx-like/bytes.h"
#include "machine/ucx-like/protocol/rendezvous.h"
#include "machine/ucx-like/protocol/transfer.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {
namespace {

// At the receiver.
Step start(EndpointImpl& endpoint, Operation& receive) {
  receive.state().began_ns = clock::now_ns();
  ask_for(endpoint, receive, {});
  return Step::gone;
}

void on_data(WorkerImpl& worker, Rail& from, const MessageHeader& header, const Payload& payload) {
  Operation* receive = worker.operation_of(*from.endpoint, header.id);
  const std::size_t size = payload.bytes.size();
  if (receive == nullptr || receive->into == nullptr || !receive->fits(header.offset, size)) return;
  copy_bytes(receive->into + header.offset, payload.bytes.data(), size);
  receive->state().reserved += size;
  worker.received_part(*receive, size);
}

}  // namespace

const Protocol kRendezvousData = {
    .name = "data",
    .uses = bit_of(Use::fetch),
    .cost = [](const Demand& demand, const Plan&) { return cost_of(LargeWay::data, demand); },
    .start = start,
    .advance = [](EndpointImpl& endpoint, Operation& send) { return push_messages(endpoint, send, Kind::data); },
    .finish = [](EndpointImpl&, Operation& receive) { WorkerImpl::note_time(receive, LargeWay::data); },
    .messages = bit_of(Kind::data),
    .on_message = on_data,
};

}  // namespace periapt::ucx
