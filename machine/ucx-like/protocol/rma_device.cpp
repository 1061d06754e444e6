// One-sided operations by devices that have them.
#include <algorithm>

#include "machine/ucx-like/atomics.h"
#include "machine/ucx-like/protocol/table.h"
#include "machine/ucx-like/protocol/transfer.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {
namespace {

// What a device does not reach here it may move to and from pieces.
bool does(const RmaLane& lane, const Demand& demand, const Plan& plan) {
  const Capabilities& can = lane.rail->can();
  if (demand.use == Use::atomic) return can.atomics;
  const bool reached = (can.memory_kinds & bit_of(demand.kind)) != 0 || (demand.copies && plan.reaches_gpus);
  return (demand.use == Use::put ? can.max_put : can.max_get) != 0 && reached;
}

double cost(const Demand& demand, const Plan& plan) {
  const std::vector<RmaLane>& lanes = demand.key->lanes;
  const bool can =
      std::any_of(lanes.begin(), lanes.end(), [&](const RmaLane& lane) { return does(lane, demand, plan); });
  return can ? 0 : Protocol::kNever;
}

Step start_atomic_on_device(EndpointImpl& endpoint, Operation& operation) {
  RequestState& state = operation.state();
  auto& lanes = state.rkey->lanes;
  RmaLane& lane = *std::find_if(lanes.begin(), lanes.end(), [](auto& lane) { return lane.rail->can().atomics; });
  ++operation.outstanding;
  const Accepted answer =
      lane.rail->transport().fetch_op(*lane.rail->link, static_cast<AtomicOp>(state.code & 0xFF), operation.size,
                                      state.operand, state.compare, state.remote, lane.key, state.value, operation);
  if (answer != Accepted::pending) --operation.outstanding;
  if (answer == Accepted::no_resource) return Step::no_room;
  if (answer == Accepted::lost) return Step::no_credit;
  if (answer == Accepted::pending) {
    lane.rail->one_sided = true;
    endpoint.rails.set_unflushed(true);
  }
  all_given(endpoint, operation);
  return Step::gone;
}

Step start_on_device(EndpointImpl& endpoint, Operation& operation) {
  if (operation.doing == Doing::atomic) return start_atomic_on_device(endpoint, operation);
  if (!reach_memory(operation)) {
    if (endpoint.owner.device_memory() != nullptr) {
      operation.protocol = &kStagedRma;
      return kStagedRma.start(endpoint, operation);
    }
    operation.result = Outcome::no_memory;
    all_given(endpoint, operation);
    return Step::gone;
  }
  const Step step = push_parts(endpoint, operation, operation.doing == Doing::put);
  if (step == Step::gone) all_given(endpoint, operation);
  return step;
}

}  // namespace

const Protocol kRmaDevice = {
    .name = "one-sided, by the device",
    .uses = bit_of(Use::put) | bit_of(Use::get) | bit_of(Use::atomic),
    .memory_kinds = Protocol::kAnyKind,
    .cost = cost,
    .start = start_on_device,
    .abort = restart_by_messages,
};

}  // namespace periapt::ucx
