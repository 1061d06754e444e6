// One-sided operations: within the call where the peer's memory is mapped here, else into a queue of their own, where
// only a flush or a fence holds up what is behind it. Protocols (protocol/rma*.cpp, flush.cpp) do them.
#include <cstring>

#include "machine/ucx-like/atomics.h"
#include "machine/ucx-like/bytes.h"
#include "machine/ucx-like/endpoint.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {

Result<RkeyPtr> EndpointImpl::unpack(std::span<const std::byte> bytes) {
  std::optional<PackedKey> packed = read_packed_key(bytes);
  if (!packed.has_value()) return Status::failure("these " + std::to_string(bytes.size()) + " bytes are not a key");
  if (!failure_.empty() || !open()) return Status::failure(failure_);
  rails.connect_all();
  RkeyPtr rkey = rails.lanes_to(
      packed->keys, [](const Capabilities& can) { return can.max_get != 0 || can.max_put != 0 || can.atomics; });
  rkey->memory = packed->memory;
  rkey->base = packed->base;
  rkey->size = packed->size;
  rkey->device_memory = device_memory_among(packed->keys);
  return rkey;
}

// Where the peer's memory can be read and written within the call: it is mapped here, and nothing is in the queue that
// would have to come first. nullptr: it takes an operation to find out what can be done.
PERIAPT_INLINE std::byte* EndpointImpl::mapped(Doing doing, const RkeyPtr& key, std::uint64_t remote,
                                               std::uint64_t size) {
  if (PERIAPT_UNLIKELY(key == nullptr || key->endpoint != this || !key->covers(remote, size))) return nullptr;
  if (PERIAPT_UNLIKELY(!one_sided_.empty() || closing_ || !failure_.empty())) return nullptr;
  for (const RmaLane& lane : key->lanes) {
    const Capabilities& can = lane.rail->can();
    if (size > (doing == Doing::put ? can.max_direct_put : can.max_direct_get)) continue;
    if (lane.rail->link == nullptr || (doing == Doing::atomic && !can.atomics)) continue;
    if (std::byte* here = lane.rail->transport().direct(*lane.rail->link, lane.key, remote, size)) return here;
  }
  return nullptr;
}

RequestPtr EndpointImpl::put(std::span<const std::byte> local, std::uint64_t remote, const RkeyPtr& key, SendDone done,
                             void* context, MemoryKind kind) {
  if (std::byte* there = kind != MemoryKind::host ? nullptr : mapped(Doing::put, key, remote, local.size())) {
    copy_bytes(there, local.data(), local.size());
    return nullptr;
  }
  Operation* operation = begin_transfer(Doing::put, local.size(), remote, key, done, context, kind);
  operation->source = local.data();
  return begin_one_sided(operation);
}

RequestPtr EndpointImpl::get(std::span<std::byte> local, std::uint64_t remote, const RkeyPtr& key, SendDone done,
                             void* context, MemoryKind kind) {
  if (const std::byte* there = kind != MemoryKind::host ? nullptr : mapped(Doing::get, key, remote, local.size())) {
    copy_bytes(local.data(), there, local.size());
    return nullptr;
  }
  Operation* operation = begin_transfer(Doing::get, local.size(), remote, key, done, context, kind);
  operation->into = local.data();
  return begin_one_sided(operation);
}

RequestPtr EndpointImpl::fetch_op(AtomicOp op, std::size_t width, std::uint64_t operand, std::uint64_t compare,
                                  std::uint64_t remote, const RkeyPtr& key, void* result, SendDone done,
                                  void* context) {
  if (std::byte* word = is_word(remote, width) ? mapped(Doing::atomic, key, remote, width) : nullptr) {
    std::uint64_t before = apply(op, width, word, operand, compare);
    if (result != nullptr) std::memcpy(result, &before, width);
    return nullptr;
  }
  Operation* operation = begin_transfer(Doing::atomic, width, remote, key, done, context);
  RequestState& state = operation->state();
  state.code = code_of(op, width);
  state.operand = operand;
  state.compare = compare;
  state.value = result;
  return begin_one_sided(operation);
}

Operation* EndpointImpl::begin_transfer(Doing doing, std::uint64_t size, std::uint64_t remote, const RkeyPtr& key,
                                        SendDone done, void* context, MemoryKind kind) {
  Operation* operation = owner.begin(doing, done, context);
  operation->size = size;
  operation->kind = kind;
  operation->state().remote = remote;
  operation->state().rkey = key;
  return operation;
}

namespace {

bool may_reach(const EndpointImpl& endpoint, const Operation& operation) {
  const RequestState& state = *operation.known_state();
  if (state.rkey == nullptr || state.rkey->endpoint != &endpoint) return false;
  bool whole = operation.doing != Doing::atomic || is_word(state.remote, operation.size);
  return whole && state.rkey->covers(state.remote, operation.size);
}

const Protocol* protocol_of(const EndpointImpl& endpoint, const Operation& operation) {
  const ProtocolTable& protocols = endpoint.owner.protocols;
  if (!operation.is_one_sided()) return protocols.of(MessageKind::flush);
  Demand demand;
  demand.use = operation.doing == Doing::put ? Use::put : operation.doing == Doing::get ? Use::get : Use::atomic;
  demand.size = operation.size;
  demand.kind = operation.kind;
  const Rkey& key = *operation.known_state()->rkey;
  const bool on_host = operation.kind == MemoryKind::host && key.device_memory.empty();
  demand.copies = !on_host && endpoint.owner.device_memory() != nullptr;
  demand.key = operation.known_state()->rkey.get();
  return protocols.choose(demand, endpoint.plan);
}

}  // namespace

RequestPtr EndpointImpl::begin_one_sided(Operation* operation) {
  RequestPtr request(operation);
  operation->within_call = true;
  operation->endpoint = this;
  if (operation->is_one_sided() && !may_reach(*this, *operation)) {
    owner.mark_ended(*operation, Outcome::bad_key);
  } else if (!failure_.empty() || closing_ || !open()) {
    owner.mark_ended(*operation, Outcome::peer_lost);
  } else if ((operation->protocol = protocol_of(*this, *operation)) == nullptr) {
    owner.mark_ended(*operation, Outcome::failed);
  } else {
    own(*operation);
    one_sided_.push_back(operation);
    if (one_sided_.front() == operation && drain_one_sided()) busy();
  }
  return ended_within_call(std::move(request));
}

// ---- flush and fence

bool EndpointImpl::settled(FlushScope scope) const {
  if (remote.open != 0 || rails.is_unflushed() || remote.put_refused) return false;
  return scope == FlushScope::remote ? activity() == remote.settled : remote.put_at <= remote.settled && handed_over();
}

RequestPtr EndpointImpl::flush(SendDone done, void* context, FlushScope scope) {
  if (failure_.empty() && !closing_ && one_sided_.empty() && sends_.empty() && settled(scope)) return nullptr;
  Operation* operation = owner.begin(Doing::flush, done, context);
  operation->state().scope = scope;
  return begin_one_sided(operation);
}

void EndpointImpl::fence() {
  if (one_sided_.empty() && settled(FlushScope::remote)) return;
  begin_one_sided(owner.begin(Doing::fence));
}

}  // namespace periapt::ucx
