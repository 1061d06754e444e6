// A message that was announced, written by its sender to where the receiver says.
#include "machine/ucx-like/protocol/rendezvous.h"
#include "machine/ucx-like/protocol/transfer.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {
namespace {

/// How far the sender is.
enum PutStage : std::uint8_t { parts, last_parts, flushing, complete };

// At the receiver.
Step start_rendezvous_put(EndpointImpl& endpoint, Operation& receive) {
  const bool split = receive.size >= endpoint.plan.split_min;
  const std::vector<DeviceKey> keys =
      endpoint.rails.expose(receive.state().local, receive.memory(), receive.kind, false, split);
  if (keys.empty()) receive.protocol = &kRendezvousData;
  ask_for(endpoint, receive, keys);
  return Step::gone;
}

// After the last part: the peer may be told at once where a put is seen before the message behind it.
Step advance_rendezvous_put(EndpointImpl& endpoint, Operation& send) {
  RequestState& state = send.state();
  if (state.stage == parts) {
    const Step step = push_parts(endpoint, send, true);
    if (step != Step::gone) return step;
    if (send.result != Outcome::ok) {
      if (send.outstanding == 0) endpoint.owner.part_completed(send, send.result);
      return Step::gone;
    }
    const std::vector<RmaLane>& lanes = state.rkey->lanes;
    const Rail* first = endpoint.rails.first();
    const bool ordered = lanes.size() == 1 && lanes.front().rail == first && first->can().put_ordered;
    state.stage = ordered ? complete : last_parts;
  }
  return finish_puts(endpoint, send);
}

void on_stored(WorkerImpl& worker, Rail& from, const MessageHeader& header, const Payload&) {
  Operation* receive = worker.operation_of(*from.endpoint, header.id);
  if (receive == nullptr || receive->into == nullptr) return;
  WorkerImpl::note_time(*receive, LargeWay::put);
  worker.end_now(*receive, Outcome::ok);
}

}  // namespace

Step finish_puts(EndpointImpl& endpoint, Operation& send) {
  RequestState& state = send.state();
  if (state.stage < flushing) {
    if (send.outstanding != 0) return Step::no_credit;
    state.stage = flushing;
  }
  if (state.stage == flushing) {
    const Step step = flush_rails(endpoint, send);
    if (step != Step::gone) return step;
    if (send.outstanding != 0) return Step::no_credit;
    state.stage = complete;
  }
  endpoint.say(MessageKind::stored, state.their_id);
  all_given(endpoint, send);
  return Step::gone;
}

const Protocol kRendezvousPut = {
    .name = "put",
    .uses = bit_of(Use::fetch),
    .cost = [](const Demand& demand, const Plan&) { return cost_of(LargeWay::put, demand); },
    .start = start_rendezvous_put,
    .advance = advance_rendezvous_put,
    .abort =
        [](EndpointImpl& endpoint, Operation& send) {
          if (send.into != nullptr) return false;  // a receive, whose sender has nothing more to send
          restart_by_data(endpoint, send);
          endpoint.queue_bulk(send);
          return true;
        },
    .messages = bit_of(MessageKind::stored),
    .on_message = on_stored,
};

}  // namespace periapt::ucx
