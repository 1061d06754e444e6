// Active messages: a handler's number, a header of the user's, and a payload.
//
// Small ones travel whole, the header before the payload. Large ones are announced with their header, and fetched into
// a buffer that the handler's owner allocates. A handler gets its messages in the order of their ends: a large one may
// be overtaken.
#include <cstring>

#include "machine/ucx-like/engine.h"

namespace periapt::ucx {

RequestPtr EndpointImpl::active_send(std::uint16_t id, std::span<const std::byte> header,
                                     std::span<const std::byte> payload, SendDone done, void* context) {
  Operation* operation = worker_.begin(Operation::Doing::active_send);
  operation->course().code = id;
  operation->course().extra.assign(header.begin(), header.end());
  operation->source = payload.data();
  operation->size = payload.size();
  operation->send_done = done;
  operation->context = context;
  return begin(operation);
}

EndpointImpl::Step EndpointImpl::try_active(Operation& operation) {
  const std::vector<std::byte>& extra = operation.course().extra;
  std::uint64_t whole = extra.size() + operation.size;
  if (whole > plan_.active_max || !fits_window(static_cast<std::int64_t>(whole) + kMessageOverhead)) {
    return try_announce(operation);
  }
  std::int64_t charge = kMessageOverhead + static_cast<std::int64_t>(whole);
  if (!has_credit(charge)) return Step::no_credit;
  MessageHeader header;
  header.kind = Kind::active;
  header.code = operation.course().code;
  header.credit = credit_to_return();
  header.size = extra.size();
  // Both parts one behind the other: on the stack when they are small.
  std::byte few[1024];
  Buffer many;
  std::byte* bytes = few;
  if (whole > sizeof(few)) {
    many = allocate_plain(whole);
    if (!many) return Step::no_room;
    bytes = many.data();
  }
  if (!extra.empty()) std::memcpy(bytes, extra.data(), extra.size());
  if (operation.size != 0) std::memcpy(bytes + extra.size(), operation.source, operation.size);
  operation.all_parts_given = true;
  Accepted answer;
  if (whole <= rail_->port->can().max_inline) {
    answer = transport_->send_inline(*link_, bytes_of(header), {bytes, whole});
  } else {
    if (!many) {
      many = allocate_plain(whole);
      if (!many) return Step::no_room;
      std::memcpy(many.data(), bytes, whole);
    }
    answer = transport_->send_owned(*link_, bytes_of(header), many);
  }
  if (answer == Accepted::no_resource || answer == Accepted::lost) owed_ += header.credit;
  return after(answer, operation, charge);
}

// ---- at the receiver

void WorkerImpl::on_active(std::uint16_t id, const ActiveHandler& handler) {
  if (handlers_.size() <= id) handlers_.resize(id + std::size_t{1});
  handlers_[id] = handler;
}

void WorkerImpl::active(Rail& rail, const MessageHeader& header, Payload payload) {
  EndpointImpl& from = *rail.endpoint;
  bool announced = header.kind == Kind::active_announce;
  std::uint64_t user_header = announced ? header.tag : header.size;
  if (user_header > payload.bytes.size()) return malformed(rail, "an active message with a header beyond its end");
  count_received(announced ? header.size : payload.bytes.size() - user_header);
  if (header.code >= handlers_.size() || handlers_[header.code].handler == nullptr) return no_handler(from, header);
  if (announced) {
    waiting_active_.push_back({&from, header, {payload.bytes.begin(), payload.bytes.end()}});
    return fetch_active();
  }
  const ActiveHandler& handler = handlers_[header.code];
  std::span<const std::byte> bytes = payload.bytes.subspan(user_header);
  Buffer body =
      handler.allocate != nullptr ? handler.allocate(handler.context, bytes.size()) : allocate_plain(bytes.size());
  if (!body) return from.fail("no memory for an active message of " + std::to_string(bytes.size()) + " bytes");
  if (!bytes.empty()) std::memcpy(body.data(), bytes.data(), bytes.size());
  from.owe(kMessageOverhead + static_cast<std::int64_t>(payload.bytes.size()));
  handler.handler(handler.context, from, payload.bytes.first(user_header), std::move(body));
}

// A message for a handler that nobody has set is dropped; the sender ends as if it had been taken.
void WorkerImpl::no_handler(EndpointImpl& from, const MessageHeader& header) {
  from.owe(kMessageOverhead);
  if (header.kind == Kind::active_announce) from.say(Kind::fetched, header.id);
  ++counters_.dropped;
}

// Fetches announced payloads, as many as may be on their way at a time.
void WorkerImpl::fetch_active() {
  while (!waiting_active_.empty() && may_fetch(waiting_active_.front().header.size)) {
    WaitingActive waiting = std::move(waiting_active_.front());
    waiting_active_.pop_front();
    EndpointImpl& from = *waiting.from;
    if (!from.failure_.empty()) continue;
    const ActiveHandler& handler = handlers_[waiting.header.code];
    Buffer room = handler.allocate != nullptr ? handler.allocate(handler.context, waiting.header.size)
                                              : allocate_plain(waiting.header.size);
    if (!room) {
      from.fail("no memory for an active message of " + std::to_string(waiting.header.size) + " bytes");
      continue;
    }
    Operation& receive = *begin(Operation::Doing::active_receive);
    receive.dropped = true;
    Course& course = receive.course();
    course.code = waiting.header.code;
    receive.into = room.data();
    receive.size = waiting.header.size;
    course.buffer = std::move(room);
    fetching_ += receive.size;
    from.owe(kMessageOverhead + static_cast<std::int64_t>(waiting.extra.size()));
    std::span<const std::byte> extra(waiting.extra);
    course.extra.assign(extra.begin(), extra.begin() + static_cast<std::ptrdiff_t>(waiting.header.tag));
    from.begin_fetch(receive, waiting.header, extra.subspan(waiting.header.tag));
  }
}

void WorkerImpl::deliver_active(Operation& operation, Buffer payload, Outcome outcome) {
  Course& course = operation.course();
  const ActiveHandler& handler = handlers_[course.code];
  if (outcome == Outcome::ok) handler.handler(handler.context, *operation.endpoint, course.extra, std::move(payload));
  if (!waiting_active_.empty()) serve_again_ = true;
}

}  // namespace periapt::ucx
