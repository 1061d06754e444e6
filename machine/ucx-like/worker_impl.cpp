#include "machine/ucx-like/worker_impl.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "machine/ucx-like/bytes.h"

namespace periapt::ucx {
namespace {

constexpr std::uint8_t kAddressVersion = 1;

}  // namespace

WorkerImpl::WorkerImpl(Context& context, PeerId self, ProtocolTable protocols)
    : self_(self), context_(context), protocols(std::move(protocols)), ports(context, self), operations_(*this) {
  const Limits& limits = context.request().limits;
  credit.bound = static_cast<std::int64_t>(limits.unexpected_bytes);
  credit.window_max = static_cast<std::int64_t>(limits.credit_bytes);
}

WorkerImpl::~WorkerImpl() {
  if (const Status kept = ports.keep_costs(); !kept) log::warn(kept.message());
  if (device.memory != nullptr) device.memory->finish();
  // Keys go back to their transports, and operations when no transport has them any more.
  std::vector<Operation*> left;
  for (auto& endpoint : endpoints_) {
    while (Operation* operation = endpoint->active_.pop_front()) {
      operation->Hook<InQueue>::unlink();
      if (operation->state_ != nullptr) operation->state_->rkey.reset();
      left.push_back(operation);
    }
  }
  ports.close();
  for (Operation* operation : left) recycle(*operation);
  for (auto& endpoint : endpoints_) {
    while (Unexpected* message = endpoint->unexpected_.pop_front()) matching.unexpected.forget(*message);
  }
}

Status WorkerImpl::open() { return ports.open(*this); }

// ---- peers

std::vector<std::byte> WorkerImpl::address() const {
  Writer writer;
  writer.number(kAddressVersion);
  writer.number(kWireVersion);
  writer.number(self_);
  writer.number(static_cast<std::uint8_t>(ports.size()));
  for (const auto& port : ports) {
    writer.text(port->device.transport);
    writer.text(port->transport->address());
  }
  return writer.take();
}

Result<Endpoint*> WorkerImpl::connect(std::span<const std::byte> address) {
  Reader reader(address);
  auto version = reader.number<std::uint8_t>();
  auto wire = reader.number<std::uint8_t>();
  auto peer = reader.number<PeerId>();
  auto count = reader.number<std::uint8_t>();
  if (!reader.good() || version != kAddressVersion || peer == 0) {
    return Status::failure("these " + std::to_string(address.size()) + " bytes are not the address of a worker");
  }
  if (wire != kWireVersion) {
    return Status::failure("worker " + std::to_string(peer) + " speaks version " + std::to_string(wire) +
                           " of the protocol, this one version " + std::to_string(kWireVersion) +
                           ": start all processes from the same build");
  }
  struct PeerDevice {
    std::string transport;
    std::vector<std::byte> address;
    unsigned number;
    bool taken = false;
  };
  std::vector<PeerDevice> theirs;
  for (unsigned i = 0; i < count; ++i) {
    std::string transport = reader.text();
    theirs.push_back({transport, reader.bytes(), i, false});
  }
  if (!reader.good() || !reader.at_end()) {
    return Status::failure("the address of worker " + std::to_string(peer) + " is damaged");
  }

  EndpointImpl& endpoint = endpoint_of(peer);
  if (!endpoint.failure_.empty()) {
    if (!endpoint.disconnected_)
      return Status::failure("worker " + std::to_string(peer) + " is lost: " + endpoint.failure_);
    endpoint.revive();
  }
  // Each device takes the first of theirs that it reaches and no other has taken: a device has one link to a worker, so
  // two of ours can't end at one of theirs. The peer pairs them the same way.
  for (auto& port : ports) {
    if (port->loopback && peer != self_) continue;
    const auto entry = std::find_if(theirs.begin(), theirs.end(), [&](const PeerDevice& one) {
      return !one.taken && one.transport == port->device.transport && port->transport->reaches(one.address);
    });
    if (entry == theirs.end()) continue;
    entry->taken = true;
    endpoint.rails.know(*port, entry->number, entry->address);
  }
  if (endpoint.rails.empty()) {
    std::string ours, others;
    for (auto& port : ports) ours += (ours.empty() ? "" : ", ") + name_of(*port);
    for (PeerDevice& entry : theirs) others += (others.empty() ? "" : ", ") + entry.transport;
    return Status::failure("no transport reaches worker " + std::to_string(peer) + ": here are " + ours +
                           ", there are " + others + ports.unused_devices());
  }
  return static_cast<Endpoint*>(&endpoint);
}

EndpointImpl& WorkerImpl::endpoint_of(PeerId peer) {
  if (EndpointImpl** known = by_peer_.find(peer)) return **known;
  endpoints_.push_back(std::make_unique<EndpointImpl>(*this, peer));
  by_peer_[peer] = endpoints_.back().get();
  return *endpoints_.back();
}

Endpoint* WorkerImpl::endpoint(PeerId peer) {
  EndpointImpl** known = by_peer_.find(peer);
  return known == nullptr ? nullptr : *known;
}

bool WorkerImpl::sums_are_right() const {
  CreditPool sum;
  for (const auto& endpoint : endpoints_) endpoint->credit.add_to(sum);
  return sum.granted == credit.granted && sum.out_of_credit == credit.out_of_credit;
}

// ---- of all peers

void WorkerImpl::grant_emergency_credit() {
  for (auto& endpoint : endpoints_) {
    if (!endpoint->credit.is_exhausted()) continue;
    endpoint->credit.grant_emergency_credit();
    endpoint->return_credit();
  }
}

RequestPtr WorkerImpl::flush(SendDone done, void* context, FlushScope scope) {
  Operation* all = begin(Doing::flush, done, context);
  all->within_call = true;
  all->all_parts_given = true;
  RequestPtr request(all);
  auto part_done = [](void* whole, Outcome outcome) {
    auto& flush = *static_cast<Operation*>(whole);
    Operation::completed(flush, outcome == Outcome::peer_lost ? Outcome::ok : outcome);
  };
  for (auto& endpoint : endpoints_) {
    if (endpoint->rails.first() == nullptr || !endpoint->failure_.empty()) continue;
    ++all->outstanding;
    if (endpoint->flush(part_done, all, scope) == nullptr) --all->outstanding;
  }
  all->within_call = false;
  if (all->outstanding != 0) return request;
  all->set_ended(Outcome::ok);
  all->told = true;
  return nullptr;
}

// ---- progress

int WorkerImpl::progress() {
  int moved = 0;
  // By number: a call-back may connect, and there is one more.
  for (std::size_t i = 0; i < ports.polled().size(); ++i) moved += ports.polled()[i]->progress();
  if (PERIAPT_UNLIKELY(device.memory != nullptr)) moved += look_at_device();
  if (matching.serve_again) moved += serve_unexpected();
  if (!busy_.empty()) drain_busy();
  if (!ended_.empty()) moved += tell_ended();
  if (PERIAPT_UNLIKELY(!events.empty())) moved += events.tell();
  return moved;
}

// Those that still have something to send, but no room, put themselves on the list again.
PERIAPT_NOINLINE void WorkerImpl::drain_busy() {
  draining_.swap(busy_);
  for (EndpointImpl* endpoint : draining_) {
    endpoint->is_busy_ = false;
    if (endpoint->drain()) endpoint->busy();
  }
  draining_.clear();
}

PERIAPT_NOINLINE int WorkerImpl::tell_ended() {
  int told = 0;
  for (; told < static_cast<int>(ended_.size()); ++told) tell(*ended_[static_cast<std::size_t>(told)]);
  ended_.clear();
  return told;
}

// Memory that the program has freed is given back to its GPU when no device has it registered any more.
PERIAPT_NOINLINE int WorkerImpl::look_at_device() {
  constexpr unsigned kLooks = 1 << 14;
  if (++device.looks % kLooks == 0) {
    for (const auto& port : ports) port->registrations->forget_freed();
  }
  return device.memory->progress();
}

int PeerEvents::tell() {
  const auto now_lost = std::exchange(lost, {}), now_disconnected = std::exchange(disconnected, {});
  for (const auto& [peer, reason] : now_lost) {
    if (on_lost) on_lost(peer, reason);
  }
  for (const auto& [peer, reason] : now_disconnected) {
    if (on_disconnected) on_disconnected(peer, reason);
  }
  return static_cast<int>(now_lost.size() + now_disconnected.size());
}

void WorkerImpl::on_active(std::uint16_t id, const ActiveHandler& handler) {
  if (active.handlers.size() <= id) active.handlers.resize(id + std::size_t{1});
  active.handlers[id] = handler;
}

bool WorkerImpl::arm() {
  if (!busy_.empty() || !ended_.empty() || !events.empty() || matching.serve_again) return false;
  if (device.memory != nullptr) {
    if (device.memory->is_busy()) return false;
    for (const auto& port : ports) port->registrations->forget_freed();  // as nothing does while it sleeps
  }
  return ports.arm();
}

// ---- how operations end

PERIAPT_NOINLINE void WorkerImpl::end_state(Operation& operation) {
  operation.state_->release();
  states_.give(operation.state_);
  operation.state_ = nullptr;
}

void WorkerImpl::mark_ended(Operation& operation, Outcome outcome) {
  operation.set_ended(outcome);
  if (operation.id != 0) ids_.remove(operation.id);
  operation.id = 0;
  operation.Hook<OfEndpoint>::unlink();
  operation.Hook<InQueue>::unlink();
  if (operation.state_ != nullptr) operation.state_->release();
  EndpointImpl* endpoint = operation.endpoint;
  if (endpoint == nullptr) return;
  if (operation.counted) --endpoint->remote.open;
  operation.counted = false;
  // Flushes, fences and partings wait for the ends of others.
  if (endpoint->close_ != nullptr || !endpoint->one_sided_.empty()) endpoint->busy();
}

void WorkerImpl::end_now(Operation& operation, Outcome outcome) {
  if (operation.is_internal()) return deliver(operation, outcome);
  mark_ended(operation, outcome);
  tell(operation);
}

void WorkerImpl::end_later(Operation& operation, Outcome outcome) {
  if (operation.is_internal()) return deliver(operation, outcome);
  mark_ended(operation, outcome);
  if (operation.within_call) return;
  if (operation.send_done == nullptr && operation.receive_done == nullptr) {
    tell(operation);
  } else {
    ended_.push_back(&operation);
  }
}

// Could it go on in another way, now that a device has failed it?
static bool may_go_on(const Operation& operation) {
  return operation.result != Outcome::peer_lost && operation.result != Outcome::cancelled &&
         operation.endpoint->failure().empty();
}

void WorkerImpl::part_completed(Operation& operation, Outcome outcome) {
  if (outcome != Outcome::ok && operation.result == Outcome::ok) operation.result = outcome;
  if (operation.has_ended() || operation.outstanding != 0) {
    if (!operation.has_ended() && operation.Hook<InQueue>::linked()) operation.endpoint->busy();
    return;
  }
  EndpointImpl* endpoint = operation.endpoint;
  if (endpoint == nullptr) return end_now(operation, operation.result);  // a flush of all peers
  const Protocol* protocol = operation.protocol;
  if (operation.result == Outcome::ok) {
    if (!operation.all_parts_given) return endpoint->busy();
    if (operation.awaits_answer) return;
    if (protocol != nullptr && protocol->finish != nullptr) protocol->finish(*endpoint, operation);
  } else if (protocol != nullptr && protocol->abort != nullptr && may_go_on(operation) &&
             protocol->abort(*endpoint, operation)) {
    return;
  }
  end_now(operation, operation.result);
}

void WorkerImpl::received_part(Operation& operation, std::uint64_t bytes) {
  RequestState& state = operation.state();
  state.moved += bytes;
  if (state.moved != operation.size) return;
  if (operation.protocol != nullptr && operation.protocol->finish != nullptr) {
    operation.protocol->finish(*operation.endpoint, operation);
  }
  end_now(operation, Outcome::ok);
}

void WorkerImpl::note_time(Operation& receive, LargeWay way) {
  const RequestState& state = receive.state();
  const Rail* first = receive.endpoint->rails.first();
  if (state.began_ns == 0 || first == nullptr) return;
  first->port->times.note(way, receive.size, clock::now_ns() - state.began_ns);
}

Operation* WorkerImpl::operation_of(EndpointImpl& from, std::uint64_t id) {
  Operation* operation = ids_.find(id);
  return operation != nullptr && operation->endpoint == &from ? operation : nullptr;
}

}  // namespace periapt::ucx
