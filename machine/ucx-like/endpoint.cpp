#include "machine/ucx-like/endpoint.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {

EndpointImpl::EndpointImpl(WorkerImpl& worker, PeerId peer)
    : counters(&worker.counters_), credit(worker.credit), owner(worker), rails(*this, peer), peer_(peer) {}
EndpointImpl::~EndpointImpl() = default;
Worker& EndpointImpl::worker() const { return owner; }

// ---- connecting

// A link that the peer has opened.
void EndpointImpl::adopt(DevicePort& port, Link& link) {
  if (!failure_.empty()) revive();
  Rail& rail = rails.at(port);
  if (rail.link != nullptr && rail.link != &link) {
    // The peer has disconnected and come back before we heard of it.
    fail("worker " + std::to_string(peer_) + " has connected anew", true);
    revive();
    return adopt(port, link);
  }
  rails.enter(rail, link);
}

bool EndpointImpl::open() {
  if (rails.first() != nullptr) return true;
  if (!rails.open()) {
    fail("worker " + std::to_string(peer_) + " cannot be connected: " + rails.why_not());
    return false;
  }
  const Rail& first = *rails.first();
  link_ = first.link;
  transport_ = &first.transport();
  if (first.port->loopback) owner.ports.poll(*transport_);
  std::vector<const Device*> devices = {&first.port->device};
  for (const auto& other : rails) {
    if (other.get() != &first && !other->unusable) devices.push_back(&other->port->device);
  }
  plan = make_plan(devices, owner.context_.request().limits);
  set_fast();
  return true;
}

void EndpointImpl::set_fast() {
  bool clear = transport_ != nullptr && sends_.empty() && !closing_ && failure_.empty();
  fast_max_ = clear ? static_cast<std::int64_t>(plan.inline_max) : -1;
}

// ---- the queues

// Sends what can be sent. True: there is more, and room is all it needs.
bool EndpointImpl::drain() {
  if (rails.first() == nullptr) return false;
  bool more = drain_sends();
  if (!control_.empty()) return true;
  for (Operation* operation = bulk_.front(); operation != nullptr;) {
    Operation* next = bulk_.after(operation);
    if (operation->protocol->advance(*this, *operation) == Step::no_room) more = true;
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

bool EndpointImpl::drain_one_sided() {
  while (Operation* operation = one_sided_.front()) {
    if (operation->is_one_sided() && !operation->counted) {
      operation->counted = true;
      ++remote.open;
    }
    Step step = operation->protocol->start(*this, *operation);
    if (step != Step::gone) return step == Step::no_room;
  }
  return false;
}

void EndpointImpl::busy() {
  if (is_busy_) return;
  is_busy_ = true;
  owner.busy_.push_back(this);
}

void EndpointImpl::queue_bulk(Operation& operation) {
  bulk_.push_back(&operation);
  busy();
}

void EndpointImpl::queue_ordered(Operation& operation) {
  sends_.push_back(&operation);
  ++waiting_messages_;
  waiting_bytes_ += operation.size;
}

void EndpointImpl::unqueue(Operation& operation) {
  operation.Hook<InQueue>::unlink();
  --waiting_messages_;
  waiting_bytes_ -= operation.size;
}

bool EndpointImpl::withdraw(Operation& operation) {
  const RequestState* state = operation.known_state();
  if (operation.announced || operation.outstanding != 0 || (state != nullptr && state->moved != 0)) return false;
  // A flush is first in the one queue and then in the other; only the ordered one is counted.
  const bool is_flush = operation.doing == Doing::flush;
  if (operation.is_one_sided() || (is_flush && one_sided_.holds(operation))) {
    operation.Hook<InQueue>::unlink();
  } else {
    unqueue(operation);
  }
  return true;
}

Step EndpointImpl::after(Accepted answer, Operation& operation, std::int64_t charge, std::uint32_t returned) {
  if (answer == Accepted::no_resource || answer == Accepted::lost) {
    credit.put_back(returned);
    operation.all_parts_given = false;
    ++counters->no_resource;
    // A lost link is reported by its transport; nothing is to be tried until then.
    return answer == Accepted::lost ? Step::no_credit : Step::no_room;
  }
  credit.spend(charge);
  // It has left the ordered queue: what comes behind it may go.
  unqueue(operation);
  ++counters->messages_sent;
  counters->bytes_sent += operation.size;
  if (operation.all_parts_given && operation.outstanding == 0 && !operation.awaits_answer) {
    owner.end_later(operation, Outcome::ok);
  }
  return Step::gone;
}

void EndpointImpl::begin_fetch(Operation& receive, const MessageHeader& announce, std::span<const std::byte> keys) {
  const bool fitting = announce.size <= receive.room();
  WorkerImpl::matched(receive, *this, announce);
  RequestState& state = receive.state();
  state.their_id = announce.id;
  state.remote = announce.offset;
  if (!fitting) {
    say(MessageKind::fetched, state.their_id);
    return owner.end_later(receive, Outcome::too_long);
  }
  receive.size = announce.size;
  if (!open()) return;
  if (receive.size >= plan.split_min) rails.connect_all();
  Demand demand;
  demand.use = Use::fetch;
  demand.size = receive.size;
  demand.kind = receive.kind;
  demand.described = announce.kind == MessageKind::announce && (announce.code & kOnDevice) != 0;
  demand.copies = (demand.described || receive.kind != MemoryKind::host) && owner.device_memory() != nullptr;
  demand.times = &rails.first()->port->times;
  demand.ways = owner.ports.allowed_ways(plan);
  receive.protocol = owner.protocols.choose(demand, plan);
  if (receive.protocol == nullptr) {
    say(MessageKind::fetched, state.their_id);
    return owner.end_later(receive, Outcome::failed);
  }
  state.announced = keys;
  state.began_ns = is_between_kinds(demand) ? 0 : clock::now_ns();
  receive.protocol->start(*this, receive);
  state.announced = {};
}

// ---- control messages: not held back by credit, only by room, and in their own order

Accepted EndpointImpl::transmit(Rail& rail, const MessageHeader& header, std::span<const std::byte> payload) {
  if (payload.size() <= rail.can().max_inline) {
    return rail.transport().send_inline(*rail.link, bytes_of(header), payload);
  }
  Buffer copy = allocate_plain(payload.size());
  if (!copy) return Accepted::no_resource;
  std::memcpy(copy.data(), payload.data(), payload.size());
  Accepted answer = rail.transport().send_owned(*rail.link, bytes_of(header), copy);
  return answer == Accepted::pending ? Accepted::done : answer;
}

void EndpointImpl::send_control(const MessageHeader& header, std::span<const std::byte> payload) {
  if (!failure_.empty() || !open()) return;
  if (control_.empty() && try_control(header, payload)) return;
  control_.push_back({header, {payload.begin(), payload.end()}});
  busy();
}

bool EndpointImpl::try_control(MessageHeader header, std::span<const std::byte> payload) {
  header.credit = credit.take_owed();
  if (transmit(*rails.first(), header, payload) == Accepted::done) return true;
  credit.put_back(header.credit);
  ++counters->no_resource;
  return false;
}

bool EndpointImpl::drain_control() {
  while (!control_.empty()) {
    if (!try_control(control_.front().header, control_.front().payload)) return false;
    control_.pop_front();
  }
  return true;
}

void EndpointImpl::say(MessageKind kind, std::uint64_t id) {
  MessageHeader header;
  header.kind = kind;
  header.id = id;
  send_control(header);
}

// ---- puts of the peer's that are still copied

void EndpointImpl::put_copied(Outcome outcome) {
  if (outcome != Outcome::ok) say(MessageKind::refused, 0);
  if (--remote.copying != 0) return;
  for (std::uint64_t id : std::exchange(remote.flushes, {})) say(MessageKind::flushed, id);
}

void EndpointImpl::answer_flush(std::uint64_t id) {
  if (remote.copying == 0) return say(MessageKind::flushed, id);
  remote.flushes.push_back(id);
}

// ---- credit

bool EndpointImpl::has_credit(std::int64_t charge) {
  if (credit.covers(charge)) return true;
  if (credit.request_credit()) {
    ++counters->credit_waits;
    say(MessageKind::out_of_credit, 0);
  }
  return false;
}

void EndpointImpl::add_credit(std::uint32_t bytes) {
  credit.add_credit(bytes);
  if (!sends_.empty()) busy();
}

void EndpointImpl::return_credit() {
  MessageHeader header;
  header.kind = MessageKind::credit;
  header.size = credit.adjust_window();
  send_control(header);
}

// The peer has announced a message that is not large, but larger than all of its window: the next ones of its size
// shall fit.
void EndpointImpl::grow_window(std::uint64_t size) {
  if (size <= plan.eager_max && static_cast<std::int64_t>(size) + kMessageOverhead > credit.granted()) return_credit();
}

// The peer has messages and no credit for them. When all of its window is held by messages that no receive is there
// for, while a receive waits for another one, that other one may be behind the credit: it is let through, beyond the
// bound.
void EndpointImpl::peer_out_of_credit() {
  if (credit.peer_out_of_credit()) return return_credit();
  if (owner.matching.posted.size() != 0) owner.grant_emergency_credit();
}

EndpointImpl::CreditBook EndpointImpl::credit_book() {
  CreditBook book{credit.available(), credit.granted(), credit.owed(), 0};
  for (Unexpected* message = unexpected_.front(); message != nullptr; message = unexpected_.after(message)) {
    if (!message->arriving) book.held += charge_of(message->header, message->bytes.size());
  }
  for (const ActiveMessages::Waiting& waiting : owner.active.waiting) {
    if (waiting.from == this) book.held += kMessageOverhead + static_cast<std::int64_t>(waiting.extra.size());
  }
  return book;
}

// ---- loss, and leaving in an orderly way

void EndpointImpl::fail(const std::string& reason, bool disconnected) {
  if (!failure_.empty()) return;
  failure_ = reason;
  disconnected_ = disconnected;
  fast_max_ = -1;
  control_.clear();
  remote.flushes.clear();
  std::erase_if(owner.active.waiting, [this](const auto& waiting) { return waiting.from == this; });
  while (Operation* operation = active_.pop_front()) {
    operation->Hook<InQueue>::unlink();
    operation->result = operation->doing == Doing::close && disconnected ? Outcome::ok : Outcome::peer_lost;
    // What transports still have of it comes back in their own time; the memory is lent until then.
    if (operation->outstanding == 0) owner.end_later(*operation, operation->result);
  }
  close_ = nullptr;
  waiting_messages_ = waiting_bytes_ = 0;
  lose_unexpected();
  rails.close();
  link_ = nullptr;
  transport_ = nullptr;
  credit.close();
  if (disconnected) {
    if (!closing_) owner.events.disconnected.emplace_back(peer_, reason);
    return;
  }
  ++counters->peers_lost;
  owner.events.lost.emplace_back(peer_, reason);
}

// Whole messages can still be received.
void EndpointImpl::lose_unexpected() {
  for (Unexpected* message = unexpected_.front(); message != nullptr;) {
    Unexpected* next = unexpected_.after(message);
    bool whole = !message->arriving && message->header.kind == MessageKind::eager;
    if (message->receive != nullptr) owner.end_later(*message->receive, Outcome::peer_lost);
    if (!whole && !message->probed) {
      if (message->receive == nullptr) owner.matching.unexpected.take_out(*message);
      owner.matching.unexpected.forget(*message);
    }
    message = next;
  }
}

// After it was left in an orderly way the same worker may come back.
void EndpointImpl::revive() {
  failure_.clear();
  disconnected_ = closing_ = false;
  credit.reopen();
  rails.revive();
  remote.settled = remote.put_at = activity();
}

RequestPtr EndpointImpl::close(bool at_once, SendDone done, void* context) {
  Operation* operation = owner.begin(Doing::close, done, context);
  operation->endpoint = this;
  RequestPtr request(operation);
  const bool already = close_ != nullptr;
  // A link that the peer has opened may be there though nothing was ever sent over it.
  const bool nothing_to_close = !failure_.empty() || !rails.has_link() || already;
  if (failure_.empty() && !already) closing_ = true;
  if (nothing_to_close || at_once || !open()) {
    if (!nothing_to_close) say_goodbye();
    if (!already) fail("this worker has closed the connection", true);
    operation->set_ended(Outcome::ok);
    operation->told = true;
    return nullptr;
  }
  close_ = operation;
  set_fast();
  own(*operation);
  busy();
  return request;
}

// Over each link, for the peer may see their ends in any order.
void EndpointImpl::say_goodbye() {
  const MessageHeader goodbye;
  for (const auto& rail : rails) {
    if (rail->link != nullptr && transmit(*rail, goodbye, {}) != Accepted::done) ++counters->no_resource;
  }
}

// Waits until nothing else is under way, asks whether all has arrived, says good-bye, and waits for the peer to close.
void EndpointImpl::advance_close() {
  if (active_.front() != close_ || active_.after(close_) != nullptr || !control_.empty()) return;
  std::uint8_t& stage = close_->state().stage;
  if (stage == 0) {
    stage = 1;
    owner.give_id(*close_);
    say(MessageKind::flush, close_->id);
  } else if (stage == 2) {
    stage = 3;
    say(MessageKind::disconnect, 0);
  }
}

}  // namespace periapt::ucx
