// Large messages: announced, and moved when their receiver is known.
//
//   by get    the announcement carried keys; the receiver reads, and says `fetched`
//   by put    the receiver answers `clear` with keys; the sender writes, and says `stored`
//   by data   the receiver answers `clear` without keys; the sender sends data messages into its memory
//
// The receiver decides, by what it has measured (WayTimes); whoever cannot follow falls back to data, which always
// works. Each way moves parts, over all rails that are worth it, the next part to the one that will be free first.
#include <algorithm>

#include "base/clock.h"
#include "machine/ucx-like/engine.h"

namespace periapt::ucx {

// ---- announcing

EndpointImpl::Step EndpointImpl::try_announce(Operation& operation) {
  bool is_active = operation.doing == Operation::Doing::active_send;
  const Course& course = operation.course();
  if (!has_credit(kMessageOverhead + static_cast<std::int64_t>(course.extra.size()))) return Step::no_credit;
  if (operation.size >= plan_.split_min) connect_all();
  std::vector<std::byte> payload = course.extra;
  if ((plan_.ways & bit_of(LargeWay::get)) != 0)
    write_keys(payload, expose(operation, const_cast<std::byte*>(operation.source), true));
  auto charge = static_cast<std::int64_t>(payload.size()) + kMessageOverhead;
  if (!has_credit(charge)) return Step::no_credit;
  if (operation.id == 0) operation.id = worker_.ids_.add(&operation);
  MessageHeader header;
  header.kind = is_active ? Kind::active_announce : Kind::announce;
  header.code = course.code;
  header.credit = credit_.take_owed();
  header.tag = is_active ? course.extra.size() : operation.tag;
  header.size = operation.size;
  header.id = operation.id;
  header.offset = reinterpret_cast<std::uintptr_t>(operation.source);
  operation.wants_answer = true;
  Accepted answer = transmit(*rail_, header, payload);
  if (answer != Accepted::done) {
    credit_.put_back(header.credit);
  } else {
    operation.announced = true;
    ++counters_->rendezvous;
  }
  return after(answer, operation, charge);
}

// Keys for a peer to memory of ours, one for each rail that can be used so.
std::vector<KeyEntry> EndpointImpl::expose(Operation& operation, std::byte* address, bool for_get) {
  std::vector<KeyEntry> keys;
  auto& registered = operation.course().registered;
  for (auto& rail : rails_) {
    Port& port = *rail->port;
    if (rail->link == nullptr || (for_get ? port.can().max_get : port.can().max_put) == 0) continue;
    if (&*rail != rail_ && operation.size < plan_.split_min) continue;
    auto held = std::find_if(registered.begin(), registered.end(), [&](auto& e) { return e.first == &port; });
    if (held == registered.end()) {
      auto registration = port.registrations->acquire(address, operation.size, MemoryKind::host);
      if (!registration.ok()) continue;
      held = registered.insert(held, {&port, *registration});
    }
    keys.push_back({static_cast<std::uint8_t>(port.number), port.device.transport,
                    port.transport->pack_key(held->second->handle)});
  }
  return keys;
}

// Which of our rails leads to which key. Where we don't know their device's number (they came to us), the k-th rail of
// a transport takes the k-th key: connect() pairs devices the same way.
std::shared_ptr<Rkey> EndpointImpl::ways_to(const std::vector<KeyEntry>& keys, bool (*can)(const Capabilities&)) {
  auto rkey = std::make_shared<Rkey>();
  rkey->endpoint = this;
  std::vector<bool> taken(keys.size());
  for (auto& rail : rails_) {
    if (rail->link == nullptr || !can(rail->port->can())) continue;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (taken[i] || keys[i].transport != rail->port->device.transport) continue;
      if (rail->their_port >= 0 && rail->their_port != keys[i].port) continue;
      taken[i] = true;
      Result<RemoteKey> key = rail->port->transport->unpack_key(*rail->link, keys[i].key);
      if (key.ok()) rkey->ways.push_back({rail.get(), *key});
      break;
    }
  }
  return rkey;
}

// ---- the receiver's side

// A receive has its message: where the bytes shall go is known.
void EndpointImpl::begin_fetch(Operation& receive, const MessageHeader& announce, std::span<const std::byte> keys) {
  bool fitting = announce.size <= receive.size;
  worker_.matched(receive, *this, announce);
  Course& course = receive.course();
  course.their_id = announce.id;
  course.remote = announce.offset;
  if (!fitting) {
    say(Kind::fetched, course.their_id);
    return worker_.end_later(receive, Outcome::too_long);
  }
  receive.size = announce.size;
  if (!open()) return;
  if (receive.size >= plan_.split_min) connect_all();
  course.began_ns = clock::now_ns();
  course.way = rail_->port->times.choose(worker_.allowed_ways(plan_), receive.size);
  if (course.way != LargeWay::get || !fetch_by_get(receive, keys)) ask_for(receive);
}

bool EndpointImpl::fetch_by_get(Operation& receive, std::span<const std::byte> bytes) {
  if (bytes.empty()) return false;
  std::optional<std::vector<KeyEntry>> keys = read_keys(bytes);
  if (!keys.has_value() || keys->empty()) return false;
  std::shared_ptr<Rkey>& rkey = receive.course().rkey;
  rkey = ways_to(*keys, [](const Capabilities& can) { return can.max_get != 0; });
  if (rkey->ways.empty()) return false;
  bulk_.push_back(&receive);
  busy();
  return true;
}

void EndpointImpl::ask_for(Operation& receive) {
  receive.id = worker_.ids_.add(&receive);
  Course& course = receive.course();
  course.rkey.reset();
  std::vector<std::byte> keys;
  if (course.way == LargeWay::put) write_keys(keys, expose(receive, receive.into, false));
  if (course.way == LargeWay::get || keys.empty()) course.way = LargeWay::data;
  MessageHeader header;
  header.kind = Kind::clear;
  header.id = course.their_id;
  header.tag = receive.id;
  header.offset = reinterpret_cast<std::uintptr_t>(receive.into);
  send_control(header, keys);
}

void WorkerImpl::note_time(Operation& receive) {
  const Course& course = receive.course();
  if (course.began_ns == 0 || receive.endpoint->rail_ == nullptr) return;
  receive.endpoint->rail_->port->times.note(course.way, receive.size, clock::now_ns() - course.began_ns);
}

void EndpointImpl::say(Kind kind, std::uint64_t id) {
  MessageHeader header;
  header.kind = kind;
  header.id = id;
  send_control(header);
}

// A get or a put that a device would not do: the message goes by data messages then. False: there is no other way.
bool EndpointImpl::another_way(Operation& operation) {
  if (operation.known_course() == nullptr) return false;
  Course& course = operation.course();
  bool large = course.way != LargeWay::data && course.their_id != 0;
  if (!large || operation.result == Outcome::peer_lost || operation.result == Outcome::cancelled) return false;
  if (!failure_.empty()) return false;
  bool is_send = course.way == LargeWay::put;
  operation.result = Outcome::ok;
  course.moved = course.reserved = 0;
  course.stage = 0;
  course.began_ns = 0;
  operation.all_parts_given = false;
  operation.Hook<InQueue>::unlink();
  if (is_send) {
    course.way = LargeWay::data;
    course.rkey.reset();
    bulk_.push_back(&operation);
    busy();
  } else {
    ask_for(operation);
  }
  return true;
}

// ---- the sender's side

// The receiver is ready. Data goes in parts, so that small messages find room between them.
void EndpointImpl::cleared(Operation& send, const MessageHeader& clear, std::span<const std::byte> bytes) {
  Course& course = send.course();
  course.their_id = clear.tag;
  course.remote = clear.offset;
  send.wants_answer = false;
  std::optional<std::vector<KeyEntry>> keys = read_keys(bytes);
  if (keys.has_value() && !keys->empty()) {
    course.rkey = ways_to(*keys, [](const Capabilities& can) { return can.max_put != 0; });
    if (!course.rkey->ways.empty()) course.way = LargeWay::put;
  }
  bulk_.push_back(&send);
  busy();
}

// ---- moving

EndpointImpl::Step EndpointImpl::push(Operation& operation) {
  if (operation.doing == Operation::Doing::serve_get) return push_messages(operation, Kind::got);
  switch (operation.course().way) {
    case LargeWay::get:
      return push_get(operation);
    case LargeWay::put:
      return push_put(operation);
    case LargeWay::data:
      break;
  }
  return push_messages(operation, Kind::data);
}

// Small enough that every rail gets some, large enough to be worth it.
std::uint64_t EndpointImpl::part_of(std::uint64_t left, std::uint64_t most, std::size_t rails) const {
  std::uint64_t part = plan_.part_max;
  if (rails > 1) part = std::min(part, std::max<std::uint64_t>(plan_.split_min / 4, left / (rails * 2)));
  return std::min({part, most, left});
}

// Where a part of that many bytes will be over first.
Rail& EndpointImpl::next_rail(std::uint64_t bytes) {
  Rail* best = nullptr;
  auto end_of = [&](Rail& rail) {
    return rail.load_ns + static_cast<double>(bytes) / rail.port->device.costs.bytes_per_ns;
  };
  for (auto& rail : rails_) {
    if (rail->link == nullptr || !plan_.worth(rail->port->device)) continue;
    if (best == nullptr || end_of(*rail) < end_of(*best)) best = rail.get();
  }
  return best == nullptr ? *rail_ : *best;
}

Accepted EndpointImpl::send_part(Rail& rail, const MessageHeader& header, std::span<const std::byte> payload,
                                 Operation& operation) {
  Transport& transport = *rail.port->transport;
  if (rail.port->can().max_lent == 0) return transport.send_inline(*rail.link, least_bytes_of(header), payload);
  local_handle(operation, *rail.port);
  if (operation.result != Outcome::ok) return Accepted::lost;
  ++operation.outstanding;
  Accepted answer = transport.send_lent(*rail.link, least_bytes_of(header), payload, operation);
  if (answer != Accepted::pending) --operation.outstanding;
  return answer;
}

EndpointImpl::Step EndpointImpl::push_messages(Operation& operation, Kind kind) {
  bool split = operation.size >= plan_.split_min;
  std::size_t rails = split ? rails_.size() : 1;
  Course& course = operation.course();
  while (course.moved < operation.size) {
    if (operation.outstanding >= kFlightsPerRail * rails) return Step::no_credit;
    std::uint64_t left = operation.size - course.moved;
    Rail& rail = split ? next_rail(std::min(left, plan_.part_max)) : *rail_;
    const Capabilities& can = rail.port->can();
    std::uint64_t part = part_of(left, can.max_lent != 0 ? can.max_lent : can.max_inline, rails);
    MessageHeader header;
    header.kind = kind;
    if (&rail == rail_) header.credit = credit_.take_owed();
    header.id = course.their_id;
    header.offset = course.moved;
    Accepted answer = send_part(rail, header, {operation.source + course.moved, part}, operation);
    if (answer == Accepted::no_resource || answer == Accepted::lost) {
      credit_.put_back(header.credit);
      ++counters_->no_resource;
      return answer == Accepted::lost ? Step::no_credit : Step::no_room;
    }
    rail.load_ns += static_cast<double>(part) / rail.port->device.costs.bytes_per_ns;
    course.moved += part;
  }
  operation.Hook<InQueue>::unlink();
  operation.all_parts_given = true;
  if (operation.outstanding == 0) worker_.end_later(operation, Outcome::ok);
  return Step::gone;
}

// Gives the devices parts of a put or get, until all are given or there is no room. What cannot be done at all is the
// operation's result.
EndpointImpl::Step EndpointImpl::push_parts(Operation& operation, bool is_put) {
  bool split = operation.size >= plan_.split_min;
  Course& course = operation.course();
  while (course.moved < operation.size) {
    std::uint64_t left = operation.size - course.moved;
    Rkey::Way* way = course.rkey->way_for(is_put, split);
    Rail& rail = *way->rail;
    Port& port = *rail.port;
    std::uint64_t part =
        part_of(left, is_put ? port.can().max_put : port.can().max_get, split ? course.rkey->ways.size() : 1);
    const MemoryHandle* handle = local_handle(operation, port);
    if (operation.result != Outcome::ok) return Step::gone;
    std::uint64_t remote = course.remote + course.moved;
    ++operation.outstanding;
    Accepted answer = is_put ? port.transport->put(*rail.link, {operation.source + course.moved, part}, handle, remote,
                                                   way->key, operation)
                             : port.transport->get(*rail.link, {operation.into + course.moved, part}, handle, remote,
                                                   way->key, operation);
    if (answer != Accepted::pending) --operation.outstanding;
    if (answer == Accepted::no_resource || answer == Accepted::lost) {
      ++counters_->no_resource;
      return answer == Accepted::lost ? Step::no_credit : Step::no_room;
    }
    if (answer == Accepted::pending) {
      rail.one_sided = true;
      unflushed_ |= is_put && operation.is_one_sided();  // a get ends when its bytes are here
    }
    rail.load_ns += static_cast<double>(part) / port.device.costs.bytes_per_ns;
    course.moved += part;
  }
  return Step::gone;
}

Rkey::Way* Rkey::way_for(bool is_put, bool split) {
  Way* best = nullptr;
  for (Way& way : ways) {
    const Capabilities& can = way.rail->port->can();
    if ((is_put ? can.max_put : can.max_get) == 0) continue;
    if (best == nullptr || (split && way.rail->load_ns < best->rail->load_ns)) best = &way;
  }
  return best;
}

// The local memory of an operation, registered where the device wants that.
const MemoryHandle* EndpointImpl::local_handle(Operation& operation, Port& port) {
  if (!port.can().needs_registration) return nullptr;
  for (auto& [held_by, registration] : operation.course().registered) {
    if (held_by == &port) return &registration->handle;
  }
  std::byte* address = operation.into != nullptr ? operation.into : const_cast<std::byte*>(operation.source);
  Result<Registration*> made = port.registrations->acquire(address, operation.size, MemoryKind::host);
  if (!made.ok()) {
    operation.result = Outcome::no_memory;
    return nullptr;
  }
  operation.course().registered.emplace_back(&port, *made);
  return &(*made)->handle;
}

EndpointImpl::Step EndpointImpl::push_get(Operation& receive) {
  Step step = push_parts(receive, false);
  if (step != Step::gone) return step;
  receive.Hook<InQueue>::unlink();
  receive.all_parts_given = true;
  if (receive.outstanding == 0) worker_.part_completed(receive, receive.result);
  return Step::gone;
}

// After the last part: the peer may be told at once where a put is seen before the message behind it, else when a flush
// says that all of it is there.
EndpointImpl::Step EndpointImpl::push_put(Operation& send) {
  Course& course = send.course();
  if (course.stage == 0) {
    Step step = push_parts(send, true);
    if (step != Step::gone) return step;
    if (send.result != Outcome::ok) {
      if (send.outstanding == 0) worker_.part_completed(send, send.result);
      return Step::gone;
    }
    const std::vector<Rkey::Way>& ways = course.rkey->ways;
    bool ordered = ways.size() == 1 && ways.front().rail == rail_ && rail_->port->can().put_ordered;
    course.stage = ordered ? 3 : 1;
  }
  if (course.stage == 1) {
    if (send.outstanding != 0) return Step::no_credit;
    course.stage = 2;
  }
  if (course.stage == 2) {
    Step step = flush_rails(send);
    if (step != Step::gone) return step;
    if (send.outstanding != 0) return Step::no_credit;
    course.stage = 3;
  }
  send.Hook<InQueue>::unlink();
  say(Kind::stored, course.their_id);
  send.all_parts_given = true;
  if (send.outstanding == 0) worker_.end_later(send, Outcome::ok);
  return Step::gone;
}

}  // namespace periapt::ucx
