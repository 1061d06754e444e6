// One copy: a peer's memory that is not the host's, mapped here, by a peer of this process or host, is copied from or
// to where it lies. Where it cannot be mapped the bytes go another way.
#include "machine/ucx-like/protocol/rendezvous.h"
#include "machine/ucx-like/protocol/transfer.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {
namespace {

// Begins the copy, of which the operation is told.
bool begin_copy(WorkerImpl& worker, Operation& operation, std::span<const std::byte> described) {
  RequestState& state = operation.state();
  DeviceMemory& memory = *worker.device_memory();
  Result<Mapping> mapped = memory.map(described, state.remote, operation.size, operation.place());
  if (!mapped) return false;
  const Place there{mapped->at.get(), mapped->kind}, here = operation.place();
  const bool is_put = operation.doing == Doing::put;
  ++operation.outstanding;
  if (!memory.copy(is_put ? there : here, is_put ? here : there, operation.size, operation)) {
    --operation.outstanding;
    return false;
  }
  state.mapped = std::move(mapped->at);
  operation.all_parts_given = true;
  return true;
}

// ---- a message that was announced

void ask_for_data(EndpointImpl& endpoint, Operation& receive) {
  restart_by_data(endpoint, receive);
  receive.state().mapped.reset();
  ask_for(endpoint, receive, {});
}

Step start_fetch(EndpointImpl& endpoint, Operation& receive) {
  const std::optional<std::vector<DeviceKey>> keys = read_keys(receive.state().announced);
  const bool begun = keys.has_value() && begin_copy(endpoint.owner, receive, device_memory_among(*keys));
  return begun ? Step::gone : kDirect.start(endpoint, receive);
}

// ---- one-sided

Step start_rma(EndpointImpl& endpoint, Operation& operation) {
  Rkey& key = *operation.state().rkey;
  if (operation.size == 0 || begin_copy(endpoint.owner, operation, key.device_memory)) {
    all_given(endpoint, operation);
    return Step::gone;
  }
  key.device_memory.clear();  // the next ones need not try
  Demand demand;
  demand.use = operation.doing == Doing::put ? Use::put : Use::get;
  demand.size = operation.size;
  demand.kind = operation.kind;
  demand.copies = true;
  demand.key = &key;
  operation.protocol = endpoint.owner.protocols.choose(demand, endpoint.plan);
  return operation.protocol->start(endpoint, operation);
}

}  // namespace

const Protocol kMappedFetch = {
    .name = "mapped",
    .uses = bit_of(Use::fetch),
    .memory_kinds = Protocol::kAnyKind,
    .cost = [](const Demand& demand,
               const Plan&) { return demand.described && demand.copies ? 0.0 : Protocol::kNever; },
    .start = start_fetch,
    .finish = [](EndpointImpl& endpoint,
                 Operation& receive) { endpoint.say(MessageKind::fetched, receive.state().their_id); },
    .abort =
        [](EndpointImpl& endpoint, Operation& receive) {
          ask_for_data(endpoint, receive);
          return true;
        },
};

const Protocol kMappedRma = {
    .name = "one-sided, mapped",
    .uses = bit_of(Use::put) | bit_of(Use::get),
    .memory_kinds = Protocol::kAnyKind,
    .cost = [](const Demand& demand,
               const Plan&) { return demand.copies && !demand.key->device_memory.empty() ? 0.0 : Protocol::kNever; },
    .start = start_rma,
};

}  // namespace periapt::ucx
