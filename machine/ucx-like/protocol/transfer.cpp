#include "machine/ucx-like/protocol/transfer.h"

#include <algorithm>

#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {

std::uint64_t part_of(const Plan& plan, std::uint64_t left, std::uint64_t most, std::size_t rails) {
  std::uint64_t part = plan.part_max;
  if (rails > 1) part = std::min(part, std::max<std::uint64_t>(plan.split_min / 4, left / (rails * 2)));
  return std::min({part, most, left});
}

const MemoryHandle* local_handle(Operation& operation, DevicePort& port) {
  if (!port.can().needs_registration) return nullptr;
  const std::span<std::byte> memory = operation.memory();
  Result<Registration*> made = operation.state().local.at(port, memory.data(), memory.size(), operation.kind);
  if (made.ok()) return &(*made)->handle;
  operation.result = Outcome::no_memory;
  return nullptr;
}

bool reach_memory(Operation& operation) {
  if (operation.kind == MemoryKind::host || operation.size == 0) return true;
  RequestState& state = operation.state();
  const std::span<std::byte> memory = operation.memory();
  std::vector<DevicePort*> ports;
  for (const RmaLane& lane : state.rkey->lanes) {
    if ((lane.rail->can().memory_kinds & bit_of(operation.kind)) == 0 || !lane.rail->is_whole()) continue;
    ports.push_back(lane.rail->port);
  }
  bool any = false;
  const auto known_there = [&](DevicePort* port) {
    const bool known = state.local.at(*port, memory.data(), memory.size(), operation.kind).ok();
    any |= known;
    return known;
  };
  offer_to_nearest(
      ports, [&] { return operation.worker.folder_of(operation.place()); },
      [](DevicePort* port) -> DevicePort& { return *port; }, known_there);
  return any;
}

Accepted send_part(Rail& rail, const MessageHeader& header, std::span<const std::byte> payload, Operation& operation) {
  if (rail.can().max_lent == 0) return rail.transport().send_inline(*rail.link, least_bytes_of(header), payload);
  local_handle(operation, *rail.port);
  if (operation.result != Outcome::ok) return Accepted::lost;
  ++operation.outstanding;
  Accepted answer = rail.transport().send_lent(*rail.link, least_bytes_of(header), payload, operation);
  if (answer != Accepted::pending) --operation.outstanding;
  return answer;
}

Step refused(EndpointImpl& endpoint, Accepted answer) {
  ++endpoint.counters->no_resource;
  return answer == Accepted::lost ? Step::no_credit : Step::no_room;
}

void all_given(EndpointImpl& endpoint, Operation& operation) {
  operation.Hook<InQueue>::unlink();
  operation.all_parts_given = true;
  if (operation.outstanding == 0) endpoint.owner.end_later(operation, operation.result);
}

Step push_messages(EndpointImpl& endpoint, Operation& operation, MessageKind kind) {
  const Plan& plan = endpoint.plan;
  Rail* const first = endpoint.rails.first();
  const bool split = operation.size >= plan.split_min;
  const std::size_t rails = split ? endpoint.rails.size() : 1;
  RequestState& state = operation.state();
  while (state.moved < operation.size) {
    if (operation.outstanding >= kFlightsPerRail * rails) return Step::no_credit;
    const std::uint64_t left = operation.size - state.moved;
    Rail& rail = split ? endpoint.rails.next(std::min(left, plan.part_max), plan) : *first;
    const std::uint64_t device_max = payload_max(rail.can());
    const std::uint64_t most = state.part_max == 0 ? device_max : std::min(device_max, state.part_max);
    const std::uint64_t part = part_of(plan, left, most, rails);
    MessageHeader header;
    header.kind = kind;
    if (&rail == first) header.credit = endpoint.credit.take_owed();
    header.id = state.their_id;
    header.offset = state.moved;
    const Accepted answer = send_part(rail, header, operation.bytes().subspan(state.moved, part), operation);
    if (is_refused(answer)) {
      endpoint.credit.put_back(header.credit);
      return refused(endpoint, answer);
    }
    rail.add_load(part);
    state.moved += part;
  }
  all_given(endpoint, operation);
  return Step::gone;
}

Step push_parts(EndpointImpl& endpoint, Operation& operation, bool is_put) {
  const bool split = operation.size >= endpoint.plan.split_min;
  RequestState& state = operation.state();
  while (state.moved < operation.size) {
    RmaLane& lane = *state.rkey->lane_for(is_put, split, operation.kind, state.local);
    Rail& rail = *lane.rail;
    const std::uint64_t part =
        part_of(endpoint.plan, operation.size - state.moved, is_put ? rail.can().max_put : rail.can().max_get,
                split ? state.rkey->lanes.size() : 1);
    const MemoryHandle* handle = local_handle(operation, *rail.port);
    if (operation.result != Outcome::ok) return Step::gone;
    const std::span<std::byte> bytes = operation.memory().subspan(state.moved, part);
    const std::uint64_t remote = state.remote + state.moved;
    ++operation.outstanding;
    const Accepted answer = is_put ? rail.transport().put(*rail.link, bytes, handle, remote, lane.key, operation)
                                   : rail.transport().get(*rail.link, bytes, handle, remote, lane.key, operation);
    if (answer != Accepted::pending) --operation.outstanding;
    if (is_refused(answer)) return refused(endpoint, answer);
    if (answer == Accepted::pending) {
      rail.one_sided = true;
      // A get ends when its bytes are here.
      if (is_put && operation.is_one_sided()) endpoint.rails.set_unflushed(true);
    }
    rail.add_load(part);
    state.moved += part;
  }
  return Step::gone;
}

Step flush_rails(EndpointImpl& endpoint, Operation& operation) {
  switch (endpoint.rails.flush(operation.state().flushed, operation, operation.outstanding)) {
    case Accepted::no_resource:
      return Step::no_room;
    case Accepted::lost:
      return Step::no_credit;
    default:
      return Step::gone;
  }
}

}  // namespace periapt::ucx
