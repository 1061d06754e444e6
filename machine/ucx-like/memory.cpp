// Memory of this process that peers may reach, and their access to it.
#include "machine/ucx-like/keys.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {

Result<MemoryPtr> WorkerImpl::register_memory(std::span<std::byte> bytes, MemoryKind kind) {
  auto memory = std::make_shared<Memory>(memories_);
  memory->bytes = bytes;
  memory->kind = kind;
  std::string why;
  for (auto& port : ports) {
    const Capabilities& can = port->can();
    if (bytes.empty() || (can.max_put == 0 && can.max_get == 0 && !can.atomics)) continue;
    if ((can.memory_kinds & bit_of(kind)) == 0) continue;
    Result<Registration*> registration = memory->local.at(*port, bytes.data(), bytes.size(), kind);
    if (!registration.ok()) why += "; " + name_of(*port) + ": " + registration.message();
  }
  if (kind != MemoryKind::host && memory->local.empty()) {
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
  std::vector<std::byte> bytes = write_packed_key(packed);
  for (; bytes.size() > bytes_max && !packed.keys.empty(); bytes = write_packed_key(packed)) packed.keys.pop_back();
  return bytes;
}

std::byte* WorkerImpl::exposed(std::uint64_t id, std::uint64_t address, std::uint64_t size) const {
  const Memory* memory = memories_.find(id);
  if (memory == nullptr || memory->kind != MemoryKind::host) return nullptr;
  const auto base = reinterpret_cast<std::uintptr_t>(memory->bytes.data());
  const std::uint64_t most = memory->bytes.size();
  if (address < base || size > most || address - base > most - size) return nullptr;
  return memory->bytes.data() + (address - base);
}

}  // namespace periapt::ucx
