// A message that was announced, read by its receiver.
#include "machine/ucx-like/protocol/rendezvous.h"
#include "machine/ucx-like/protocol/transfer.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {
namespace {

bool has_lanes(EndpointImpl& endpoint, RequestState& state) {
  if (state.announced.empty()) return false;
  std::optional<std::vector<DeviceKey>> keys = read_keys(state.announced);
  if (!keys.has_value() || keys->empty()) return false;
  state.rkey = endpoint.rails.lanes_to(*keys, [](const Capabilities& can) { return can.max_get != 0; });
  return !state.rkey->lanes.empty();
}

Step start_rendezvous_get(EndpointImpl& endpoint, Operation& receive) {
  if (!has_lanes(endpoint, receive.state())) {
    receive.protocol = &kRendezvousData;
    return receive.protocol->start(endpoint, receive);
  }
  endpoint.queue_bulk(receive);
  return Step::gone;
}

Step advance_rendezvous_get(EndpointImpl& endpoint, Operation& receive) {
  const Step step = push_parts(endpoint, receive, false);
  if (step != Step::gone) return step;
  receive.Hook<InQueue>::unlink();
  receive.all_parts_given = true;
  if (receive.outstanding == 0) endpoint.owner.part_completed(receive, receive.result);
  return Step::gone;
}

}  // namespace

const Protocol kRendezvousGet = {
    .name = "get",
    .uses = bit_of(Use::fetch),
    .cost = [](const Demand& demand, const Plan&) { return cost_of(LargeWay::get, demand); },
    .start = start_rendezvous_get,
    .advance = advance_rendezvous_get,
    .finish =
        [](EndpointImpl& endpoint, Operation& receive) {
          WorkerImpl::note_time(receive, LargeWay::get);
          endpoint.say(MessageKind::fetched, receive.state().their_id);
        },
    .abort =
        [](EndpointImpl& endpoint, Operation& receive) {
          restart_by_data(endpoint, receive);
          ask_for(endpoint, receive, {});
          return true;
        },
};

}  // namespace periapt::ucx
