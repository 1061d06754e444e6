#include "machine/ucx-like/protocol/staged.h"

#include <algorithm>
#include <list>

#include "machine/ucx-like/protocol/table.h"
#include "machine/ucx-like/protocol/transfer.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {

/// A piece of an operation, which moves on with each completion: of the copy into it, then of its message.
struct StagedPiece : Completion {
  enum class State : std::uint8_t { filling, filled, lent, done };
  State state = State::filling;
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

std::uint64_t piece_max(EndpointImpl& endpoint) {
  std::uint64_t most = endpoint.owner.device_memory()->piece_bytes();
  for (const auto& rail : endpoint.rails) {
    if (rail->link != nullptr) most = std::min(most, payload_max(rail->can()));
  }
  return most;
}

Status fill(Operation& operation, StagedPiece& piece, std::uint64_t size) {
  piece.done = moved_on;
  piece.operation = &operation;
  piece.offset = operation.state().moved;
  piece.bytes.shrink(size);
  ++operation.outstanding;
  const Place from{const_cast<std::byte*>(operation.source) + piece.offset, operation.kind};
  Status begun = operation.worker.device_memory()->copy({piece.bytes.data()}, from, size, piece);
  if (begun) operation.state().moved += size;
  if (!begun) --operation.outstanding;
  return begun;
}

// As many as may be on their way. False: it cannot be copied.
bool fill_more(EndpointImpl& endpoint, Operation& operation) {
  RequestState& state = operation.state();
  std::list<StagedPiece>& pieces = state.staged->list;
  DeviceMemory& memory = *endpoint.owner.device_memory();
  const std::uint64_t most = piece_max(endpoint);
  while (state.moved < operation.size && pieces.size() < kPieces) {
    Result<Buffer> room = memory.piece();
    if (!room) return false;
    if (!*room) return true;
    pieces.emplace_back().bytes = std::move(*room);
    if (fill(operation, pieces.back(), std::min(most, operation.size - state.moved))) continue;
    pieces.pop_back();
    return false;
  }
  return true;
}

MessageHeader header_of(Operation& operation, const StagedPiece& piece, Kind kind) {
  RequestState& state = operation.state();
  MessageHeader header;
  header.kind = kind;
  header.id = kind == Kind::put ? 0 : state.their_id;
  header.tag = kind == Kind::put ? state.rkey->memory : 0;
  header.offset = piece.offset + (kind == Kind::put ? state.remote : 0);
  return header;
}

Accepted send(EndpointImpl& endpoint, Operation& operation, StagedPiece& piece, Kind kind) {
  Rail* const first = endpoint.rails.first();
  const bool split = kind != Kind::put && operation.size >= endpoint.plan.split_min;
  Rail& rail = split ? endpoint.rails.next(piece.bytes.size(), endpoint.plan) : *first;
  if (rail.can().needs_registration) {
    LocalMemory& known = endpoint.owner.device.pieces[piece.bytes.data()];
    const std::uint64_t whole = endpoint.owner.device_memory()->piece_bytes();
    if (!known.at(*rail.port, piece.bytes.data(), whole, MemoryKind::host).ok()) operation.result = Outcome::no_memory;
    if (operation.result != Outcome::ok) return Accepted::lost;
  }
  MessageHeader header = header_of(operation, piece, kind);
  if (&rail == first) header.credit = endpoint.credit.take_owed();
  const bool lends = rail.can().max_lent != 0;
  piece.state = State::lent;
  ++operation.outstanding;
  const Accepted answer = lends ? rail.transport().send_lent(*rail.link, bytes_of(header), piece.bytes.bytes(), piece)
                                : rail.transport().send_inline(*rail.link, bytes_of(header), piece.bytes.bytes());
  if (answer != Accepted::pending) {
    --operation.outstanding;
    piece.state = State::done;
  }
  if (is_refused(answer)) {
    endpoint.credit.put_back(header.credit);
    piece.state = State::filled;
    return answer;
  }
  rail.add_load(piece.bytes.size());
  if (kind == Kind::put) {
    ++endpoint.remote.puts_by_message;
    endpoint.remote.put_at = endpoint.activity();
  }
  return answer;
}

}  // namespace

Step push_staged(EndpointImpl& endpoint, Operation& operation, Kind kind) {
  RequestState& state = operation.state();
  if (state.staged == nullptr) state.staged = std::make_shared<StagedPieces>();
  std::list<StagedPiece>& pieces = state.staged->list;
  for (auto at = pieces.begin(); at != pieces.end() && operation.result == Outcome::ok;) {
    if (at->state == State::filled) {
      const Accepted answer = send(endpoint, operation, *at, kind);
      if (is_refused(answer) && operation.result == Outcome::ok) return refused(endpoint, answer);
    }
    at = at->state == State::done ? pieces.erase(at) : std::next(at);
  }
  if (operation.result == Outcome::ok && !fill_more(endpoint, operation)) operation.result = Outcome::failed;
  if (operation.result != Outcome::ok) {
    if (operation.outstanding != 0) return Step::no_credit;
    give_up_staged(endpoint, operation);
    endpoint.owner.end_later(operation, operation.result);
    return Step::gone;
  }
  if (state.moved == operation.size && pieces.empty()) {
    all_given(endpoint, operation);
    return Step::gone;
  }
  return pieces.empty() ? Step::no_room : Step::no_credit;  // others have all of the pieces, and no one tells
}

bool give_up_staged(EndpointImpl& endpoint, Operation& operation) {
  const RequestState* state = operation.known_state();
  if (state == nullptr || state->staged == nullptr || operation.doing == Doing::put) return false;
  endpoint.say(Kind::refused, state->their_id);
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

const Protocol kStagedData = {
    .name = "staged data",
    .advance = [](EndpointImpl& endpoint, Operation& send) { return push_staged(endpoint, send, Kind::data); },
    .abort = [](EndpointImpl& endpoint, Operation& send) { return give_up_staged(endpoint, send); },
};

}  // namespace periapt::ucx
