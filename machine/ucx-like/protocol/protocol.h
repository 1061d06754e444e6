// Protocol: one way in which bytes get to a peer or from it, as a row of a table.
//
// A row says what it can do (uses, memory kinds, cost) and does it (start, advance, finish, abort, on_message). The
// engine chooses the row that costs least for what is asked, and hands each message that comes in to the row that its
// kind belongs to; it knows no row by name. One more protocol is one more file in this folder and one more row in
// table.cpp, or in the table that a worker is made with.
//
// All functions are called on the worker's thread. start() and advance() may be called from inside a user's call, so
// they make no call-back of his: what ends in them ends by WorkerImpl::end_later().
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "machine/ucx-like/header.h"
#include "machine/ucx-like/plan.h"
#include "machine/ucx-like/transport.h"

namespace periapt::ucx {

class EndpointImpl;
class Operation;
class Rkey;
class WorkerImpl;
struct Rail;

/// What a protocol is chosen for. `fetch`: a receiver brings a large message that was announced to it.
enum class Use : std::uint8_t { send, active_send, fetch, put, get, atomic, none };
inline constexpr unsigned kUses = static_cast<unsigned>(Use::none);
constexpr unsigned bit_of(Use use) { return 1u << static_cast<unsigned>(use); }
constexpr std::uint64_t bit_of(MessageKind kind) { return std::uint64_t{1} << static_cast<unsigned>(kind); }

/// What is asked of the table.
struct Demand {
  Use use = Use::send;
  std::uint64_t size = 0;              ///< bytes
  MemoryKind kind = MemoryKind::host;  ///< of the memory on this side
  bool copies = false;                 ///< DeviceMemory is there for kinds that are not the host's
  bool described = false;              ///< of a fetch: its sender has described memory that is not the host's
  bool owned = false;                  ///< the engine owns the bytes
  const WayTimes* times = nullptr;     ///< of a fetch: what was measured
  unsigned ways = 0;                   ///< of a fetch: those that devices have and the user allows
  const Rkey* key = nullptr;           ///< of one-sided operations
};

/// Is memory of that kind on this side of no use, since nothing can copy it?
constexpr bool is_out_of_reach(const Demand& demand) { return demand.kind != MemoryKind::host && !demand.copies; }
/// Of a fetch: is one of its two memories not the host's? What was measured says nothing about those.
constexpr bool is_between_kinds(const Demand& demand) { return demand.described || demand.kind != MemoryKind::host; }

/// What an operation of an ordered queue did: left the queue; waits for room, which a later progress() may have; waits
/// for something that will be told.
enum class Step : std::uint8_t { gone, no_room, no_credit };

/// Bytes that arrived: lying in the transport's memory, or ours to keep.
struct Payload {
  std::span<const std::byte> bytes;
  Buffer* owned = nullptr;
};

struct Protocol {
  static constexpr double kNever = -1;
  static constexpr unsigned kAnyKind = ~0u;

  const char* name;
  unsigned uses = 0;                                 ///< bits of Use
  unsigned memory_kinds = bit_of(MemoryKind::host);  ///< bits of MemoryKind: of the memory on this side
  /// ns beside what every protocol of that use takes; kNever: it can't. The least is taken, of equals the first.
  double (*cost)(const Demand& demand, const Plan& plan) = nullptr;
  /// One step on with an operation that chose this row: of a send, in the ordered queue until `gone`; of a fetch, when
  /// it has been matched (the answer is not looked at).
  Step (*start)(EndpointImpl& endpoint, Operation& operation) = nullptr;
  /// More of it, of what put itself into the endpoint's bulk queue.
  Step (*advance)(EndpointImpl& endpoint, Operation& operation) = nullptr;
  /// All parts of it are done, and the peer has said what it had to: before the operation ends.
  void (*finish)(EndpointImpl& endpoint, Operation& operation) = nullptr;
  /// A device has failed it. True: the operation goes on in another way.
  bool (*abort)(EndpointImpl& endpoint, Operation& operation) = nullptr;
  std::uint64_t messages =
      0;  ///< bits of MessageKind: those that on_message() gets. Of two rows with a kind, the later one does.
  /// Everything in the header and the payload comes from outside.
  using OnMessage = void (*)(WorkerImpl& worker, Rail& from, const MessageHeader& header, const Payload& payload);
  OnMessage on_message = nullptr;
  /// Memory may have become free for what it keeps waiting.
  void (*retry)(WorkerImpl& worker) = nullptr;
  /// For explain(): what it does, and why it was chosen. nullptr: it isn't mentioned.
  std::string (*describe)(const Plan& plan) = nullptr;
};

class ProtocolTable {
 public:
  /// The engine's own.
  static ProtocolTable standard();

  void add(const Protocol& row);
  const std::vector<const Protocol*>& rows() const { return rows_; }
  /// The row that costs least; nullptr: none can do it.
  const Protocol* choose(const Demand& demand, const Plan& plan) const;
  /// For which sizes which row is chosen: each with the largest size, in ascending order.
  struct Range {
    std::uint64_t up_to;
    const Protocol* row;
  };
  std::vector<Range> ranges(Demand demand, const Plan& plan) const;
  /// The row that a message of that kind belongs to; nullptr: none.
  const Protocol* of(MessageKind kind) const { return by_kind_[static_cast<std::size_t>(kind)]; }
  /// What that row does with it: the same, with one look less for each message.
  Protocol::OnMessage on_message(MessageKind kind) const { return on_message_[static_cast<std::size_t>(kind)]; }

 private:
  std::vector<const Protocol*> rows_;
  std::array<std::vector<const Protocol*>, kUses> by_use_;
  static constexpr std::size_t kKinds = static_cast<std::size_t>(kLastKind) + 1;
  std::array<const Protocol*, kKinds> by_kind_{};
  std::array<Protocol::OnMessage, kKinds> on_message_{};
};

}  // namespace periapt::ucx
