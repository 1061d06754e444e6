// What arrives: checked, dispatched, matched, and put where it belongs.
//
// A message reaches the engine in one of three ways: lying in the transport's memory (arrived), as a buffer that
// changes owner (arrived_owned), or announced by its header while its bytes are on their way (place, then placed). The
// first two meet in take_in(); the third asks for memory first, and when that could not be the final place, meets them
// too.
#include <algorithm>
#include <cstring>

#include "machine/ucx-like/bytes.h"
#include "machine/ucx-like/endpoint.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {
namespace {

// Bytes that are copied in two words.
constexpr std::size_t kFewWords = 16;

PERIAPT_INLINE void copy(std::byte* to, std::span<const std::byte> from) { copy_bytes(to, from.data(), from.size()); }

}  // namespace

// ---- from the transports

// The first message of a link that the peer opened makes its endpoint known.
Rail& WorkerImpl::rail_of(Link& link) {
  if (PERIAPT_UNLIKELY(link.user == nullptr)) endpoint_of(link.peer()).adopt(*ports.of(link.transport()), link);
  return *static_cast<Rail*>(link.user);
}

bool WorkerImpl::arrived(Link& from, Header bytes, std::span<const std::byte> payload) {
  if (PERIAPT_LIKELY(bytes.size() == kShortHeaderBytes && from.user != nullptr)) {
    EndpointImpl& peer = *static_cast<Rail*>(from.user)->endpoint;
    ShortHeader header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (header.is(MessageKind::active_short)) {
      if (header.credit() != 0) peer.add_credit(header.credit());
      receive_active_short(peer, header.tag, payload);
      return true;
    }
    if (PERIAPT_LIKELY(payload.size() <= kFewWords && payload.size() >= sizeof(std::uint64_t))) {
      if (PERIAPT_LIKELY(header.is(MessageKind::eager) && peer.receives_quietly(header.credit(), payload.size()))) {
        if (auto* receive = static_cast<Operation*>(matching.posted.take_exact(header.tag));
            PERIAPT_LIKELY(receive != nullptr)) {
          arrived_word(*receive, peer, header, payload);
          return true;
        }
      }
    }
    return arrived_eager(from, bytes, payload);
  }
  return arrived_other(from, bytes, payload);
}

// A word or two, to a receive that is posted: the same as arrived_eager(), with all that calls something left out.
PERIAPT_INLINE void WorkerImpl::arrived_word(Operation& receive, EndpointImpl& from, const ShortHeader& header,
                                             std::span<const std::byte> payload) {
  from.receive_quietly(header.credit(), payload.size());
  count_received(payload.size());
  bool fitting = payload.size() <= receive.size;
  if (PERIAPT_LIKELY(fitting)) {
    copy(receive.into, payload);
  } else if (receive.kind != MemoryKind::host) {
    return receive_elsewhere(receive, from, header.tag, {payload, nullptr});
  }
  receive.posted = false;
  receive.got() = {Outcome::ok, header.tag, payload.size(), from.peer_};
  receive.set_ended(PERIAPT_LIKELY(fitting) ? Outcome::ok : Outcome::too_long);
  if (PERIAPT_UNLIKELY(receive.receive_done != nullptr || receive.dropped)) return tell_apart(receive);
  receive.told = true;
}

PERIAPT_NOINLINE void WorkerImpl::tell_apart(Operation& operation) { tell(operation); }

// The way of most messages: eager, to a receive that is posted, or else to a persistent one.
PERIAPT_NOINLINE bool WorkerImpl::arrived_eager(Link& link, Header bytes, std::span<const std::byte> payload) {
  EndpointImpl& from = *static_cast<Rail*>(link.user)->endpoint;
  ShortHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (PERIAPT_UNLIKELY(!header.is(MessageKind::eager))) return arrived_other(link, bytes, payload);
  const auto settle_credit = [&] {
    if (header.credit() != 0) from.add_credit(header.credit());
    count_received(payload.size());
    from.consume_credit(kMessageOverhead + static_cast<std::int64_t>(payload.size()));
  };
  Received received{Outcome::ok, header.tag, payload.size(), from.peer_};
  if (auto* receive = static_cast<Operation*>(matching.posted.take(header.tag))) {
    const bool fitting = payload.size() <= receive->size;
    if (PERIAPT_LIKELY(fitting)) copy(receive->into, payload);
    settle_credit();
    if (PERIAPT_UNLIKELY(!fitting) && receive->kind != MemoryKind::host) {
      receive_elsewhere(*receive, from, header.tag, {payload, nullptr});
      return true;
    }
    // A posted receive holds nothing that would have to be given back.
    receive->posted = false;
    receive->got() = received;
    receive->set_ended(PERIAPT_LIKELY(fitting) ? Outcome::ok : Outcome::too_long);
    tell(*receive);
    return true;
  }
  const PersistentReceive* persistent = matching.serve_again ? nullptr : matching.persistent.find(header.tag);
  if (persistent == nullptr) return arrived_other(link, bytes, payload);
  Buffer message = persistent->allocate(persistent->context, payload.size());
  if (PERIAPT_UNLIKELY(!message)) return arrived_other(link, bytes, payload);
  copy(message.data(), payload);
  settle_credit();
  persistent->arrived(persistent->context, std::move(message), received);
  return true;
}

void WorkerImpl::receive_active_short(EndpointImpl& from, std::uint64_t header, std::span<const std::byte> payload) {
  count_received(payload.size());
  from.consume_credit(kMessageOverhead + static_cast<std::int64_t>(payload.size()));
  const ActiveShortHandler& handler = active.of_short;
  if (PERIAPT_LIKELY(handler.handler != nullptr)) return handler.handler(handler.context, from.peer_, header, payload);
  ++counters_.dropped;
}

// Apart, so that the way of most messages saves few registers; the same is done to what else is rare on it. False: the
// message had to be put aside.
PERIAPT_NOINLINE bool WorkerImpl::arrived_other(Link& from, Header bytes, std::span<const std::byte> payload) {
  Rail& rail = rail_of(from);
  MessageHeader header;
  if (const char* wrong = read_header(bytes, payload.size(), header)) {
    malformed(rail, wrong);
    return true;
  }
  const std::uint64_t unexpected_before = counters_.unexpected;
  take_in(rail, header, {payload, nullptr});
  return counters_.unexpected == unexpected_before;
}

void WorkerImpl::arrived_owned(Link& from, Header bytes, Buffer payload) {
  Rail& rail = rail_of(from);
  MessageHeader header;
  if (const char* wrong = read_header(bytes, payload.size(), header)) return malformed(rail, wrong);
  take_in(rail, header, {payload.bytes(), &payload});
}

std::byte* WorkerImpl::place(Link& from, Header bytes, std::uint64_t size) {
  Rail& rail = rail_of(from);
  rail.placement = {};
  Placement& placement = rail.placement;
  if (const char* wrong = read_header(bytes, size, placement.header)) {
    malformed(rail, wrong);
    return nullptr;
  }
  EndpointImpl& endpoint = *rail.endpoint;
  MessageHeader& header = placement.header;
  if (header.kind == MessageKind::eager && header.size == size) {
    if (std::byte* into = place_eager(endpoint, placement)) return into;
  } else if (header.kind == MessageKind::data || header.kind == MessageKind::got) {
    Operation* operation = operation_of(endpoint, header.id);
    const bool known = operation != nullptr && operation->into != nullptr;
    const bool here = known && operation->kind == MemoryKind::host;
    if (known && !here) placement.bytes = room_elsewhere(size);
    if (here && operation->fits(header.offset, size)) {
      operation->state().reserved += size;
      placement.operation = operation;
      placement.size = size;
      return operation->into + header.offset;
    }
  } else if (header.kind == MessageKind::put) {
    const Place into = exposed(header.tag, header.offset, size);
    if (into.at != nullptr && into.kind == MemoryKind::host) return into.at;
  }
  if (!placement.bytes) placement.bytes = allocate_plain(size);
  return placement.bytes.data();
}

// A receive that is there gets the bytes at once where it wants them; else they are kept from now on, in their order.
std::byte* WorkerImpl::place_eager(EndpointImpl& from, Placement& placement) {
  const MessageHeader& header = placement.header;
  if (Operation* receive = take_posted(header.tag)) {
    placement.operation = receive;
    placement.size = header.size;
    matched(*receive, from, header);
    if (header.size <= receive->size) return receive->into;
    placement.bytes = receive->kind == MemoryKind::host ? allocate_plain(header.size) : room_elsewhere(header.size);
    return placement.bytes.data();
  }
  if (const PersistentReceive* persistent = matching.serve_again ? nullptr : matching.persistent.find(header.tag)) {
    placement.persistent = persistent;
    placement.bytes = persistent->allocate(persistent->context, header.size);
    if (placement.bytes) return placement.bytes.data();
    placement.persistent = nullptr;
  }
  Buffer room = allocate_plain(header.size);
  if (!room) return nullptr;
  std::byte* into = room.data();
  placement.unexpected = &keep(from, header);
  placement.unexpected->bytes = std::move(room);
  placement.unexpected->arriving = true;
  return into;
}

void WorkerImpl::placed(Link& from) {
  Rail& rail = rail_of(from);
  EndpointImpl& endpoint = *rail.endpoint;
  Placement placement = std::move(rail.placement);
  rail.placement = {};
  const MessageHeader& header = placement.header;
  if (placement.operation == nullptr && placement.unexpected == nullptr && placement.persistent == nullptr) {
    Payload payload{placement.bytes.bytes(), &placement.bytes};
    return take_in(rail, header, payload);
  }
  if (header.credit != 0) endpoint.add_credit(header.credit);
  if (header.kind != MessageKind::eager) return received_part(*placement.operation, placement.size);
  count_received(header.size);
  if (placement.unexpected != nullptr) return arrived_late(endpoint, *placement.unexpected);
  endpoint.consume_credit(charge_of(header, header.size));
  if (header.id != 0) endpoint.say(MessageKind::acknowledge, header.id);
  if (placement.persistent != nullptr) {
    Received got{Outcome::ok, header.tag, header.size, endpoint.peer_};
    placement.persistent->arrived(placement.persistent->context, std::move(placement.bytes), got);
    return;
  }
  if (placement.operation->kind != MemoryKind::host) {
    return receive_elsewhere(*placement.operation, endpoint, header.tag, {placement.bytes.bytes(), &placement.bytes});
  }
  Outcome outcome = header.size <= placement.operation->size ? Outcome::ok : Outcome::too_long;
  end_now(*placement.operation, outcome);
}

// The bytes of an unexpected message are there; its receive may have come in the meantime.
void WorkerImpl::arrived_late(EndpointImpl& from, Unexpected& message) {
  message.arriving = false;
  if (message.receive != nullptr) {
    Operation& receive = *message.receive;
    complete_receive(receive, from, message.header, {message.bytes.bytes(), &message.bytes});
    matching.unexpected.forget(message);
  } else if (!message.probed && matching.persistent.find(message.header.tag) != nullptr) {
    matching.serve_again = true;
  }
}

void WorkerImpl::link_lost(Link& link, const std::string& reason) {
  if (link.user == nullptr) return link.transport().close(link);  // they opened it, and never used it
  Rail& rail = *static_cast<Rail*>(link.user);
  EndpointImpl& endpoint = *rail.endpoint;
  if (rail.link != &link) return;
  endpoint.fail(reason, endpoint.closing_);
}

// For the others may not have been needed so far.
void WorkerImpl::link_degraded(Link& link) {
  if (link.user == nullptr) return;
  EndpointImpl& endpoint = *static_cast<Rail*>(link.user)->endpoint;
  if (endpoint.failure_.empty()) endpoint.rails.connect_all();
}

void WorkerImpl::link_restored(Link& link) {
  if (link.user == nullptr) return;
  Rail& rail = *static_cast<Rail*>(link.user);
  rail.endpoint->rails.restore(rail);
}

// ---- dispatch

void WorkerImpl::take_in(Rail& rail, const MessageHeader& header, const Payload& payload) {
  EndpointImpl& from = *rail.endpoint;
  if (header.credit != 0) from.add_credit(header.credit);
  if (const auto handle = protocols.on_message(header.kind); PERIAPT_LIKELY(handle != nullptr)) {
    return handle(*this, rail, header, payload);
  }
  malformed(rail, "a message of a kind that no protocol has");
}

void WorkerImpl::malformed(Rail& rail, const std::string& what) {
  rail.endpoint->fail("worker " + std::to_string(rail.endpoint->peer_) + " sent " + what + " over " +
                      rail.port->device.transport + ": are all processes from the same build?");
}

Operation* WorkerImpl::take_posted(Tag tag) {
  auto* receive = static_cast<Operation*>(matching.posted.take(tag));
  if (receive != nullptr) receive->posted = false;
  return receive;
}

void WorkerImpl::receive_eager(EndpointImpl& from, const MessageHeader& header, const Payload& payload) {
  count_received(header.size);
  if (Operation* receive = take_posted(header.tag)) {
    return complete_receive(*receive, from, header, payload);
  }
  // While older ones wait for memory, newer ones wait behind them.
  const PersistentReceive* persistent = matching.persistent.find(header.tag);
  if (persistent != nullptr && !matching.serve_again && give_to_persistent(*persistent, from, header, payload)) return;
  Unexpected& kept = keep(from, header, payload);
  if (!kept.bytes && header.size != 0) return out_of_memory(from, kept);
  if (persistent != nullptr) matching.serve_again = true;
}

void WorkerImpl::receive_announced(EndpointImpl& from, const MessageHeader& header, const Payload& payload) {
  count_received(header.size);
  ++counters_.rendezvous;
  from.grow_window(header.size);
  if (Operation* receive = take_posted(header.tag)) {
    from.consume_credit(charge_of(header, payload.bytes.size()));
    return from.begin_fetch(*receive, header, payload.bytes);
  }
  keep(from, header, payload);
  if (matching.persistent.find(header.tag) != nullptr) matching.serve_again = true;
}

// ---- receives

void WorkerImpl::matched(Operation& receive, EndpointImpl& from, const MessageHeader& header) {
  receive.endpoint = &from;
  receive.got() = {Outcome::ok, header.tag, header.size, from.peer_};
  from.own(receive);
}

void WorkerImpl::complete_receive(Operation& receive, EndpointImpl& from, const MessageHeader& header,
                                  const Payload& payload, bool later) {
  receive.got() = {Outcome::ok, header.tag, header.size, from.peer_};
  bool fitting = payload.bytes.size() <= receive.size;
  if (PERIAPT_LIKELY(fitting)) copy(receive.into, payload.bytes);
  const bool elsewhere = PERIAPT_UNLIKELY(!fitting) && receive.kind != MemoryKind::host;
  if (elsewhere) receive_elsewhere(receive, from, header.tag, payload);
  if (payload.owned != nullptr) payload.owned->reset();
  from.consume_credit(charge_of(header, payload.bytes.size()));
  if (PERIAPT_UNLIKELY(header.id != 0)) from.say(MessageKind::acknowledge, header.id);
  if (elsewhere) return;
  Outcome outcome = fitting ? Outcome::ok : Outcome::too_long;
  later ? end_later(receive, outcome) : end_now(receive, outcome);
}

RequestPtr WorkerImpl::tag_receive(std::span<std::byte> into, Tag tag, Tag mask, ReceiveDone done, void* context) {
  bool plain = mask == kFullMask && matching.unexpected.empty() && credit.out_of_credit == 0 && !operations_.empty();
  if (PERIAPT_UNLIKELY(!plain)) return receive_apart(into, tag, mask, done, context);
  Operation* receive = operations_.next();
  begin_receive(*receive, into, mask, done, context);
  receive->posted = true;
  if (PERIAPT_UNLIKELY(!matching.posted.post_again(receive, tag))) return receive_apart(into, tag, mask, done, context);
  operations_.take();
  return RequestPtr(receive);
}

PERIAPT_INLINE void WorkerImpl::begin_receive(Operation& receive, std::span<std::byte> into, Tag mask, ReceiveDone done,
                                              void* context) {
  receive.begin(Doing::receive, nullptr, context);
  receive.into = into.data();
  receive.size = into.size();
  receive.mask = mask;
  receive.receive_done = done;
}

PERIAPT_NOINLINE RequestPtr WorkerImpl::receive_apart(std::span<std::byte> into, Tag tag, Tag mask, ReceiveDone done,
                                                      void* context) {
  Operation* receive = operations_.take();
  begin_receive(*receive, into, mask, done, context);
  if (PERIAPT_UNLIKELY(!matching.unexpected.empty()) && receive_unexpected(*receive, tag, mask))
    return RequestPtr(receive);
  receive->posted = true;
  matching.posted.post(receive, tag, mask);
  if (PERIAPT_UNLIKELY(credit.out_of_credit != 0)) grant_emergency_credit();
  return RequestPtr(receive);
}

// Where a message comes in it seems to have no room: then its kind is looked at (receive_elsewhere()).
RequestPtr WorkerImpl::tag_receive_into(MemoryKind kind, std::span<std::byte> into, Tag tag, Tag mask, ReceiveDone done,
                                        void* context) {
  if (kind == MemoryKind::host) return tag_receive(into, tag, mask, done, context);
  Operation* receive = operations_.take();
  RequestPtr request(receive);
  begin_receive(*receive, {into.data(), 0}, mask, done, context);
  receive->kind = kind;
  receive->state().room = into.size();
  if (device_memory() == nullptr) {
    end_later(*receive, Outcome::failed);
  } else if (matching.unexpected.empty() || !receive_unexpected(*receive, tag, mask)) {
    receive->posted = true;
    matching.posted.post(receive, tag, mask);
    if (credit.out_of_credit != 0) grant_emergency_credit();
  }
  return request;
}

// False: none of those that are there is for it.
PERIAPT_NOINLINE bool WorkerImpl::receive_unexpected(Operation& receive, Tag tag, Tag mask) {
  Unexpected* message = matching.unexpected.find(tag, mask);
  if (message == nullptr) return false;
  matching.unexpected.take_out(*message);
  match_later(receive, *message);
  return true;
}

// A receive finds a message that was there before: it is told later, since no call-back comes from inside a call.
void WorkerImpl::match_later(Operation& receive, Unexpected& message) {
  EndpointImpl& from = *message.from;
  if (message.arriving) {
    message.receive = &receive;
    receive.endpoint = &from;
    receive.got() = {Outcome::ok, message.header.tag, message.header.size, from.peer_};
    return;
  }
  if (message.header.kind == MessageKind::eager) {
    complete_receive(receive, from, message.header, {message.bytes.bytes(), &message.bytes}, true);
  } else if (!from.failure_.empty()) {
    receive.got() = {Outcome::peer_lost, message.header.tag, message.header.size, from.peer_};
    end_later(receive, Outcome::peer_lost);
  } else {
    from.consume_credit(charge_of(message.header, message.bytes.size()));
    from.begin_fetch(receive, message.header, message.bytes.bytes());
  }
  matching.unexpected.forget(message);
}

Probed WorkerImpl::tag_probe(Tag tag, Tag mask, bool take) {
  Unexpected* message = matching.unexpected.find(tag, mask);
  if (message == nullptr) return {};
  if (take) {
    matching.unexpected.take_out(*message);
    message->probed = true;
  }
  return {message->header.tag, message->header.size, message->from->peer_, message};
}

RequestPtr WorkerImpl::receive_probed(Probed probed, std::span<std::byte> into, ReceiveDone done, void* context,
                                      MemoryKind kind) {
  Operation* receive = begin(Doing::receive);
  receive->into = into.data();
  receive->size = kind == MemoryKind::host ? into.size() : 0;
  if (kind != MemoryKind::host) {
    receive->kind = kind;
    receive->state().room = into.size();
  }
  receive->receive_done = done;
  receive->context = context;
  auto* message = static_cast<Unexpected*>(probed.message);
  if (!message->probed) {  // it was looked at only, and is still in the matching
    matching.unexpected.take_out(*message);
    message->probed = true;
  }
  match_later(*receive, *message);
  return RequestPtr(receive);
}

// ---- persistent receives

void WorkerImpl::post_persistent(const PersistentReceive& receive) {
  matching.persistent.post(receive);
  if (!matching.unexpected.empty()) matching.serve_again = true;
}

bool WorkerImpl::give_to_persistent(const PersistentReceive& persistent, EndpointImpl& from,
                                    const MessageHeader& header, const Payload& payload) {
  Buffer message;
  if (payload.owned != nullptr) {
    message = std::move(*payload.owned);
  } else {
    message = persistent.allocate(persistent.context, header.size);
    if (!message) return false;
    copy(message.data(), payload.bytes);
  }
  from.consume_credit(charge_of(header, header.size));
  if (PERIAPT_UNLIKELY(header.id != 0)) from.say(MessageKind::acknowledge, header.id);
  Received got{Outcome::ok, header.tag, header.size, from.peer_};
  persistent.arrived(persistent.context, std::move(message), got);
  return true;
}

// Gives unexpected messages to the persistent receives, in order of arrival, as long as there is memory for them.
int WorkerImpl::serve_unexpected() {
  matching.serve_again = false;
  for (const Protocol* protocol : protocols.rows()) {
    if (protocol->retry != nullptr) protocol->retry(*this);
  }
  UnexpectedMessages& unexpected = matching.unexpected;
  List<Unexpected, InOrder> mine;
  for (Unexpected* message = unexpected.front(); message != nullptr;) {
    Unexpected* next = unexpected.after(message);
    if (!message->arriving && matching.persistent.find(message->header.tag) != nullptr) {
      unexpected.take_out(*message);
      mine.push_back(message);
    }
    message = next;
  }
  int served = 0;
  while (Unexpected* message = mine.front()) {
    if (!serve(*message)) break;
    ++served;
  }
  if (!mine.empty()) matching.serve_again = true;
  unexpected.put_back(mine);
  return served;
}

bool WorkerImpl::serve(Unexpected& message) {
  const PersistentReceive& persistent = *matching.persistent.find(message.header.tag);
  EndpointImpl& from = *message.from;
  if (message.header.kind == MessageKind::eager) {
    // Of memory of ours the user knows nothing, and gets a copy in memory of its own. What was handed over stays what
    // it is.
    Buffer* owned = message.handed_over ? &message.bytes : nullptr;
    if (!give_to_persistent(persistent, from, message.header, {message.bytes.bytes(), owned})) return false;
    message.Hook<InOrder>::unlink();
    matching.unexpected.forget(message);
    return true;
  }
  if (!may_fetch(message.header.size)) return false;
  Buffer room = persistent.allocate(persistent.context, message.header.size);
  if (!room || room.size() < message.header.size) return false;
  message.Hook<InOrder>::unlink();
  Operation& receive = begin_internal(Doing::persistent_receive);
  receive.into = room.data();
  receive.size = message.header.size;
  receive.state().buffer = std::move(room);
  receive.state().persistent = &persistent;
  receive.state().deliver = [](WorkerImpl&, Operation& operation, Buffer message) {
    const PersistentReceive& to = *operation.state().persistent;
    to.arrived(to.context, std::move(message), operation.got());
  };
  fetching += receive.size;
  from.consume_credit(charge_of(message.header, message.bytes.size()));
  from.begin_fetch(receive, message.header, message.bytes.bytes());
  matching.unexpected.forget(message);
  return true;
}

// Memory for messages that were announced is bounded as well; one is always allowed.
bool WorkerImpl::may_fetch(std::uint64_t size) const {
  return fetching == 0 || fetching + size <= context_.request().limits.unexpected_bytes;
}

// The receives that the engine made itself, and that no user holds.
void WorkerImpl::deliver(Operation& operation, Outcome outcome) {
  Buffer message = std::move(operation.state().buffer);
  mark_ended(operation, outcome);
  fetching -= operation.size;
  if (outcome == Outcome::ok) operation.state().deliver(*this, operation, std::move(message));
  if (!active.waiting.empty()) matching.serve_again = true;
  recycle(operation);
}

// ---- unexpected messages

Unexpected& WorkerImpl::keep(EndpointImpl& from, const MessageHeader& header, const Payload& payload) {
  Unexpected& message = keep(from, header);
  if (payload.owned != nullptr) {
    message.bytes = std::move(*payload.owned);
    message.handed_over = true;
  } else if (payload.bytes.size() <= Unexpected::kFew) {
    copy(message.few, payload.bytes);
    message.bytes = Buffer(
        message.few, payload.bytes.size(), [](void*, void*) {}, nullptr);
  } else {
    message.bytes = allocate_plain(payload.bytes.size());
    if (message.bytes) copy(message.bytes.data(), payload.bytes);
  }
  return message;
}

Unexpected& WorkerImpl::keep(EndpointImpl& from, const MessageHeader& header) {
  ++counters_.unexpected;
  Unexpected& message = matching.unexpected.add(&from, header);
  from.own(message);
  return message;
}

void WorkerImpl::out_of_memory(EndpointImpl& from, Unexpected& message) {
  std::string size = std::to_string(message.header.size);
  matching.unexpected.take_out(message);
  matching.unexpected.forget(message);
  from.fail("no memory for an unexpected message of " + size + " bytes from worker " + std::to_string(from.peer_));
}

}  // namespace periapt::ucx
