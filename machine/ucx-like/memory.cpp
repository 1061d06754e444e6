// Memory of this process that peers may reach, and their access to it.
#include "machine/ucx-like/keys.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {

Result<MemoryPtr> WorkerImpl::register_memory(std::span<std::byte> bytes, MemoryKind kind) {
  auto memory = std::make_shared<Memory>(memories_);
  memory->bytes = bytes;
  memory->kind = kind;
  if (kind != MemoryKind::host) device_memory();  // which knows what there is to register
  std::vector<DevicePort*> able;
  for (auto& port : ports) {
    const Capabilities& can = port->can();
    if (bytes.empty() || (can.max_put == 0 && can.max_get == 0 && !can.atomics)) continue;
    if ((can.memory_kinds & bit_of(kind)) != 0) able.push_back(port.get());
  }
  std::string why;
  const auto registered = [&](DevicePort* port) {
    Result<Registration*> registration = memory->local.at(*port, bytes.data(), bytes.size(), kind);
    if (!registration.ok()) why += "; " + name_of(*port) + ": " + registration.message();
    return registration.ok();
  };
  offer_to_nearest(
      able,
      [&] {
        return folder_of({bytes.data(), kind});
      },
      [](DevicePort* port) -> DevicePort& { return *port; }, registered);
  if (kind != MemoryKind::host && memory->local.empty() && device.memory == nullptr) {
    return Status::failure("no device can use that kind of memory" + why);
  }
  memory->id = memories_.add(memory.get());
  return memory;
}

std::vector<std::byte> WorkerImpl::pack_key(const MemoryPtr& memory, std::size_t bytes_max) const {
  PackedKey packed{memory->id, reinterpret_cast<std::uintptr_t>(memory->bytes.data()), memory->bytes.size(), {}};
  for (auto& [port, registration] : memory->local) {
    packed.keys.push_back({static_cast<std::uint8_t>(port->number), port->device.transport,
                           port->transport->pack_key(registration->handle)});
  }
  // Last, as what does not fit goes from the back and this is the longest: the layer brings its own.
  if (memory->kind != MemoryKind::host && device.memory != nullptr) {
    std::vector<std::byte> described = device.memory->describe({memory->bytes.data(), memory->kind});
    if (!described.empty()) packed.keys.push_back({0, kDeviceMemoryKey, std::move(described)});
  }
  std::vector<std::byte> bytes = write_packed_key(packed);
  for (; bytes.size() > bytes_max && !packed.keys.empty(); bytes = write_packed_key(packed)) packed.keys.pop_back();
  return bytes;
}

Place WorkerImpl::exposed(std::uint64_t id, std::uint64_t address, std::uint64_t size) const {
  const Memory* memory = memories_.find(id);
  if (memory == nullptr) return {};
  const auto base = reinterpret_cast<std::uintptr_t>(memory->bytes.data());
  const std::uint64_t most = memory->bytes.size();
  if (address < base || size > most || address - base > most - size) return {};
  return {memory->bytes.data() + (address - base), memory->kind};
}

// ---- memory that is not the host's

DeviceMemory* WorkerImpl::device_memory() {
  if (device.asked_for) return device.memory.get();
  device.asked_for = true;
  if (const MakeDeviceMemory& make = context_.request().device_memory) device.memory = make();
  for (const auto& port : ports) {
    if (device.memory != nullptr) port->registrations->use(*device.memory);
  }
  return device.memory.get();
}

std::string WorkerImpl::folder_of(Place memory) {
  if (memory.kind == MemoryKind::host || device_memory() == nullptr) return {};
  return device.memory->folder_of(memory);
}

// Where a copy can start from at once; else anywhere.
Buffer WorkerImpl::room_elsewhere(std::uint64_t size) {
  Result<Buffer> piece = size <= device.memory->piece_bytes() ? device.memory->piece() : Buffer();
  if (!piece || !*piece) return allocate_plain(size);
  piece->shrink(size);
  return std::move(*piece);
}

Buffer WorkerImpl::kept(const Payload& payload) {
  const std::size_t size = payload.bytes.size();
  // Fewer may lie in what is about to go.
  if (payload.owned != nullptr && size > Unexpected::kFew) return std::move(*payload.owned);
  Buffer bytes = room_elsewhere(size);
  if (bytes) copy_bytes(bytes.data(), payload.bytes.data(), size);
  return bytes;
}

Status WorkerImpl::begin_arrival(Place to, const Payload& payload, Operation* operation, EndpointImpl* put_by) {
  if (device.memory == nullptr) return Status::failure("nothing copies memory that is not the host's here");
  Buffer bytes = kept(payload);
  if (!bytes && !payload.bytes.empty())
    return Status::failure("no memory for " + std::to_string(payload.bytes.size()) + " bytes");
  device.arrivals.emplace_front();
  Arrival& arrival = device.arrivals.front();
  arrival.done = arrived_on_device;
  arrival.worker = this;
  arrival.operation = operation;
  arrival.put_by = put_by;
  arrival.size = payload.bytes.size();
  arrival.bytes = std::move(bytes);
  arrival.at = device.arrivals.begin();
  Status begun = device.memory->copy(to, {arrival.bytes.data()}, arrival.size, arrival);
  if (!begun) device.arrivals.pop_front();
  return begun;
}

void WorkerImpl::arrived_on_device(Completion& self, Outcome outcome) {
  auto& arrival = static_cast<Arrival&>(self);
  WorkerImpl& worker = *arrival.worker;
  const Arrival ended = std::move(arrival);
  worker.device.arrivals.erase(ended.at);
  if (ended.put_by != nullptr) return ended.put_by->put_copied(outcome);
  --ended.operation->outstanding;
  worker.brought(*ended.operation, ended.size, outcome);
}

void WorkerImpl::bring(Operation& operation, std::uint64_t offset, const Payload& payload) {
  operation.state().reserved += payload.bytes.size();
  ++operation.outstanding;
  const Place to{operation.into + offset, operation.kind};
  if (Status begun = begin_arrival(to, payload, &operation, nullptr); !begun) {
    --operation.outstanding;
    if (operation.result == Outcome::ok) operation.result = Outcome::failed;
    if (operation.outstanding == 0) end_later(operation, operation.result);
  }
}

// What has failed ends when nothing is written to it any more.
void WorkerImpl::brought(Operation& operation, std::uint64_t bytes, Outcome outcome) {
  if (outcome != Outcome::ok && operation.result == Outcome::ok) operation.result = outcome;
  if (operation.result == Outcome::ok) return received_part(operation, bytes);
  if (operation.outstanding == 0) end_now(operation, operation.result);
}

void WorkerImpl::bring_put(EndpointImpl& from, Place to, const Payload& payload) {
  ++from.remote.copying;
  if (!begin_arrival(to, payload, nullptr, &from)) from.put_copied(Outcome::failed);
}

// A whole message for a receive into such memory. What has come is the receiver's, whatever becomes of the peer.
void WorkerImpl::receive_elsewhere(Operation& receive, EndpointImpl& from, Tag tag, const Payload& payload) {
  receive.posted = false;
  receive.Hook<OfEndpoint>::unlink();
  receive.endpoint = nullptr;
  receive.protocol = nullptr;
  receive.got() = {Outcome::ok, tag, payload.bytes.size(), from.peer_};
  if (payload.bytes.size() > receive.room()) return end_later(receive, Outcome::too_long);
  receive.size = payload.bytes.size();
  if (receive.size == 0) return end_later(receive, Outcome::ok);
  bring(receive, 0, payload);
}

}  // namespace periapt::ucx
