// What a link does whose queue pairs cannot be made anew: a port, a cable or the device has gone for good. Its
// messages, puts and gets go around, over the link of another rail to the same peer (rails.cpp) or, where there is
// none, over that of the TCP transport where the two workers have met, and the run goes on.
//
// One side begins, by a call with the number of messages that have come; the other halts its queue pairs, takes what
// has come, and calls the same. Each says that it has heard the other's call, for what follows may overtake calls. Then
// it sends those messages again that have not come, as calls, and all others behind them. Puts and gets that have not
// ended begin again, in pieces: the peer copies them to and from the memory that it has registered, and answers each in
// its turn. Which way a side takes is its own choice; it keeps to that, so that the order stays, until the link comes
// back (returning.cpp).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "machine/verbs/transport.h"

namespace periapt::verbs {

using ucx::Accepted;
using ucx::Completion;
using ucx::Outcome;

namespace {

/// Calls that wait for room in the TCP link, before messages and pieces wait with their owners.
constexpr std::size_t kCallsMost = 64;
constexpr std::uint32_t kPieceBytes = kPayloadMax;

/// In front of the bytes of a call about a put or get.
struct DetourHeader {
  std::uint64_t remote = 0;
  std::uint64_t bytes = 0;  ///< of a get
  std::uint32_t key = 0;
  std::uint32_t outcome = 0;  ///< of one that has ended
};

std::vector<std::byte> joined(std::initializer_list<std::span<const std::byte>> parts) {
  std::vector<std::byte> all;
  for (const auto part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}
template <class T>
std::span<const std::byte> bytes_of(const T& object) {
  return std::as_bytes(std::span(&object, 1));
}

}  // namespace

// ---- on to the way around

void VerbsTransport::go_around(VerbsLink& link, const std::string& reason) {
  if (!link.alive() || link.detour != VerbsLink::Detour::none) return;
  if (link.seat.link == nullptr) return fail(link, reason);
  leave_datagrams(link);
  link.detour = VerbsLink::Detour::begun;
  link.broke_because = reason;
  link.mending_since_ns = clock::now_ns();
  halt_messages(link);
  give_up_pair(link.memory);
  link.take_back_operations();
  if (!std::exchange(link.mending, true)) mending_.push_back(&link);
  has_more_ = true;
}

/// Its queue pair of messages is drained.
void VerbsTransport::go_on_around(VerbsLink& link) {
  if (link.detour == VerbsLink::Detour::begun) {
    take_unended(link);
    link.degraded = true;
    receiver_.link_degraded(link);  // its user may connect another rail
    if (!link.alive()) return;
    Call call;
    call.kind = Call::Kind::around;
    call.generation = 1;
    call.received = static_cast<std::uint16_t>(link.received);
    call.number = rail_to(link.peer()) != nullptr ? 1 : 0;
    if (comes_back()) call.first_packet = link.messages->generation + 1;
    call.gid = adapter_.gid.bytes;
    link.rail_expected |= call.number != 0;
    link.detour = VerbsLink::Detour::called;
    tell(link, call);
  }
  if (!link.peer_received || !link.peer_heard) return;
  link.beside = rail_to(link.peer());
  const bool waits = clock::now_ns() - link.mending_since_ns < adapter_.settings.patience_ns();
  if (link.beside == nullptr && link.rail_expected && !link.carries_others && waits) return;
  if (!drop_received(link, *link.peer_received)) return fail(link, kNotUnderstood);
  link.detour = VerbsLink::Detour::on;
  ++detours_;
  has_more_ = true;
  link.next_generation = std::max(link.messages->generation + 1, link.peer_generation);
  link.backoff.begin(clock::now_ns());
  const std::size_t again = link.unended.size();
  for (const Unended& message : std::exchange(link.unended, {})) {
    const std::byte* at = message.slot == kNoSlot ? message.bytes.data() : adapter_.slot(message.slot);
    call_around(link, Call::Kind::carried, {at, at + message.size});
    give_slot_of(message);
  }
  end_mending(link);
  freed_ = true;
  log::warn("verbs: the connection to worker " + std::to_string(link.peer()) + " over " + adapter_.port.name() +
            " stays broken (" + link.broke_because + "): from here on " +
            (link.beside == nullptr ? "TCP" : link.beside->adapter_.port.name()) +
            " is used; messages sent again: " + std::to_string(again));
  post_around(link);
  answer_around(link);
}

void VerbsTransport::take_around(VerbsLink& link, const Call& call) {
  if (link.peer_received) return fail(link, kNotUnderstood);
  link.peer_received = call.received;
  link.peer_gid = call.gid;
  link.rail_expected |= call.number != 0;
  link.peer_generation = call.first_packet;
  go_around(link, "the other side found it so");
  Call heard;
  heard.kind = Call::Kind::heard;
  heard.generation = 1;
  tell(link, heard);
}

// ---- what goes that way

void VerbsTransport::call_around(VerbsLink& link, Call::Kind kind, std::vector<std::byte> rest) {
  Call call;
  call.kind = kind;
  call.generation = 1;
  if (link.beside != nullptr) {
    call.gid = *link.peer_gid;
    link.calls_beside.push_back({ucx::packed(call), std::move(rest)});
  } else {
    link.seat.calls.push_back({ucx::packed(call), std::move(rest)});
  }
  if (!say_around(link)) attend_to(link);
}

bool VerbsTransport::say_around(VerbsLink& link) {
  return link.beside != nullptr ? say_beside(link) : meeting_.say_all(link.seat);
}

bool VerbsTransport::has_room_around(VerbsLink& link) {
  if (link.back == VerbsLink::Return::said) return false;
  const auto& calls = link.beside != nullptr ? link.calls_beside : link.seat.calls;
  return calls.size() < kCallsMost || (say_around(link) && calls.empty());
}

bool VerbsTransport::has_gone_around(const VerbsLink& link) const {
  return link.seat.calls.empty() && link.calls_beside.empty() &&
         (link.beside == nullptr || link.beside->has_handed_over(link.peer()));
}

bool VerbsTransport::send_around(VerbsLink& link, const Prefix& prefix, ucx::Header header, Bytes payload) {
  if (!has_room_around(link)) return false;
  call_around(link, Call::Kind::carried, joined({bytes_of(prefix), header, payload}));
  return true;
}

/// The pieces of puts, and the questions of gets, as far as there is room.
void VerbsTransport::post_around(VerbsLink& link) {
  while (link.alive() && link.posted < link.operations.size()) {
    if (!has_room_around(link)) return attend_to(link);
    Operation& operation = link.operations[link.posted];
    DetourHeader piece{operation.remote, operation.local.length, operation.key, 0};
    // Memory of a GPU can't go this way. The question for nothing keeps the order of the answers.
    if (operation.on_gpu) piece.bytes = 0;
    if (operation.code == IBV_WR_RDMA_READ || operation.on_gpu) {
      call_around(link, Call::Kind::get, joined({bytes_of(piece)}));
      operation.around = 0;
      ++link.posted;
      continue;
    }
    const std::uint32_t size = std::min(operation.local.length - operation.around, kPieceBytes);
    piece.remote += operation.around;
    const auto* from = reinterpret_cast<const std::byte*>(operation.local.addr) + operation.around;
    operation.around += size;
    const bool last = operation.around == operation.local.length;
    call_around(link, last ? Call::Kind::put : Call::Kind::put_begins, joined({bytes_of(piece), {from, size}}));
    link.posted += last;
  }
}

// ---- what the peer wants, and answers

/// How an operation ends for which registered() has found no memory.
Outcome VerbsTransport::why_unregistered(std::uint32_t key) const {
  const auto known = regions_.find(key);
  return known != regions_.end() && known->second.on_gpu ? Outcome::unsupported : Outcome::bad_key;
}

const std::byte* VerbsTransport::registered(std::uint32_t key, std::uint64_t at, std::uint64_t size, bool write) const {
  const auto known = regions_.find(key);
  if (known == regions_.end() || (write && !known->second.writable) || known->second.on_gpu) return nullptr;
  const ucx::RangeKey range{reinterpret_cast<std::uint64_t>(known->second.address), known->second.size, key};
  return range.holds(at, size) ? reinterpret_cast<const std::byte*>(at) : nullptr;
}

void VerbsTransport::take_carried(VerbsLink& link, Call::Kind kind, Bytes rest) {
  if (link.detour == VerbsLink::Detour::none || !link.peer_received) return fail(link, kNotUnderstood);
  if (kind == Call::Kind::carried) return take_message(link, rest);
  if (kind == Call::Kind::last) return take_last(link);
  DetourHeader piece;
  if (rest.size() < sizeof piece || !ucx::unpack(rest.first(sizeof piece), &piece)) return fail(link, kNotUnderstood);
  const Bytes bytes = rest.subspan(sizeof piece);
  const bool asks = kind == Call::Kind::put || kind == Call::Kind::get;
  if (asks && link.owed.size() >= kOperationsMax) return fail(link, kNotUnderstood);  // it has no more under way
  switch (kind) {
    case Call::Kind::put_begins:
    case Call::Kind::put: {
      const std::byte* to = registered(piece.key, piece.remote, bytes.size(), true);
      if (to == nullptr)
        link.put_ends = why_unregistered(piece.key);
      else if (!bytes.empty())
        std::memcpy(const_cast<std::byte*>(to), bytes.data(), bytes.size());
      if (kind == Call::Kind::put) link.owed.push_back({0, 0, std::exchange(link.put_ends, Outcome::ok)});
      break;
    }
    case Call::Kind::get: {
      const bool good = registered(piece.key, piece.remote, piece.bytes, false) != nullptr || piece.bytes == 0;
      link.owed.push_back(
          {piece.remote, good ? piece.bytes : 0, good ? Outcome::ok : why_unregistered(piece.key), piece.key});
      break;
    }
    default:
      if (piece.outcome > static_cast<std::uint32_t>(Outcome::failed)) return fail(link, kNotUnderstood);
      return take_answer(link, kind, static_cast<Outcome>(piece.outcome), bytes);
  }
  answer_around(link);
}

/// In the order of the questions, so that an answer is the oldest operation's. The peer may ask before this side has
/// chosen its way: then the answers wait for that.
void VerbsTransport::answer_around(VerbsLink& link) {
  if (link.detour != VerbsLink::Detour::on) return;
  for (; !link.owed.empty(); link.owed.pop_front()) {
    VerbsLink::Owed& first = link.owed.front();
    for (; first.bytes > 0; first.bytes -= std::min<std::uint64_t>(first.bytes, kPieceBytes)) {
      if (!has_room_around(link)) return attend_to(link);
      const std::uint64_t size = std::min<std::uint64_t>(first.bytes, kPieceBytes);
      const std::byte* from = registered(first.key, first.remote, size, false);
      if (from == nullptr) {  // it was deregistered meanwhile
        first.outcome = Outcome::bad_key;
        first.bytes = 0;
        break;
      }
      call_around(link, Call::Kind::data, joined({bytes_of(DetourHeader{}), {from, size}}));
      first.remote += size;
    }
    if (!has_room_around(link)) return attend_to(link);
    DetourHeader piece;
    piece.outcome = static_cast<std::uint32_t>(first.outcome);
    call_around(link, Call::Kind::ended, joined({bytes_of(piece)}));
  }
}

void VerbsTransport::take_answer(VerbsLink& link, Call::Kind kind, Outcome outcome, Bytes bytes) {
  if (link.posted == 0) return fail(link, kNotUnderstood);
  Operation& first = link.operations.front();
  if (kind == Call::Kind::data) {
    if (first.code != IBV_WR_RDMA_READ || first.on_gpu || bytes.size() > first.local.length - first.around)
      return fail(link, kNotUnderstood);
    std::memcpy(reinterpret_cast<std::byte*>(first.local.addr) + first.around, bytes.data(), bytes.size());
    first.around += static_cast<std::uint32_t>(bytes.size());
    return;
  }
  end_first_operation(link, first.on_gpu ? Outcome::unsupported : outcome);
  post_around(link);
}

}  // namespace periapt::verbs
