// Rendezvous: a large message is announced, and moved when its receiver is known.
//
//   by get    the announcement carried keys; the receiver reads, and says `fetched`     (rendezvous_get.cpp)
//   by put    the receiver answers `clear` with keys; the sender writes, says `stored`  (rendezvous_put.cpp)
//   by data   the receiver answers `clear` without keys; the sender sends data messages (rendezvous_data.cpp)
//
// Where memory that is not the host's is among the two, direct.cpp chooses.
//
// The receiver chooses, by what it has measured (WayTimes); a side that cannot follow falls back to data, which always
// works. Each moves parts, over all rails that are worth it, the next part to the one that will be free first.
#include "machine/ucx-like/protocol/rendezvous.h"

#include "machine/ucx-like/keys.h"
#include "machine/ucx-like/protocol/transfer.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {

// ---- announcing

namespace {

Step announce(EndpointImpl& endpoint, Operation& operation) {
  const bool is_active = operation.doing == Doing::active_send;
  RequestState& state = operation.state();
  if (!endpoint.has_credit(kMessageOverhead + static_cast<std::int64_t>(state.extra.size()))) return Step::no_credit;
  const bool split = operation.size >= endpoint.plan.split_min;
  // The first one need not be the nearest to a GPU.
  if (split || operation.kind != MemoryKind::host) endpoint.rails.connect_all();
  std::vector<std::byte> payload = state.extra;
  std::vector<DeviceKey> keys;
  // A peer of this host may map a GPU's memory: then no adapter has it registered for nothing.
  const bool may_be_mapped = operation.kind != MemoryKind::host && endpoint.plan.same_host;
  if ((endpoint.plan.ways & bit_of(LargeWay::get)) != 0 && !may_be_mapped) {
    keys = endpoint.rails.expose(state.local, operation.memory(), operation.kind, true, split);
  }
  if (operation.kind != MemoryKind::host) {
    keys.push_back({0, kDeviceMemoryKey, endpoint.owner.device_memory()->describe(operation.place())});
  }
  if (!keys.empty() || (endpoint.plan.ways & bit_of(LargeWay::get)) != 0) write_keys(payload, keys);
  const auto charge = static_cast<std::int64_t>(payload.size()) + kMessageOverhead;
  if (!endpoint.has_credit(charge)) return Step::no_credit;
  endpoint.owner.give_id(operation);
  MessageHeader header;
  header.kind = is_active ? MessageKind::active_announce : MessageKind::announce;
  header.code = operation.kind != MemoryKind::host ? kOnDevice : state.code;
  header.credit = endpoint.credit.take_owed();
  header.tag = is_active ? state.extra.size() : operation.tag;
  header.size = operation.size;
  header.id = operation.id;
  header.offset = reinterpret_cast<std::uintptr_t>(operation.source);
  operation.awaits_answer = true;
  const Accepted answer = EndpointImpl::transmit(*endpoint.rails.first(), header, payload);
  if (answer == Accepted::done) {
    operation.announced = true;
    operation.protocol = &kRendezvous;
    ++endpoint.counters->rendezvous;
  }
  return endpoint.after(answer, operation, charge, header.credit);
}

// ---- answers at the sender

// The receiver is ready. Data goes in parts, so that small messages find room between them.
void on_clear(EndpointImpl& endpoint, Operation& send, const MessageHeader& clear, std::span<const std::byte> bytes) {
  RequestState& state = send.state();
  state.their_id = clear.tag;
  state.remote = clear.offset;
  state.part_max = clear.size;
  send.awaits_answer = false;
  send.protocol = send.kind == MemoryKind::host ? &kRendezvousData : &kStagedData;
  std::optional<std::vector<DeviceKey>> keys = read_keys(bytes);
  if (keys.has_value() && !keys->empty()) {
    state.rkey = endpoint.rails.lanes_to(*keys, [](const Capabilities& can) { return can.max_put != 0; });
    if (!state.rkey->lanes.empty()) send.protocol = reach_memory(send) ? &kRendezvousPut : &kStagedPut;
  }
  endpoint.queue_bulk(send);
}

void take_rendezvous(WorkerImpl& worker, Rail& rail, const MessageHeader& header, const Payload& payload) {
  EndpointImpl& from = *rail.endpoint;
  if (header.kind == MessageKind::announce) return worker.receive_announced(from, header, payload);
  Operation* send = worker.operation_of(from, header.id);
  if (send == nullptr || !send->announced) return;  // it has ended in the meantime
  if (header.kind == MessageKind::clear) {
    if (send->state().their_id == 0) on_clear(from, *send, header, payload.bytes);
    return;
  }
  send->all_parts_given = true;  // fetched
  send->awaits_answer = false;
  if (send->outstanding == 0) worker.part_completed(*send, Outcome::ok);
}

}  // namespace

// ---- for the protocols that bring it

void ask_for(EndpointImpl& endpoint, Operation& receive, std::span<const DeviceKey> keys) {
  endpoint.owner.give_id(receive);
  RequestState& state = receive.state();
  state.rkey.reset();
  std::vector<std::byte> packed;
  if (!keys.empty()) write_keys(packed, {keys.begin(), keys.end()});
  MessageHeader header;
  header.kind = MessageKind::clear;
  header.id = state.their_id;
  header.tag = receive.id;
  header.offset = reinterpret_cast<std::uintptr_t>(receive.into);
  // Each in a piece that a copy can start from.
  if (receive.kind != MemoryKind::host) header.size = endpoint.owner.device_memory()->piece_bytes();
  endpoint.send_control(header, packed);
}

void restart_by_data(EndpointImpl& endpoint, Operation& operation) {
  RequestState& state = operation.state();
  operation.result = Outcome::ok;
  state.moved = state.reserved = 0;
  state.stage = 0;
  state.began_ns = 0;
  operation.all_parts_given = false;
  state.staged.reset();
  state.rkey.reset();
  operation.Hook<InQueue>::unlink();
  const bool goes_out = operation.into == nullptr;
  operation.protocol = goes_out && operation.kind != MemoryKind::host ? &kStagedData : &kRendezvousData;
}

double cost_of(LargeWay way, const Demand& demand) {
  if ((demand.ways & bit_of(way)) == 0 || is_between_kinds(demand)) return Protocol::kNever;
  return demand.times->cost_ns(way, demand.size);
}

const Protocol kRendezvous = {
    .name = "rendezvous",
    .uses = bit_of(Use::send) | bit_of(Use::active_send),
    .memory_kinds = Protocol::kAnyKind,
    .cost =
        [](const Demand& demand, const Plan& plan) {
          return is_out_of_reach(demand) ? Protocol::kNever : plan.lending_ns + plan.asking_ns;
        },
    .start = announce,
    .messages = bit_of(MessageKind::announce) | bit_of(MessageKind::clear) | bit_of(MessageKind::fetched),
    .on_message = take_rendezvous,
    .describe = [](const Plan&) { return std::string("announced first, then brought"); },
};

}  // namespace periapt::ucx
