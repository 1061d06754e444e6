// A message that was announced and of which one memory, at least, is not the host's: devices that reach such memory
// read and write it where it lies. On a side where they do not, it goes through pinned pieces of the host's.
//
//   the sender's keys lead to its memory    the receiver reads it, to where it wants it or into its pieces
//   they don't                              the receiver gives keys to its own, and the sender writes its pieces there
//   neither memory is reached               data messages, out of pieces and into pieces
#include "machine/ucx-like/protocol/rendezvous.h"
#include "machine/ucx-like/protocol/transfer.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {
namespace {

bool is_read(EndpointImpl& endpoint, Operation& receive) {
  RequestState& state = receive.state();
  const std::optional<std::vector<DeviceKey>> keys = read_keys(state.announced);
  if (!keys.has_value()) return false;
  state.rkey = endpoint.rails.lanes_to(*keys, [](const Capabilities& can) { return can.max_get != 0; });
  if (state.rkey->lanes.empty()) return false;
  receive.protocol = reach_memory(receive) ? &kRendezvousGet : &kStagedGet;
  endpoint.queue_bulk(receive);
  return true;
}

bool is_written(EndpointImpl& endpoint, Operation& receive) {
  const bool split = receive.size >= endpoint.plan.split_min;
  const std::vector<DeviceKey> keys =
      endpoint.rails.expose(receive.state().local, receive.memory(), receive.kind, false, split);
  if (keys.empty()) return false;
  receive.protocol = &kRendezvousPut;
  ask_for(endpoint, receive, keys);
  return true;
}

Step start_direct(EndpointImpl& endpoint, Operation& receive) {
  endpoint.rails.connect_all();  // the first one need not be the nearest to a GPU
  const unsigned ways = endpoint.plan.reaches_gpus ? endpoint.owner.ports.allowed_ways(endpoint.plan) : 0;
  if ((ways & bit_of(LargeWay::get)) != 0 && is_read(endpoint, receive)) return Step::gone;
  if ((ways & bit_of(LargeWay::put)) != 0 && is_written(endpoint, receive)) return Step::gone;
  restart_by_data(endpoint, receive);
  ask_for(endpoint, receive, {});
  return Step::gone;
}

}  // namespace

const Protocol kDirect = {
    .name = "direct",
    .uses = bit_of(Use::fetch),
    .memory_kinds = Protocol::kAnyKind,
    .cost =
        [](const Demand& demand, const Plan& plan) {
          const bool can = plan.reaches_gpus && is_between_kinds(demand) && !is_out_of_reach(demand);
          return can ? 0.5 : Protocol::kNever;  // more than a mapping, less than copies on both sides
        },
    .start = start_direct,
};

}  // namespace periapt::ucx
