// Active messages: a handler's number, a header of the user's, and a payload.
//
// Small ones travel whole: a short header of the user's in the engine's own, so that the payload goes from where it
// lies to where the transport brings it, and may be looked at there; a longer header before the payload. Large ones are
// announced with their header, and fetched into a buffer that the handler's owner allocates. A handler gets its
// messages in the order of their ends: a large one may be overtaken.
#include <algorithm>
#include <cstring>

#include "machine/ucx-like/bytes.h"
#include "machine/ucx-like/engine.h"

namespace periapt::ucx {

namespace {

// A longer header is copied together with its payload; beyond this, the payload is fetched.
constexpr std::uint64_t kGatheredMost = 8 << 10;

MessageHeader header_of(std::uint16_t id, std::span<const std::byte> user_header) {
  MessageHeader header;
  header.kind = Kind::active;
  header.code = id;
  header.tag = user_header.size();
  if (UserHeader::fits(user_header.size())) copy_bytes(UserHeader::in(header), user_header.data(), user_header.size());
  return header;
}

}  // namespace

// As send_fast() does it with a tag.
PERIAPT_INLINE bool EndpointImpl::active_fast(std::uint16_t id, std::span<const std::byte> user_header,
                                              std::span<const std::byte> payload) {
  auto size = static_cast<std::int64_t>(payload.size());
  if (size > fast_max_ || !credit_.covers(size + kMessageOverhead) || !UserHeader::fits(user_header.size()))
    return false;
  MessageHeader header = header_of(id, user_header);
  header.credit = credit_.take_owed();
  if (PERIAPT_UNLIKELY(transport_->send_inline(*link_, bytes_of(header), payload) != Accepted::done)) {
    credit_.put_back(header.credit);
    return false;
  }
  credit_.spend(size + kMessageOverhead);
  ++counters_->messages_sent;
  counters_->bytes_sent += payload.size();
  return true;
}

RequestPtr EndpointImpl::active_send(std::uint16_t id, std::span<const std::byte> header,
                                     std::span<const std::byte> payload, SendDone done, void* context) {
  if (PERIAPT_LIKELY(active_fast(id, header, payload))) return nullptr;
  Operation* operation = begin_send(Operation::Doing::active_send, payload, 0, done, context);
  operation->course().code = id;
  operation->course().extra.assign(header.begin(), header.end());
  return begin(operation);
}

EndpointImpl::Step EndpointImpl::try_active(Operation& operation) {
  const Course& course = operation.course();
  const bool gathered = !UserHeader::fits(course.extra.size());
  const std::uint64_t whole = operation.size + (gathered ? course.extra.size() : 0);
  const std::int64_t charge = kMessageOverhead + static_cast<std::int64_t>(whole);
  if (whole > (gathered ? std::min(kGatheredMost, plan_.eager_max) : plan_.eager_max) || charge > credit_.window()) {
    return try_announce(operation);
  }
  if (!has_credit(charge)) return Step::no_credit;
  MessageHeader header = header_of(course.code, course.extra);
  header.credit = credit_.take_owed();
  operation.all_parts_given = true;
  Accepted answer = gathered ? send_gathered(header, operation) : send_payload(header, operation);
  if (answer == Accepted::no_resource || answer == Accepted::lost) credit_.put_back(header.credit);
  return after(answer, operation, charge);
}

Accepted EndpointImpl::send_payload(const MessageHeader& header, Operation& operation) {
  std::span<const std::byte> payload(operation.source, operation.size);
  if (operation.size <= plan_.inline_max) return transport_->send_inline(*link_, bytes_of(header), payload);
  return send_part(*rail_, header, payload, operation);
}

// The user's header and the payload, one behind the other: on the stack when they are few.
Accepted EndpointImpl::send_gathered(const MessageHeader& header, Operation& operation) {
  const std::vector<std::byte>& extra = operation.course().extra;
  const std::uint64_t whole = extra.size() + operation.size;
  std::byte few[1024];
  Buffer many;
  if (whole > sizeof(few) || whole > rail_->port->can().max_inline) many = allocate_plain(whole);
  std::byte* bytes = many ? many.data() : few;
  if (!many && whole > sizeof(few)) return Accepted::no_resource;
  std::memcpy(bytes, extra.data(), extra.size());
  copy_bytes(bytes + extra.size(), operation.source, operation.size);
  if (whole <= rail_->port->can().max_inline) return transport_->send_inline(*link_, bytes_of(header), {bytes, whole});
  if (!many) return Accepted::no_resource;
  Accepted answer = transport_->send_owned(*link_, bytes_of(header), many);
  return answer == Accepted::pending ? Accepted::done : answer;
}

// ---- at the receiver

void WorkerImpl::on_active(std::uint16_t id, const ActiveHandler& handler) {
  if (handlers_.size() <= id) handlers_.resize(id + std::size_t{1});
  handlers_[id] = handler;
}

void WorkerImpl::active(Rail& rail, const MessageHeader& header, Payload payload) {
  EndpointImpl& from = *rail.endpoint;
  bool announced = header.kind == Kind::active_announce;
  bool in_header = !announced && UserHeader::fits(header.tag);
  std::uint64_t before = in_header ? 0 : header.tag;  // bytes of the user's header before the payload
  if (before > payload.bytes.size()) return malformed(rail, "an active message with a header beyond its end");
  count_received(announced ? header.size : payload.bytes.size() - before);
  if (header.code >= handlers_.size() || handlers_[header.code].handler == nullptr)
    return no_handler(from, header, payload.bytes.size());
  if (announced) {
    from.grow_window(header.size);
    waiting_active_.push_back({&from, header, {payload.bytes.begin(), payload.bytes.end()}});
    return fetch_active();
  }
  const ActiveHandler& handler = handlers_[header.code];
  Header user_header = in_header ? Header(UserHeader::in(header), header.tag) : payload.bytes.first(before);
  std::span<const std::byte> bytes = payload.bytes.subspan(before);
  from.consume_credit(kMessageOverhead + static_cast<std::int64_t>(payload.bytes.size()));
  if (handler.look != nullptr && handler.look(handler.context, from, user_header, bytes)) return;
  Buffer body;
  if (payload.owned != nullptr && before == 0 && handler.allocate == nullptr) {
    body = std::move(*payload.owned);
  } else {
    body = handler.allocate != nullptr ? handler.allocate(handler.context, bytes.size()) : allocate_plain(bytes.size());
    if (!body) return from.fail("no memory for an active message of " + std::to_string(bytes.size()) + " bytes");
    copy_bytes(body.data(), bytes.data(), bytes.size());
  }
  handler.handler(handler.context, from, user_header, std::move(body));
}

// A message for a handler that nobody has set is dropped; the sender ends as if it had been taken.
void WorkerImpl::no_handler(EndpointImpl& from, const MessageHeader& header, std::size_t payload) {
  from.consume_credit(charge_of(header, payload));
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
    from.consume_credit(kMessageOverhead + static_cast<std::int64_t>(waiting.extra.size()));
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
