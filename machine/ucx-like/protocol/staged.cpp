#include "machine/ucx-like/protocol/staged.h"

#include <algorithm>
#include <list>
#include <optional>
#include <utility>

#include "machine/ucx-like/protocol/rendezvous.h"
#include "machine/ucx-like/protocol/transfer.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {

/// A piece of an operation, which moves on with each completion: what fills it, then what it is given to.
struct StagedPiece : Completion {
  enum class State : std::uint8_t { empty, filling, filled, lent, done };
  State state = State::empty;
  Operation* operation = nullptr;
  Buffer bytes;
  std::uint64_t offset = 0;
};
struct StagedPieces {
  std::list<StagedPiece> list;
};

namespace {

using State = StagedPiece::State;

// Enough that a piece is filled while others are on their way.
constexpr std::size_t kPieces = 8;

void moved_on(Completion& self, Outcome outcome) {
  auto& piece = static_cast<StagedPiece&>(self);
  Operation& operation = *piece.operation;
  piece.state = piece.state == State::filling ? State::filled : State::done;
  --operation.outstanding;
  operation.worker.part_completed(operation, outcome);
}

/// A piece is in state `meanwhile` until `move` is complete, and in the next one when it is so at once. What can't be
/// done at all is the operation's result.
template <class Move>
Accepted begin(StagedPiece& piece, State meanwhile, Move&& move) {
  Operation& operation = *piece.operation;
  const State before = std::exchange(piece.state, meanwhile);
  ++operation.outstanding;
  const Accepted answer = move();
  if (answer == Accepted::pending) return answer;
  --operation.outstanding;
  piece.state = is_refused(answer) ? before : meanwhile == State::filling ? State::filled : State::done;
  return answer;
}

Accepted copy_piece(StagedPiece& piece, Place to, Place from) {
  Operation& operation = *piece.operation;
  if (operation.worker.device_memory()->copy(to, from, piece.bytes.size(), piece)) return Accepted::pending;
  operation.result = Outcome::failed;
  return Accepted::lost;
}

/// Where the piece belongs in the operation's memory here.
Place place_of(const StagedPiece& piece) {
  const Place whole = piece.operation->place();
  return {whole.at + piece.offset, whole.kind};
}

/// The piece as the device knows it; nullptr: it needs no registration, or operation.result says why there is none.
const MemoryHandle* handle_of(StagedPiece& piece, DevicePort& port) {
  if (!port.can().needs_registration) return nullptr;
  WorkerImpl& worker = piece.operation->worker;
  LocalMemory& known = worker.device.pieces[piece.bytes.data()];
  const Result<Registration*> made =
      known.at(port, piece.bytes.data(), worker.device_memory()->piece_bytes(), MemoryKind::host);
  if (made) return &(*made)->handle;
  piece.operation->result = Outcome::no_memory;
  return nullptr;
}

// ---- as messages

std::uint64_t message_max(EndpointImpl& endpoint) {
  std::uint64_t most = ~std::uint64_t{0};
  for (const auto& rail : endpoint.rails) {
    if (rail->link != nullptr) most = std::min(most, payload_max(rail->can()));
  }
  return most;
}

MessageHeader header_of_piece(Operation& operation, const StagedPiece& piece, MessageKind kind) {
  RequestState& state = operation.state();
  MessageHeader header;
  header.kind = kind;
  header.id = kind == MessageKind::put ? 0 : state.their_id;
  header.tag = kind == MessageKind::put ? state.rkey->memory : 0;
  header.offset = piece.offset + (kind == MessageKind::put ? state.remote : 0);
  return header;
}

Accepted send(EndpointImpl& endpoint, StagedPiece& piece, MessageKind kind) {
  Operation& operation = *piece.operation;
  Rail* const first = endpoint.rails.first();
  const bool split = kind != MessageKind::put && operation.size >= endpoint.plan.split_min;
  Rail& rail = split ? endpoint.rails.next(piece.bytes.size(), endpoint.plan) : *first;
  handle_of(piece, *rail.port);
  if (operation.result != Outcome::ok) return Accepted::lost;
  MessageHeader header = header_of_piece(operation, piece, kind);
  if (&rail == first) header.credit = endpoint.credit.take_owed();
  const bool lends = rail.can().max_lent != 0;
  const Accepted answer = lends ? rail.transport().send_lent(*rail.link, bytes_of(header), piece.bytes.bytes(), piece)
                                : rail.transport().send_inline(*rail.link, bytes_of(header), piece.bytes.bytes());
  if (is_refused(answer)) {
    endpoint.credit.put_back(header.credit);
    return answer;
  }
  rail.add_load(piece.bytes.size());
  if (kind == MessageKind::put) {
    ++endpoint.remote.puts_by_message;
    endpoint.remote.put_at = endpoint.activity();
  }
  return answer;
}

// ---- by a device that puts them into the peer's memory, or gets them from there

std::uint64_t device_max(const RequestState& state, bool is_put) {
  std::uint64_t most = ~std::uint64_t{0};
  for (const RmaLane& lane : state.rkey->lanes) {
    const std::uint64_t can = is_put ? lane.rail->can().max_put : lane.rail->can().max_get;
    if (can != 0) most = std::min(most, can);
  }
  return most;
}

Accepted put_or_get(EndpointImpl& endpoint, StagedPiece& piece, bool is_put) {
  Operation& operation = *piece.operation;
  RequestState& state = operation.state();
  const bool split = operation.size >= endpoint.plan.split_min;
  RmaLane& lane = *state.rkey->lane_for(is_put, split, MemoryKind::host, state.local);
  Rail& rail = *lane.rail;
  const MemoryHandle* handle = handle_of(piece, *rail.port);
  if (operation.result != Outcome::ok) return Accepted::lost;
  const std::span<std::byte> bytes{piece.bytes.data(), piece.bytes.size()};
  const std::uint64_t remote = state.remote + piece.offset;
  const Accepted answer = is_put ? rail.transport().put(*rail.link, bytes, handle, remote, lane.key, piece)
                                 : rail.transport().get(*rail.link, bytes, handle, remote, lane.key, piece);
  if (is_refused(answer)) return answer;
  rail.one_sided = true;
  if (is_put && operation.is_one_sided()) endpoint.rails.set_unflushed(true);
  rail.add_load(piece.bytes.size());
  return answer;
}

// ---- all of them

/// As many pieces as may be on their way, of `most` bytes: each is filled by `fill`, and then given on by `give`, which
/// answer as transports do. Nothing: all has been given on.
template <class Fill, class Give>
std::optional<Step> push(EndpointImpl& endpoint, Operation& operation, std::uint64_t most, Fill&& fill, Give&& give) {
  RequestState& state = operation.state();
  if (state.staged == nullptr) state.staged = std::make_shared<StagedPieces>();
  std::list<StagedPiece>& pieces = state.staged->list;
  for (auto at = pieces.begin(); at != pieces.end() && operation.result == Outcome::ok;) {
    if (at->state == State::filled) {
      const Accepted answer = begin(*at, State::lent, [&] { return give(*at); });
      if (is_refused(answer) && operation.result == Outcome::ok) return refused(endpoint, answer);
    }
    at = at->state == State::done ? pieces.erase(at) : std::next(at);
  }
  DeviceMemory& memory = *endpoint.owner.device_memory();
  most = std::min(most, memory.piece_bytes());
  while (state.moved < operation.size && pieces.size() < kPieces && operation.result == Outcome::ok) {
    Result<Buffer> room = memory.piece();
    if (!room) operation.result = Outcome::failed;
    if (!room || !*room) break;
    StagedPiece& piece = pieces.emplace_back();
    piece.done = moved_on;
    piece.operation = &operation;
    piece.offset = state.moved;
    piece.bytes = std::move(*room);
    piece.bytes.shrink(std::min(most, operation.size - state.moved));
    const Accepted answer = begin(piece, State::filling, [&] { return fill(piece); });
    if (!is_refused(answer)) {
      state.moved += piece.bytes.size();
      continue;
    }
    pieces.pop_back();
    if (operation.result == Outcome::ok) return refused(endpoint, answer);
  }
  if (operation.result != Outcome::ok) {
    if (operation.outstanding != 0) return Step::no_credit;
    give_up_staged(endpoint, operation);
    endpoint.owner.end_later(operation, operation.result);
    return Step::gone;
  }
  if (state.moved == operation.size && pieces.empty()) return std::nullopt;
  return pieces.empty() ? Step::no_room : Step::no_credit;  // others have all of the pieces, and no one tells
}

Accepted copy_in(StagedPiece& piece) { return copy_piece(piece, {piece.bytes.data()}, place_of(piece)); }
Accepted copy_out(StagedPiece& piece) { return copy_piece(piece, place_of(piece), {piece.bytes.data()}); }

std::optional<Step> push_puts(EndpointImpl& endpoint, Operation& operation) {
  return push(endpoint, operation, device_max(operation.state(), true), copy_in,
              [&](StagedPiece& piece) { return put_or_get(endpoint, piece, true); });
}
std::optional<Step> push_gets(EndpointImpl& endpoint, Operation& operation) {
  return push(
      endpoint, operation, device_max(operation.state(), false),
      [&](StagedPiece& piece) { return put_or_get(endpoint, piece, false); }, copy_out);
}

}  // namespace

Step push_staged(EndpointImpl& endpoint, Operation& operation, MessageKind kind) {
  const std::optional<Step> left = push(endpoint, operation, message_max(endpoint), copy_in,
                                        [&](StagedPiece& piece) { return send(endpoint, piece, kind); });
  if (!left) all_given(endpoint, operation);
  return left.value_or(Step::gone);
}

bool give_up_staged(EndpointImpl& endpoint, Operation& operation) {
  const RequestState* state = operation.known_state();
  if (state == nullptr || state->staged == nullptr || operation.is_one_sided()) return false;
  endpoint.say(operation.doing == Doing::receive ? MessageKind::fetched : MessageKind::refused, state->their_id);
  return false;
}

namespace {

// Behind other messages as any other, so those behind it wait for the copy, too.
Step start_eager(EndpointImpl& endpoint, Operation& operation) {
  RequestState& state = operation.state();
  if (operation.outstanding != 0) return Step::no_credit;
  if (operation.size != 0 && !state.buffer) {
    DeviceMemory& memory = *endpoint.owner.device_memory();
    Result<Buffer> piece = operation.size <= memory.piece_bytes() ? memory.piece() : Buffer();
    state.buffer = piece && *piece ? std::move(*piece) : allocate_plain(operation.size);
    state.buffer.shrink(operation.size);
    ++operation.outstanding;
    if (state.buffer && memory.copy({state.buffer.data()}, operation.place(), operation.size, operation)) {
      return Step::no_credit;
    }
    --operation.outstanding;
    endpoint.unqueue(operation);
    endpoint.owner.end_later(operation, Outcome::failed);
    return Step::gone;
  }
  operation.source = state.buffer.data();
  operation.kind = MemoryKind::host;
  Demand demand;
  demand.size = operation.size;
  demand.owned = operation.owns_bytes();
  operation.protocol = endpoint.owner.protocols.choose(demand, endpoint.plan);
  return operation.protocol->start(endpoint, operation);
}

}  // namespace

const Protocol kStagedEager = {
    .name = "staged, then eager",
    .uses = bit_of(Use::send),
    .memory_kinds = ~bit_of(MemoryKind::host),
    .cost =
        [](const Demand& demand, const Plan& plan) {
          const bool can = demand.copies && (demand.size == 0 || (!plan.same_host && demand.size <= plan.eager_max));
          return can ? 0.0 : Protocol::kNever;
        },
    .start = start_eager,
    .abort =
        [](EndpointImpl& endpoint, Operation& operation) {
          endpoint.unqueue(operation);
          return false;
        },
};

// One-sided, where a device leads to the peer's memory and none of them reaches the memory here.
const Protocol kStagedRma = {
    .name = "one-sided, staged",
    .start =
        [](EndpointImpl& endpoint, Operation& operation) {
          const bool is_put = operation.doing == Doing::put;
          const std::optional<Step> left = is_put ? push_puts(endpoint, operation) : push_gets(endpoint, operation);
          if (!left) all_given(endpoint, operation);
          return left.value_or(Step::gone);
        },
    .abort = restart_by_messages,
};

// A message out of pieces, by puts.
const Protocol kStagedPut = {
    .name = "staged put",
    .advance =
        [](EndpointImpl& endpoint, Operation& send) {
          const std::optional<Step> left = push_puts(endpoint, send);
          return left ? *left : finish_puts(endpoint, send);
        },
    .abort = [](EndpointImpl& endpoint, Operation& send) { return kRendezvousPut.abort(endpoint, send); },
};

// And into pieces, by gets.
const Protocol kStagedGet = {
    .name = "staged get",
    .advance =
        [](EndpointImpl& endpoint, Operation& receive) {
          if (const std::optional<Step> left = push_gets(endpoint, receive)) return *left;
          endpoint.say(MessageKind::fetched, receive.state().their_id);
          all_given(endpoint, receive);
          return Step::gone;
        },
    .abort = [](EndpointImpl& endpoint, Operation& receive) { return kRendezvousGet.abort(endpoint, receive); },
};

const Protocol kStagedData = {
    .name = "staged data",
    .advance = [](EndpointImpl& endpoint, Operation& send) { return push_staged(endpoint, send, MessageKind::data); },
    .abort = [](EndpointImpl& endpoint, Operation& send) { return give_up_staged(endpoint, send); },
};

}  // namespace periapt::ucx
