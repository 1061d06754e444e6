// A peer: its rails, its credit, the queues of what waits for it, and how it is lost or left.
#include <algorithm>
#include <cstring>

#include "machine/ucx-like/engine.h"

namespace periapt::ucx {

EndpointImpl::EndpointImpl(WorkerImpl& worker, PeerId peer)
    : counters_(&worker.counters_), credit_(worker.credit_), worker_(worker), peer_(peer) {}
EndpointImpl::~EndpointImpl() = default;
Worker& EndpointImpl::worker() const { return worker_; }

// ---- rails

// Rails lie in the order of the worker's ports: the first that works carries what is ordered.
Rail& EndpointImpl::rail_for(Port& port) {
  auto place = [&](const Port* wanted) {
    return std::find_if(worker_.ports_.begin(), worker_.ports_.end(), [&](auto& p) { return p.get() == wanted; });
  };
  auto at = rails_.begin();
  while (at != rails_.end() && (*at)->port != &port && place((*at)->port) < place(&port)) ++at;
  if (at == rails_.end() || (*at)->port != &port) {
    at = rails_.insert(at, std::make_unique<Rail>());
    (*at)->endpoint = this;
    (*at)->port = &port;
  }
  return **at;
}

void EndpointImpl::know(Port& port, unsigned their_port, std::vector<std::byte> address) {
  Rail& rail = rail_for(port);
  rail.address = std::move(address);
  rail.their_port = static_cast<int>(their_port);
}

// For large messages: every rail that there is.
void EndpointImpl::connect_all() {
  for (auto& rail : rails_) connect_rail(*rail);
}

// A link that the peer has opened.
void EndpointImpl::adopt(Port& port, Link& link) {
  if (!failure_.empty()) revive();
  Rail& rail = rail_for(port);
  if (rail.link != nullptr && rail.link != &link) {
    // They have parted and come back before we heard of the parting.
    fail("worker " + std::to_string(peer_) + " has connected anew", true);
    revive();
    return adopt(port, link);
  }
  enter(rail, link);
}

// A new rail begins as loaded as the one that is least so, or it would get everything for a while.
void EndpointImpl::enter(Rail& rail, Link& link) {
  rail.load_ns = -1;
  for (auto& other : rails_) {
    if (other->link != nullptr && (rail.load_ns < 0 || other->load_ns < rail.load_ns)) rail.load_ns = other->load_ns;
  }
  rail.load_ns = std::max(rail.load_ns, 0.0);
  rail.link = &link;
  rail.unusable = false;
  link.user = &rail;
}

bool EndpointImpl::connect_rail(Rail& rail) {
  if (rail.link != nullptr) return true;
  if (rail.unusable || rail.address.empty()) return false;
  Result<Link*> link = rail.port->transport->connect(peer_, rail.address);
  if (!link.ok()) {
    rail.unusable = true;
    reasons_ += (reasons_.empty() ? "" : "; ") + rail.port->device.transport + "/" + rail.port->device.name + ": " +
                link.message();
    return false;
  }
  enter(rail, **link);
  if (rail.port->loopback) worker_.poll(*rail.port->transport);
  return true;
}

// Connects on first use. False: the peer cannot be reached, and has failed.
bool EndpointImpl::open() {
  if (rail_ != nullptr) return true;
  for (auto& rail : rails_) {
    if (!connect_rail(*rail)) continue;
    rail_ = rail.get();
    link_ = rail->link;
    transport_ = rail->port->transport.get();
    std::vector<const Device*> devices = {&rail->port->device};
    for (auto& other : rails_) {
      if (other.get() != rail_ && !other->unusable) devices.push_back(&other->port->device);
    }
    plan_ = make_plan(devices, worker_.context_.request().limits);
    set_fast();
    return true;
  }
  fail("worker " + std::to_string(peer_) + " cannot be connected: " + reasons_);
  return false;
}

void EndpointImpl::set_fast() {
  bool clear = rail_ != nullptr && sends_.empty() && !closing_ && failure_.empty();
  fast_max_ = clear ? static_cast<std::int64_t>(plan_.inline_max) : -1;
}

// ---- the queues

// Sends what can be sent. True: there is more, and room is all it needs.
bool EndpointImpl::drain() {
  if (rail_ == nullptr) return false;
  bool more = drain_sends();
  if (!control_.empty()) return true;
  for (Operation* operation = bulk_.front(); operation != nullptr;) {
    Operation* next = bulk_.after(operation);
    if (push(*operation) == Step::no_room) more = true;
    operation = next;
  }
  if (drain_one_sided()) more = true;
  if (close_ != nullptr) advance_close();
  return more;
}

// The part of it that a call may do: nothing that could end in a call-back.
bool EndpointImpl::drain_sends() {
  if (!drain_control()) return true;
  bool more = false;
  while (Operation* operation = sends_.front()) {
    Step step = try_send(*operation);
    if (step == Step::gone) continue;
    more = step == Step::no_room;
    break;
  }
  set_fast();
  return more;
}

void EndpointImpl::busy() {
  if (is_busy_) return;
  is_busy_ = true;
  worker_.busy_.push_back(this);
}

// A message of a few hundred bytes at most, by whatever the device has.
Accepted EndpointImpl::transmit(Rail& rail, const MessageHeader& header, std::span<const std::byte> payload) {
  Transport& transport = *rail.port->transport;
  if (payload.size() <= rail.port->can().max_inline)
    return transport.send_inline(*rail.link, bytes_of(header), payload);
  Buffer copy = allocate_plain(payload.size());
  if (!copy) return Accepted::no_resource;
  std::memcpy(copy.data(), payload.data(), payload.size());
  Accepted answer = transport.send_owned(*rail.link, bytes_of(header), copy);
  return answer == Accepted::pending ? Accepted::done : answer;
}

// Answers don't wait for credit, only for room, and keep their own order.
void EndpointImpl::send_control(const MessageHeader& header, std::span<const std::byte> payload) {
  if (!failure_.empty() || !open()) return;
  if (control_.empty() && try_control(header, payload)) return;
  control_.push_back({header, {payload.begin(), payload.end()}});
  busy();
}

bool EndpointImpl::try_control(MessageHeader header, std::span<const std::byte> payload) {
  header.credit = credit_.take_owed();
  if (transmit(*rail_, header, payload) == Accepted::done) return true;
  credit_.put_back(header.credit);
  ++counters_->no_resource;
  return false;
}

bool EndpointImpl::drain_control() {
  while (!control_.empty()) {
    if (!try_control(control_.front().header, control_.front().payload)) return false;
    control_.pop_front();
  }
  return true;
}

// ---- credit: theirs to us, and ours to them

void EndpointImpl::add_credit(std::uint32_t bytes) {
  credit_.add_credit(bytes);
  if (!sends_.empty()) busy();
}

void EndpointImpl::return_credit() {
  MessageHeader header;
  header.kind = Kind::credit;
  header.size = credit_.adjust_window();
  send_control(header);
}

// They have announced a message that is not large, but larger than all of their window: the next ones of its size shall
// fit.
void EndpointImpl::grow_window(std::uint64_t size) {
  if (size <= plan_.eager_max && static_cast<std::int64_t>(size) + kMessageOverhead > credit_.granted()) {
    return_credit();
  }
}

// They have messages and no credit for them. When all of their window is held by messages that nobody receives, while a
// receive waits for another one, that other one may be behind the credit: it is let through, beyond the bound.
void EndpointImpl::peer_out_of_credit() {
  if (credit_.peer_out_of_credit()) return return_credit();
  if (worker_.posted_.size() != 0) worker_.grant_emergency_credit();
}

void WorkerImpl::grant_emergency_credit() {
  for (auto& endpoint : endpoints_) {
    if (!endpoint->credit_.is_exhausted()) continue;
    endpoint->credit_.grant_emergency_credit();
    endpoint->return_credit();
  }
}

// ---- loss and parting

void EndpointImpl::fail(const std::string& reason, bool parted) {
  if (!failure_.empty()) return;
  failure_ = reason;
  parted_ = parted;
  fast_max_ = -1;
  control_.clear();
  std::erase_if(worker_.waiting_active_, [this](const auto& waiting) { return waiting.from == this; });
  while (Operation* operation = active_.pop_front()) {
    operation->Hook<InQueue>::unlink();
    operation->result = operation->doing == Operation::Doing::close && parted ? Outcome::ok : Outcome::peer_lost;
    // What transports still have of it comes back in their own time; the memory is lent until then.
    if (operation->outstanding == 0) worker_.end_later(*operation, operation->result);
  }
  close_ = nullptr;
  waiting_messages_ = waiting_bytes_ = 0;
  for (Unexpected* message = unexpected_.front(); message != nullptr;) {
    Unexpected* next = unexpected_.after(message);
    bool whole = !message->arriving && message->header.kind == Kind::eager;
    if (message->receive != nullptr) worker_.end_later(*message->receive, Outcome::peer_lost);
    if (!whole && !message->probed) {
      if (message->receive == nullptr) worker_.take_out(*message);
      worker_.forget(*message);
    }
    message = next;
  }
  close_links();
  credit_.close();
  if (parted) {
    if (!closing_) worker_.parted_.emplace_back(peer_, reason);
    return;
  }
  ++counters_->peers_lost;
  worker_.lost_.emplace_back(peer_, reason);
}

void EndpointImpl::close_links() {
  for (auto& rail : rails_) {
    rail->placement = {};
    if (rail->link != nullptr) rail->port->transport->close(*rail->link);
    rail->link = nullptr;
  }
  rail_ = nullptr;
  link_ = nullptr;
  transport_ = nullptr;
}

// After an orderly parting the same worker may come back.
void EndpointImpl::revive() {
  failure_.clear();
  reasons_.clear();
  parted_ = closing_ = false;
  credit_.reopen();
  unflushed_ = false;
  settled_ = put_at_ = activity();
  for (auto& rail : rails_) {
    rail->unusable = false;
    rail->one_sided = false;
  }
}

}  // namespace periapt::ucx
