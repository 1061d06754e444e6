// The engine's side of a Worker: progress, and the table of protocols by kind of message.
//
//   worker_impl.cpp  making a worker, its peers, progress, how operations end
//   receive.cpp      what arrives: checks, matching, placement; receives
//   memory.cpp       memory that peers may reach
//   explain.cpp      what was chosen, in words
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "base/platform.h"
#include "machine/ucx-like/context.h"
#include "machine/ucx-like/credit.h"
#include "machine/ucx-like/device_ports.h"
#include "machine/ucx-like/endpoint.h"
#include "machine/ucx-like/header.h"
#include "machine/ucx-like/matching/persistent_receives.h"
#include "machine/ucx-like/matching/posted_receives.h"
#include "machine/ucx-like/matching/unexpected.h"
#include "machine/ucx-like/operation.h"
#include "machine/ucx-like/pool.h"
#include "machine/ucx-like/protocol/protocol.h"
#include "machine/ucx-like/worker.h"

namespace periapt::ucx {

/// Memory of ours that peers may reach.
class Memory {
 public:
  explicit Memory(Ids<Memory>& ids) : ids_(ids) {}
  Memory(const Memory&) = delete;
  ~Memory() {
    if (id != 0) ids_.remove(id);
  }
  std::uint64_t id = 0;
  std::span<std::byte> bytes;
  MemoryKind kind = MemoryKind::host;
  LocalMemory local;

 private:
  Ids<Memory>& ids_;
};

/// Which receive gets which message.
struct Matching {
  PostedReceives posted;
  UnexpectedMessages unexpected;
  PersistentReceives persistent;
  bool serve_again = false;  ///< an unexpected message may have found its persistent receive, or memory
};

struct ActiveMessages {
  std::vector<ActiveHandler> handlers;  ///< by number
  ActiveShortHandler of_short;
  struct Waiting {
    EndpointImpl* from;
    MessageHeader header;
    std::vector<std::byte> extra;
  };
  std::deque<Waiting> waiting;  ///< announced, and not fetched
};

/// Bytes that have come for memory that is not the host's, while they are copied there: of a receive or get, or of a
/// peer's put.
struct Arrival : Completion {
  WorkerImpl* worker = nullptr;
  Operation* operation = nullptr;
  EndpointImpl* put_by = nullptr;
  Buffer bytes;
  std::uint64_t size = 0;
  std::list<Arrival>::iterator at;
};

/// What a worker has of memory that is not the host's.
struct DeviceSide {
  bool asked_for = false;
  std::unique_ptr<DeviceMemory> memory;
  std::list<Arrival> arrivals;
  std::map<std::byte*, LocalMemory> pieces;  ///< that went out from, at devices that want that
  unsigned looks = 0;                        ///< of progress()
};

/// Peers that are gone, and the user's call-backs for them.
struct PeerEvents {
  using Told = std::function<void(PeerId, const std::string&)>;
  std::vector<std::pair<PeerId, std::string>> lost, disconnected;
  Told on_lost, on_disconnected;
  bool empty() const { return lost.empty() && disconnected.empty(); }
  int tell();
};

class WorkerImpl final : public Worker, public Receiver {
 public:
  WorkerImpl(Context& context, PeerId self, ProtocolTable protocols);
  ~WorkerImpl() override;
  Status open();

  PeerId self() const override { return self_; }
  std::vector<std::byte> address() const override;
  Result<Endpoint*> connect(std::span<const std::byte> address) override;
  Endpoint* endpoint(PeerId peer) override;
  RequestPtr tag_receive(std::span<std::byte> into, Tag tag, Tag mask, ReceiveDone done, void* context) override;
  RequestPtr tag_receive_into(MemoryKind kind, std::span<std::byte> into, Tag tag, Tag mask, ReceiveDone done,
                              void* context) override;
  DeviceMemory* device_memory() override;
  /// Of the GPU that memory lies on; empty: the host's.
  std::string folder_of(Place memory);
  void post_persistent(const PersistentReceive& receive) override;
  Probed tag_probe(Tag tag, Tag mask, bool take) override;
  RequestPtr receive_probed(Probed probed, std::span<std::byte> into, ReceiveDone done, void* context,
                            MemoryKind kind) override;
  void on_active(std::uint16_t id, const ActiveHandler& handler) override;
  void on_active_short(const ActiveShortHandler& handler) override { active.of_short = handler; }
  void on_peer_lost(PeerEvents::Told told) override { events.on_lost = std::move(told); }
  void on_peer_disconnected(PeerEvents::Told told) override { events.on_disconnected = std::move(told); }
  Result<MemoryPtr> register_memory(std::span<std::byte> bytes, MemoryKind kind) override;
  std::vector<std::byte> pack_key(const MemoryPtr& memory, std::size_t bytes_max) const override;
  void invalidate(std::span<const std::byte> bytes) override { ports.invalidate(bytes); }
  Buffer allocate(std::uint64_t size) override { return ports.allocate(size); }
  RequestPtr flush(SendDone done, void* context, FlushScope scope) override;
  int progress() override;
  int wait_fd() const override { return ports.wait_fd(); }
  bool arm() override;
  void disarm() override { ports.disarm(); }
  const Counters& counters() const override { return counters_; }
  const std::vector<Device>& devices() const override { return ports.devices(); }
  Status keep_costs() override { return ports.keep_costs(); }
  std::string explain(const Endpoint* endpoint) const override;
  /// For tests: do the sums that it keeps over all peers agree with the peers'?
  bool sums_are_right() const;

  // Receiver
  bool arrived(Link& from, Header header, std::span<const std::byte> payload) override;
  void arrived_owned(Link& from, Header header, Buffer payload) override;
  std::byte* place(Link& from, Header header, std::uint64_t size) override;
  void placed(Link& from) override;
  void link_lost(Link& link, const std::string& reason) override;
  void link_degraded(Link& link) override;
  void link_restored(Link& link) override;

  // ---- operations, for protocols

  PERIAPT_INLINE Operation* begin(Doing doing, SendDone done = nullptr, void* context = nullptr) {
    Operation* operation = operations_.take();
    operation->begin(doing, done, context);
    operation->protocol = nullptr;
    return operation;
  }
  /// An operation that no user holds.
  Operation& begin_internal(Doing doing) {
    Operation& operation = *begin(doing);
    operation.dropped = true;
    return operation;
  }
  /// By which a peer may name it.
  void give_id(Operation& operation) {
    if (operation.id == 0) operation.id = ids_.add(&operation);
  }
  /// The operation that a peer names; nullptr: it has ended, or was never there.
  Operation* operation_of(EndpointImpl& from, std::uint64_t id);
  /// From progress(): the user is told at once.
  void end_now(Operation& operation, Outcome outcome);
  /// From anywhere: the user is told in progress().
  void end_later(Operation& operation, Outcome outcome);
  void mark_ended(Operation& operation, Outcome outcome);
  /// One of the parts that transports have of this operation is done, or the peer has answered.
  void part_completed(Operation& operation, Outcome outcome);
  /// Bytes of it have come.
  void received_part(Operation& operation, std::uint64_t bytes);
  void answered(Operation& operation) {
    operation.awaits_answer = false;
    if (operation.outstanding == 0) part_completed(operation, operation.result);
  }
  /// How long it took to bring a large message.
  static void note_time(Operation& receive, LargeWay way);

  // ---- what arrives, for protocols

  void receive_eager(EndpointImpl& from, const MessageHeader& header, const Payload& payload);
  void receive_announced(EndpointImpl& from, const MessageHeader& header, const Payload& payload);
  void receive_active_short(EndpointImpl& from, std::uint64_t header, std::span<const std::byte> payload);
  static void malformed(Rail& rail, const std::string& what);
  /// Memory for messages that were announced is bounded; one is always allowed.
  bool may_fetch(std::uint64_t size) const;
  void count_received(std::uint64_t bytes) {
    ++counters_.messages_received;
    counters_.bytes_received += bytes;
  }
  /// A receive and its message belong together from now on.
  static void matched(Operation& receive, EndpointImpl& from, const MessageHeader& header);
  /// Where a one-sided message wants to go; nullptr: there it may not.
  Place exposed(std::uint64_t memory, std::uint64_t address, std::uint64_t size) const;
  /// Bytes of a message to memory that is not the host's: of a receive or get that expects them there, or of a put.
  void bring(Operation& operation, std::uint64_t offset, const Payload& payload);
  void bring_put(EndpointImpl& from, Place to, const Payload& payload);
  void grant_emergency_credit();

 private:
  friend class EndpointImpl;
  friend class Operation;

  // worker_impl.cpp
  int look_at_device();
  void drain_busy();
  int tell_ended();
  PERIAPT_INLINE void recycle(Operation& operation) {
    if (PERIAPT_UNLIKELY(operation.state_ != nullptr)) end_state(operation);
    operations_.give(&operation);
  }
  void end_state(Operation& operation);
  PERIAPT_INLINE void tell(Operation& operation) {
    if (operation.receive_done != nullptr) {
      operation.receive_done(operation.context, operation.received());
    } else if (operation.send_done != nullptr) {
      operation.send_done(operation.context, operation.result);
    }
    operation.told = true;
    if (operation.dropped) recycle(operation);
  }
  EndpointImpl& endpoint_of(PeerId peer);

  // receive.cpp
  Rail& rail_of(Link& link);
  bool arrived_other(Link& from, Header bytes, std::span<const std::byte> payload);
  static void begin_receive(Operation& receive, std::span<std::byte> into, Tag mask, ReceiveDone done, void* context);
  RequestPtr receive_apart(std::span<std::byte> into, Tag tag, Tag mask, ReceiveDone done, void* context);
  bool receive_unexpected(Operation& receive, Tag tag, Tag mask);
  void arrived_word(Operation& receive, EndpointImpl& from, const ShortHeader& header,
                    std::span<const std::byte> payload);
  bool arrived_eager(Link& link, Header bytes, std::span<const std::byte> payload);
  void tell_apart(Operation& operation);
  void take_in(Rail& rail, const MessageHeader& header, const Payload& payload);
  Operation* take_posted(Tag tag);
  void complete_receive(Operation& receive, EndpointImpl& from, const MessageHeader& header, const Payload& payload,
                        bool later = false);
  void match_later(Operation& receive, Unexpected& message);
  bool give_to_persistent(const PersistentReceive& receive, EndpointImpl& from, const MessageHeader& header,
                          const Payload& payload);
  Unexpected& keep(EndpointImpl& from, const MessageHeader& header);
  Unexpected& keep(EndpointImpl& from, const MessageHeader& header, const Payload& payload);
  int serve_unexpected();
  bool serve(Unexpected& message);
  void arrived_late(EndpointImpl& from, Unexpected& message);
  PERIAPT_NOINLINE void receive_elsewhere(Operation& receive, EndpointImpl& from, Tag tag, const Payload& payload);
  Buffer room_elsewhere(std::uint64_t size);
  Buffer kept(const Payload& payload);
  Status begin_arrival(Place to, const Payload& payload, Operation* operation, EndpointImpl* put_by);
  void brought(Operation& operation, std::uint64_t bytes, Outcome outcome);
  static void arrived_on_device(Completion& self, Outcome outcome);
  std::byte* place_eager(EndpointImpl& from, Placement& placement);
  void deliver(Operation& operation, Outcome outcome);
  void out_of_memory(EndpointImpl& from, Unexpected& message);

  const PeerId self_;
  Context& context_;
  Counters counters_;

 public:
  const ProtocolTable protocols;
  DevicePorts ports;
  DeviceSide device;
  Matching matching;
  ActiveMessages active;
  PeerEvents events;
  CreditPool credit;           ///< of all peers
  std::uint64_t fetching = 0;  ///< bytes on their way into memory that was allocated for them

 private:
  FlatMap<EndpointImpl*> by_peer_;
  std::vector<std::unique_ptr<EndpointImpl>> endpoints_;
  Pool<RequestState> states_;
  ObjectCache<Operation, WorkerImpl> operations_;
  Ids<Operation> ids_;
  Ids<Memory> memories_;
  std::vector<EndpointImpl*> busy_, draining_;
  std::vector<Operation*> ended_;
};

}  // namespace periapt::ucx
