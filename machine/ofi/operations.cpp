// Puts and gets. A connection that breaks below ends all that is under way on it, the fault of one and no sign of
// which: they are tried again one at a time, and the one that breaks it alone was at fault. Both can be done twice.
#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "machine/ofi/transport.h"

namespace periapt::ofi {

using ucx::Accepted;
using ucx::Completion;
using ucx::Link;
using ucx::MemoryHandle;
using ucx::Outcome;
using ucx::RemoteKey;

/// A provider that does not connect again for so long, to a peer that is there, does not any more.
constexpr std::uint64_t kReconnectNs = 20'000'000'000;

Outcome outcome_of(int error) {
  switch (error) {
    case FI_EACCES:
    case FI_EPERM:
    case FI_ENOKEY:
    case FI_EKEYREJECTED:
    case FI_EINVAL:
    case FI_EFAULT:
      return Outcome::bad_key;
    case FI_ECANCELED:
      return Outcome::cancelled;
    case FI_ENOMEM:
      return Outcome::no_memory;
    default:
      return Outcome::failed;
  }
}

Breakage breakage_of(int error) {
  constexpr int kBefore[] = {FI_ENOTCONN, FI_ESHUTDOWN, FI_ECONNREFUSED, EPIPE};
  constexpr int kDuring[] = {FI_ECANCELED, FI_ECONNRESET, FI_ECONNABORTED, FI_EIO, FI_ETIMEDOUT, FI_EHOSTUNREACH};
  const auto is_in = [&](const auto& list) {
    return std::find(std::begin(list), std::end(list), error) != std::end(list);
  };
  return is_in(kBefore) ? Breakage::before : is_in(kDuring) ? Breakage::during : Breakage::none;
}

Accepted OfiTransport::put(Link& to, Bytes local, const MemoryHandle* handle, std::uint64_t remote,
                           const RemoteKey& key, Completion& completion) {
  const std::span<std::byte> read{const_cast<std::byte*>(local.data()), local.size()};
  return operate(static_cast<OfiLink&>(to), false, read, handle, remote, key, completion);
}

Accepted OfiTransport::get(Link& from, std::span<std::byte> local, const MemoryHandle* handle, std::uint64_t remote,
                           const RemoteKey& key, Completion& completion) {
  return operate(static_cast<OfiLink&>(from), true, local, handle, remote, key, completion);
}

/// What the key alone shows to be wrong never reaches the provider.
Accepted OfiTransport::operate(OfiLink& link, bool is_get, std::span<std::byte> local, const MemoryHandle* handle,
                               std::uint64_t remote, const RemoteKey& key, Completion& completion) {
  if (!link.alive()) return Accepted::lost;
  const auto& memory = *static_cast<const ucx::RangeKey*>(key.detail);
  const auto end_at_once = [&](Outcome outcome) { return deferred_.end(&completion, outcome), Accepted::pending; };
  if (!memory.holds(remote, local.size())) return end_at_once(Outcome::bad_key);
  if (handle == nullptr && domain_.provider.registers_all) return end_at_once(Outcome::failed);
  if (local.empty()) return end_at_once(Outcome::ok);
  if (link.operations.size() >= kOperationsMax) return refuse();
  auto operation = std::make_unique<Operation>();
  operation->kind = Request::Kind::operation;
  operation->link = &link;
  operation->is_get = is_get;
  operation->piece = {local, nullptr, FI_ADDR_UNSPEC, domain_.has_addresses() ? remote : remote - memory.address,
                      memory.key};
  if (handle != nullptr) operation->piece.local_key = ::fi_mr_desc(static_cast<fid_mr*>(handle->detail));
  operation->completion = &completion;
  link.operations.push_back(std::move(operation));
  if (link.open()) post_operations(link);
  return Accepted::pending;
}

void OfiTransport::post_operations(OfiLink& link) {
  for (std::size_t i = 0; link.alive() && i < link.operations.size(); ++i) {
    Operation& operation = *link.operations[i];
    if (operation.state != Operation::State::waits) continue;
    if (link.suspects > 0 && link.posted > 0) return;  // the end of that one goes on
    if (operations_ >= kOperationsOfAll) return attend_to(link);
    operation.alone = link.suspects > 0;
    operation.piece.peer = link.memory;
    const int error =
        operation.is_get ? domain_.read(operation.piece, operation) : domain_.write(operation.piece, operation);
    if (error == EAGAIN) return attend_to(link);
    operation.state = Operation::State::posted;
    ++link.posted;
    ++operations_;
    if (error != 0) return take_operation(operation, error);
  }
}

void OfiTransport::take_operation(Operation& operation, int error) {
  --operations_;
  if (operation.link == nullptr) {
    std::erase_if(left_behind_, [&](const auto& one) { return one.get() == &operation; });
    return;
  }
  OfiLink& link = *operation.link;
  --link.posted;
  operation.state = Operation::State::waits;
  if (!link.alive()) return;  // ended by part()
  attend_to(link);
  if (error == 0) return end_operation(operation, Outcome::ok);
  const Breakage breakage = breakage_of(error);
  if (breakage == Breakage::none) return end_operation(operation, outcome_of(error));
  if (!operation.suspect) {
    operation.suspect = true;
    operation.suspect_ns = clock::now_ns();
    ++link.suspects;
  }
  if (operation.alone && breakage == Breakage::during && ++operation.breaks >= kBreaksMax) {
    end_operation(operation, Outcome::bad_key);  // the peer is there: this one is what its end does not take
  } else if (clock::now_ns() - operation.suspect_ns > kReconnectNs) {
    end_operation(operation, Outcome::failed);
  }
}

void OfiTransport::end_operation(Operation& operation, Outcome outcome) {
  OfiLink& link = *operation.link;
  if (operation.suspect) --link.suspects;
  operation.state = Operation::State::ended;
  deferred_.end(operation.completion, outcome);
  for (; !link.operations.empty() && link.operations.front()->state == Operation::State::ended;
       link.operations.pop_front())
    ++link.operations_ended;
  end_flushes(link);
}

// ---- memory

Result<MemoryHandle> OfiTransport::register_memory(std::byte* address, std::uint64_t size, ucx::MemoryKind kind) {
  if (kind != ucx::MemoryKind::host) return Status::failure("the ofi transport reads and writes host memory only");
  if (!domain_.provider.memory) return MemoryHandle{address, size, kind, 0, nullptr};
  Result<fid_mr*> region = domain_.register_memory(address, size);
  if (!region) return region.status();
  return MemoryHandle{address, size, kind, ::fi_mr_key(*region), *region};
}

void OfiTransport::deregister_memory(MemoryHandle& handle) {
  if (handle.detail != nullptr) Held<fid_mr>(static_cast<fid_mr*>(handle.detail));
}

std::vector<std::byte> OfiTransport::pack_key(const MemoryHandle& handle) const {
  if (handle.detail == nullptr) return {};
  return ucx::pack({reinterpret_cast<std::uint64_t>(handle.address), handle.size, handle.id});
}

}  // namespace periapt::ofi
