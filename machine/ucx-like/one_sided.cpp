// One-sided operations: by the devices that have them, by messages where none does.
//
// Those of a peer wait in one queue, in their order; only a flush or a fence holds up what is behind it. By messages:
// `put` and its bytes; `get`, answered by `got` messages; `atomic`, answered by `value`. The peer's engine does them
// when it makes progress, and checks each against the bounds of the memory that was registered there.
#include <algorithm>
#include <cstring>
#include <utility>

#include "machine/ucx-like/bytes.h"
#include "machine/ucx-like/engine.h"

namespace periapt::ucx {
namespace {

struct AtomicOperands {
  std::uint64_t operand;
  std::uint64_t compare;
};

std::uint16_t code_of(AtomicOp op, std::size_t width) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(op) | (static_cast<unsigned>(width) << 8));
}

template <class Word>
Word apply(AtomicOp op, Word* word, Word operand, Word compare) {
  switch (op) {
    case AtomicOp::add:
      return __atomic_fetch_add(word, operand, __ATOMIC_ACQ_REL);
    case AtomicOp::bit_and:
      return __atomic_fetch_and(word, operand, __ATOMIC_ACQ_REL);
    case AtomicOp::bit_or:
      return __atomic_fetch_or(word, operand, __ATOMIC_ACQ_REL);
    case AtomicOp::bit_xor:
      return __atomic_fetch_xor(word, operand, __ATOMIC_ACQ_REL);
    case AtomicOp::swap:
      return __atomic_exchange_n(word, operand, __ATOMIC_ACQ_REL);
    case AtomicOp::compare_swap:
      break;
  }
  __atomic_compare_exchange_n(word, &compare, operand, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return compare;
}

// What was there before. `width`: 4 or 8.
std::uint64_t apply(AtomicOp op, std::size_t width, std::byte* word, std::uint64_t operand, std::uint64_t compare) {
  if (width == 8) return apply(op, reinterpret_cast<std::uint64_t*>(word), operand, compare);
  return apply(op, reinterpret_cast<std::uint32_t*>(word), static_cast<std::uint32_t>(operand),
               static_cast<std::uint32_t>(compare));
}

// What an atomic operation can be done on.
bool is_word(std::uint64_t address, std::size_t width) { return (width == 4 || width == 8) && address % width == 0; }

}  // namespace

// ---- memory and keys

Result<MemoryPtr> WorkerImpl::register_memory(std::span<std::byte> bytes, MemoryKind kind) {
  auto memory = std::make_shared<Memory>(*this);
  memory->base = bytes.data();
  memory->size = bytes.size();
  memory->kind = kind;
  std::string why;
  for (auto& port : ports_) {
    const Capabilities& can = port->can();
    if (bytes.empty() || (can.max_put == 0 && can.max_get == 0 && !can.atomics)) continue;
    if ((can.memory_kinds & bit_of(kind)) == 0) continue;
    Result<Registration*> registration = port->registrations->acquire(bytes.data(), bytes.size(), kind);
    if (registration.ok()) {
      memory->registered.emplace_back(port.get(), *registration);
    } else {
      why += "; " + port->device.transport + "/" + port->device.name + ": " + registration.message();
    }
  }
  if (kind != MemoryKind::host && memory->registered.empty()) {
    return Status::failure("no device can use that kind of memory" + why);
  }
  memory->id = memories_.add(memory.get());
  return memory;
}

Memory::~Memory() {
  if (id != 0) worker.memories_.remove(id);
  for (auto& [port, registration] : registered) port->registrations->release(registration);
}

std::vector<std::byte> WorkerImpl::pack_key(const MemoryPtr& memory, std::size_t bytes_max) const {
  PackedKey packed{memory->id, reinterpret_cast<std::uintptr_t>(memory->base), memory->size, {}};
  for (auto& [port, registration] : memory->registered) {
    packed.keys.push_back({static_cast<std::uint8_t>(port->number), port->device.transport,
                           port->transport->pack_key(registration->handle)});
  }
  std::vector<std::byte> bytes = write_packed_key(packed);
  for (; bytes.size() > bytes_max && !packed.keys.empty(); bytes = write_packed_key(packed)) packed.keys.pop_back();
  return bytes;
}

Buffer WorkerImpl::allocate(std::uint64_t size) {
  for (auto& port : ports_) {
    if (Buffer offered = port->transport->allocate(size)) return offered;
  }
  return allocate_plain(size);
}

void WorkerImpl::invalidate(std::span<const std::byte> bytes) {
  for (auto& port : ports_) port->registrations->invalidate(bytes.data(), bytes.size());
}

Result<RkeyPtr> EndpointImpl::unpack(std::span<const std::byte> bytes) {
  std::optional<PackedKey> packed = read_packed_key(bytes);
  if (!packed.has_value()) return Status::failure("these " + std::to_string(bytes.size()) + " bytes are not a key");
  if (!failure_.empty() || !open()) return Status::failure(failure_);
  connect_all();
  RkeyPtr rkey = ways_to(packed->keys,
                         [](const Capabilities& can) { return can.max_get != 0 || can.max_put != 0 || can.atomics; });
  rkey->memory = packed->memory;
  rkey->base = packed->base;
  rkey->size = packed->size;
  return rkey;
}

Rkey::~Rkey() {
  for (Way& way : ways) way.rail->port->transport->release_key(way.key);
}

// ---- operations

// Where the peer's memory can be read and written within the call: it is mapped here, and nothing is in the queue that
// would have to come first. nullptr: it takes an operation to find out what can be done.
PERIAPT_INLINE std::byte* EndpointImpl::mapped(Operation::Doing doing, const RkeyPtr& key, std::uint64_t remote,
                                               std::uint64_t size) {
  if (PERIAPT_UNLIKELY(key == nullptr || key->endpoint != this || !key->covers(remote, size))) return nullptr;
  if (PERIAPT_UNLIKELY(!one_sided_.empty() || closing_ || !failure_.empty())) return nullptr;
  for (const Rkey::Way& way : key->ways) {
    const Capabilities& can = way.rail->port->can();
    if (size > (doing == Operation::Doing::put ? can.max_direct_put : can.max_direct_get)) continue;
    if (way.rail->link == nullptr || (doing == Operation::Doing::atomic && !can.atomics)) continue;
    if (std::byte* here = way.rail->port->transport->direct(*way.rail->link, way.key, remote, size)) return here;
  }
  return nullptr;
}

RequestPtr EndpointImpl::put(std::span<const std::byte> local, std::uint64_t remote, const RkeyPtr& key, SendDone done,
                             void* context) {
  if (std::byte* there = mapped(Operation::Doing::put, key, remote, local.size())) {
    copy_bytes(there, local.data(), local.size());
    return nullptr;
  }
  Operation* operation = begin_transfer(Operation::Doing::put, local.size(), remote, key, done, context);
  operation->source = local.data();
  return begin_one_sided(operation);
}

RequestPtr EndpointImpl::get(std::span<std::byte> local, std::uint64_t remote, const RkeyPtr& key, SendDone done,
                             void* context) {
  if (const std::byte* there = mapped(Operation::Doing::get, key, remote, local.size())) {
    copy_bytes(local.data(), there, local.size());
    return nullptr;
  }
  Operation* operation = begin_transfer(Operation::Doing::get, local.size(), remote, key, done, context);
  operation->into = local.data();
  return begin_one_sided(operation);
}

RequestPtr EndpointImpl::fetch_op(AtomicOp op, std::size_t width, std::uint64_t operand, std::uint64_t compare,
                                  std::uint64_t remote, const RkeyPtr& key, void* result, SendDone done,
                                  void* context) {
  if (std::byte* word = is_word(remote, width) ? mapped(Operation::Doing::atomic, key, remote, width) : nullptr) {
    std::uint64_t before = apply(op, width, word, operand, compare);
    if (result != nullptr) std::memcpy(result, &before, width);
    return nullptr;
  }
  Operation* operation = begin_transfer(Operation::Doing::atomic, width, remote, key, done, context);
  Course& course = operation->course();
  course.code = code_of(op, width);
  course.operand = operand;
  course.compare = compare;
  course.value = result;
  return begin_one_sided(operation);
}

Operation* EndpointImpl::begin_transfer(Operation::Doing doing, std::uint64_t size, std::uint64_t remote,
                                        const RkeyPtr& key, SendDone done, void* context) {
  Operation* operation = worker_.begin(doing, done, context);
  operation->size = size;
  operation->course().remote = remote;
  operation->course().rkey = key;
  return operation;
}

RequestPtr EndpointImpl::begin_one_sided(Operation* operation) {
  RequestPtr request(operation);
  operation->within_call = true;
  operation->endpoint = this;
  if (operation->is_one_sided() && !may_reach(*operation)) {
    worker_.mark_ended(*operation, Outcome::bad_key);
  } else if (!failure_.empty() || closing_ || !open()) {
    worker_.mark_ended(*operation, Outcome::peer_lost);
  } else {
    active_.push_back(operation);
    one_sided_.push_back(operation);
    if (one_sided_.front() == operation && drain_one_sided()) busy();
  }
  return ended_within_call(std::move(request));
}

bool EndpointImpl::may_reach(Operation& operation) const {
  const Course& course = operation.course();
  if (course.rkey == nullptr || course.rkey->endpoint != this) return false;
  bool whole = operation.doing != Operation::Doing::atomic || is_word(course.remote, operation.size);
  return whole && course.rkey->covers(course.remote, operation.size);
}

// Is everything complete, as far as this side knows already: at the peer, or (sends) out of here?
bool EndpointImpl::settled(Until until) const {
  if (open_one_sided_ != 0 || unflushed_ || put_refused_) return false;
  return until == Until::arrived ? activity() == settled_ : put_at_ <= settled_ && handed_over();
}

bool EndpointImpl::handed_over() const {
  return control_.empty() && std::all_of(rails_.begin(), rails_.end(), [](const auto& rail) {
           return rail->link == nullptr || rail->port->transport->handed_over(*rail->link);
         });
}

RequestPtr EndpointImpl::flush(SendDone done, void* context, Until until) {
  if (failure_.empty() && !closing_ && one_sided_.empty() && sends_.empty() && settled(until)) return nullptr;
  Operation* operation = worker_.begin(Operation::Doing::flush, done, context);
  operation->course().until = until;
  return begin_one_sided(operation);
}

void EndpointImpl::fence() {
  if (one_sided_.empty() && settled(Until::arrived)) return;
  begin_one_sided(worker_.begin(Operation::Doing::fence));
}

RequestPtr WorkerImpl::flush(SendDone done, void* context, Until until) {
  Operation* all = begin(Operation::Doing::flush, done, context);
  all->within_call = true;
  all->all_parts_given = true;
  RequestPtr request(all);
  auto part_done = [](void* whole, Outcome outcome) {
    auto& flush = *static_cast<Operation*>(whole);
    Operation::completed(flush, outcome == Outcome::peer_lost ? Outcome::ok : outcome);
  };
  for (auto& endpoint : endpoints_) {
    if (endpoint->rail_ == nullptr || !endpoint->failure_.empty()) continue;
    ++all->outstanding;
    if (endpoint->flush(part_done, all, until) == nullptr) --all->outstanding;
  }
  all->within_call = false;
  if (all->outstanding != 0) return request;
  all->set_ended(Outcome::ok);
  all->told = true;
  return nullptr;
}

// ---- their queue

// True: there is more, and room is all it needs.
bool EndpointImpl::drain_one_sided() {
  while (Operation* operation = one_sided_.front()) {
    Step step = push_one_sided(*operation);
    if (step != Step::gone) return step == Step::no_room;
  }
  return false;
}

EndpointImpl::Step EndpointImpl::push_one_sided(Operation& operation) {
  if (operation.is_one_sided() && !operation.counted) {
    operation.counted = true;
    ++open_one_sided_;
  }
  switch (operation.doing) {
    case Operation::Doing::atomic:
      return push_atomic(operation);
    case Operation::Doing::flush:
    case Operation::Doing::fence:
      return push_flush(operation);
    default:
      return push_transfer(operation);
  }
}

EndpointImpl::Step EndpointImpl::push_transfer(Operation& operation) {
  bool is_put = operation.doing == Operation::Doing::put;
  Step step = Step::gone;
  if (operation.course().rkey->way_for(is_put, false) != nullptr) {
    step = push_parts(operation, is_put);
  } else if (is_put) {
    step = push_put_messages(operation);
  } else if (operation.size != 0) {
    operation.id = worker_.ids_.add(&operation);
    MessageHeader header;
    header.kind = Kind::get;
    header.tag = operation.course().rkey->memory;
    header.size = operation.size;
    header.id = operation.id;
    header.offset = operation.course().remote;
    send_control(header);
    operation.Hook<InQueue>::unlink();
    return Step::gone;  // ends when all of it has come
  }
  if (step != Step::gone) return step;
  operation.Hook<InQueue>::unlink();
  operation.all_parts_given = true;
  if (operation.outstanding == 0) worker_.end_later(operation, operation.result);
  return Step::gone;
}

EndpointImpl::Step EndpointImpl::push_put_messages(Operation& operation) {
  // Answers that are still waiting were there first; a fence counts on that.
  if (!control_.empty()) return Step::no_room;
  const Capabilities& can = rail_->port->can();
  Course& course = operation.course();
  while (course.moved < operation.size) {
    if (operation.outstanding >= kFlightsPerRail) return Step::no_credit;
    std::uint64_t part = part_of(operation.size - course.moved, can.max_lent != 0 ? can.max_lent : can.max_inline, 1);
    MessageHeader header;
    header.kind = Kind::put;
    header.credit = credit_.take_owed();
    header.tag = course.rkey->memory;
    header.offset = course.remote + course.moved;
    std::span<const std::byte> payload(operation.source + course.moved, part);
    bool small = part <= std::min<std::uint64_t>(plan_.inline_max, can.max_inline);
    Accepted answer = small ? transport_->send_inline(*link_, bytes_of(header), payload)
                            : send_part(*rail_, header, payload, operation);
    if (answer == Accepted::no_resource || answer == Accepted::lost) {
      credit_.put_back(header.credit);
      ++counters_->no_resource;
      return answer == Accepted::lost ? Step::no_credit : Step::no_room;
    }
    course.moved += part;
    ++puts_by_message_;
    put_at_ = activity();
  }
  return Step::gone;
}

EndpointImpl::Step EndpointImpl::push_atomic(Operation& operation) {
  Course& course = operation.course();
  auto op = static_cast<AtomicOp>(course.code & 0xFF);
  for (Rkey::Way& way : course.rkey->ways) {
    if (!way.rail->port->can().atomics) continue;
    ++operation.outstanding;
    Accepted answer =
        way.rail->port->transport->fetch_op(*way.rail->link, op, operation.size, course.operand, course.compare,
                                            course.remote, way.key, course.value, operation);
    if (answer != Accepted::pending) --operation.outstanding;
    if (answer == Accepted::no_resource) return Step::no_room;
    if (answer == Accepted::lost) return Step::no_credit;
    if (answer == Accepted::pending) way.rail->one_sided = unflushed_ = true;
    operation.Hook<InQueue>::unlink();
    operation.all_parts_given = true;
    if (operation.outstanding == 0) worker_.end_later(operation, Outcome::ok);
    return Step::gone;
  }
  operation.id = worker_.ids_.add(&operation);
  operation.wants_answer = operation.all_parts_given = true;
  MessageHeader header;
  header.kind = Kind::atomic;
  header.code = course.code;
  header.tag = course.rkey->memory;
  header.id = operation.id;
  header.offset = course.remote;
  AtomicOperands operands{course.operand, course.compare};
  send_control(header, std::as_bytes(std::span(&operands, 1)));
  operation.Hook<InQueue>::unlink();
  return Step::gone;
}

// ---- flush and fence: first all that is open ends here, then the devices are flushed, then the peer's engine is
// asked, if anything has gone to it since it was asked last

EndpointImpl::Step EndpointImpl::push_flush(Operation& operation) {
  if (open_one_sided_ != 0) return Step::no_credit;
  std::uint8_t& stage = operation.course().stage;
  const bool is_flush = operation.doing == Operation::Doing::flush;
  if (stage == 0) {
    Step step = unflushed_ ? flush_rails(operation) : Step::gone;
    if (step != Step::gone) return step;
    stage = 1;
  }
  if (operation.outstanding != 0) return Step::no_credit;
  if (stage == 1) unflushed_ = false;  // what is behind it has not begun
  if (stage == 1 && settled(operation.course().until) && (!is_flush || sends_.empty())) {
    operation.Hook<InQueue>::unlink();
    worker_.end_later(operation, operation.result);
    return Step::gone;
  }
  if (is_flush) {
    // The rest goes in line with the sends: its answer says that they have arrived.
    operation.Hook<InQueue>::unlink();
    sends_.push_back(&operation);
    ++waiting_messages_;
    busy();
    return Step::gone;
  }
  if (stage == 1) {
    stage = 2;
    operation.id = worker_.ids_.add(&operation);
    operation.wants_answer = operation.all_parts_given = true;
    operation.course().activity = activity();
    say(Kind::flush, operation.id);
  }
  return Step::no_credit;  // what is behind a fence waits for its end
}

// Flushes the rails that have had one-sided operations.
EndpointImpl::Step EndpointImpl::flush_rails(Operation& operation) {
  std::uint32_t& flushed = operation.course().flushed;
  for (std::size_t i = 0; i < rails_.size(); ++i) {
    Rail& rail = *rails_[i];
    if (!rail.one_sided || rail.link == nullptr || (flushed & (1u << i)) != 0) continue;
    ++operation.outstanding;
    Accepted answer = rail.port->transport->flush(*rail.link, operation);
    if (answer != Accepted::pending) --operation.outstanding;
    if (answer == Accepted::no_resource) return Step::no_room;
    if (answer == Accepted::lost) return Step::no_credit;
    flushed |= 1u << i;
  }
  return Step::gone;
}

EndpointImpl::Step EndpointImpl::try_flush(Operation& operation) {
  if (!control_.empty()) return Step::no_room;
  if (operation.course().until == Until::left && put_at_ <= settled_ && !put_refused_) {
    if (!handed_over()) return Step::no_room;
    unqueue(operation);
    worker_.end_later(operation, operation.result);
    return Step::gone;
  }
  if (operation.id == 0) operation.id = worker_.ids_.add(&operation);
  operation.wants_answer = operation.all_parts_given = true;
  MessageHeader header;
  header.kind = Kind::flush;
  header.id = operation.id;
  operation.course().activity = activity();
  if (!try_control(header, {})) return Step::no_room;
  unqueue(operation);
  return Step::gone;
}

// ---- parting

RequestPtr EndpointImpl::close(bool at_once, SendDone done, void* context) {
  Operation* operation = worker_.begin(Operation::Doing::close, done, context);
  operation->endpoint = this;
  RequestPtr request(operation);
  const bool parting = close_ != nullptr;
  if (failure_.empty() && !parting) closing_ = true;
  if (!failure_.empty() || rail_ == nullptr || parting) {
    // There is nothing to part from (or they are parting already).
    if (failure_.empty() && !parting) fail("this worker has closed the connection", true);
    operation->set_ended(Outcome::ok);
    operation->told = true;
    return nullptr;
  }
  if (at_once) {
    MessageHeader bye;
    try_control(bye, {});
    fail("this worker has closed the connection", true);
    operation->set_ended(Outcome::ok);
    operation->told = true;
    return nullptr;
  }
  close_ = operation;
  set_fast();
  active_.push_back(operation);
  busy();
  return request;
}

// Waits until nothing else is under way, asks whether all has arrived, says good-bye, and waits for the peer to part.
void EndpointImpl::advance_close() {
  if (active_.front() != close_ || active_.after(close_) != nullptr || !control_.empty()) return;
  std::uint8_t& stage = close_->course().stage;
  if (stage == 0) {
    stage = 1;
    close_->id = worker_.ids_.add(close_);
    say(Kind::flush, close_->id);
  } else if (stage == 2) {
    stage = 3;
    say(Kind::bye, 0);
  }
}

// ---- at the peer

// Where a one-sided message wants to go; nullptr: there it may not.
std::byte* WorkerImpl::exposed(const MessageHeader& header, std::uint64_t size) {
  Memory* memory = memories_.find(header.tag);
  if (memory == nullptr || memory->kind != MemoryKind::host) return nullptr;
  auto base = reinterpret_cast<std::uintptr_t>(memory->base);
  if (header.offset < base || size > memory->size || header.offset - base > memory->size - size) return nullptr;
  return memory->base + (header.offset - base);
}

std::byte* WorkerImpl::place_put(EndpointImpl&, const MessageHeader& header, std::uint64_t size) {
  return exposed(header, size);
}

void WorkerImpl::one_sided(EndpointImpl& from, const MessageHeader& header, Payload payload) {
  switch (header.kind) {
    case Kind::put:
      if (std::byte* into = exposed(header, payload.bytes.size())) {
        if (!payload.bytes.empty()) std::memcpy(into, payload.bytes.data(), payload.bytes.size());
      } else {
        ++counters_.dropped;
        from.say(Kind::refused, 0);
      }
      return;
    case Kind::get:
      return serve_get(from, header);
    case Kind::atomic:
      return serve_atomic(from, header, payload.bytes);
    case Kind::flush:
      return from.say(Kind::flushed, header.id);
    default:
      break;
  }
  if (header.kind == Kind::refused && header.id == 0) {
    from.put_refused_ = true;
    return;
  }
  Operation* operation = operation_of(from, header.id);
  if (operation == nullptr) return;
  switch (header.kind) {
    case Kind::got:
      if (operation->doing != Operation::Doing::get || !fits(*operation, header.offset, payload.bytes.size())) return;
      if (!payload.bytes.empty())
        std::memcpy(operation->into + header.offset, payload.bytes.data(), payload.bytes.size());
      operation->course().reserved += payload.bytes.size();
      return received_part(*operation, payload.bytes.size());
    case Kind::value:
      if (operation->doing != Operation::Doing::atomic) return;
      if (void* value = operation->course().value) std::memcpy(value, &header.tag, operation->size);
      break;
    case Kind::refused:
      operation->result = Outcome::bad_key;
      break;
    default:  // flushed
      if (operation->doing == Operation::Doing::flush || operation->doing == Operation::Doing::fence)
        from.settled_ = operation->course().activity;
      if (operation->doing == Operation::Doing::flush && std::exchange(from.put_refused_, false))
        operation->result = Outcome::bad_key;
      break;
  }
  if (operation->doing == Operation::Doing::close) {
    operation->course().stage = 2;
    return from.busy();
  }
  operation->answered = true;
  if (operation->outstanding == 0) part_completed(*operation, operation->result);
}

void WorkerImpl::serve_get(EndpointImpl& from, const MessageHeader& header) {
  std::byte* source = exposed(header, header.size);
  if (source == nullptr || header.size == 0) return from.say(Kind::refused, header.id);
  if (!from.open()) return;
  Operation& serve = *begin(Operation::Doing::serve_get);
  serve.dropped = true;
  serve.endpoint = &from;
  serve.source = source;
  serve.size = header.size;
  serve.course().their_id = header.id;
  from.active_.push_back(&serve);
  from.bulk_.push_back(&serve);
  from.busy();
}

void WorkerImpl::serve_atomic(EndpointImpl& from, const MessageHeader& header, std::span<const std::byte> payload) {
  std::size_t width = header.code >> 8;
  unsigned op = header.code & 0xFF;
  AtomicOperands operands;
  std::byte* word = nullptr;
  bool well_formed = payload.size() == sizeof(operands) && is_word(header.offset, width) &&
                     op <= static_cast<unsigned>(AtomicOp::compare_swap);
  if (well_formed) word = exposed(header, width);
  if (word == nullptr) return from.say(Kind::refused, header.id);
  std::memcpy(&operands, payload.data(), sizeof(operands));
  MessageHeader answer;
  answer.kind = Kind::value;
  answer.id = header.id;
  answer.tag = apply(static_cast<AtomicOp>(op), width, word, operands.operand, operands.compare);
  from.send_control(answer);
}

}  // namespace periapt::ucx
