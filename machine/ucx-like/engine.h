// The inside of the engine: what Worker and Endpoint are made of. The parts, a file each:
//
//   worker.cpp      making a worker, progress, waiting, handing requests and call-backs back
//   endpoint.cpp    rails (links) of a peer, credit, the ordered queues, loss and parting
//   send.cpp        tag sends: inline, copied, lent, handed over, announced
//   receive.cpp     what arrives: checks, dispatch, matching, placement
//   rendezvous.cpp  large messages: get, put, or data messages over all rails
//   active.cpp      active messages
//   one_sided.cpp   registration, keys, put/get/atomics, flush, fence; and their emulation by messages
//   protocols.*     which of the ways is taken, from costs; explain()
//
// Everything belongs to one thread. Call-backs of the user are made when the state is whole again, from progress()
// only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/flat_map.h"
#include "base/platform.h"
#include "machine/ucx-like/context.h"
#include "machine/ucx-like/credit.h"
#include "machine/ucx-like/header.h"
#include "machine/ucx-like/keys.h"
#include "machine/ucx-like/list.h"
#include "machine/ucx-like/matching.h"
#include "machine/ucx-like/pool.h"
#include "machine/ucx-like/protocols.h"
#include "machine/ucx-like/registration.h"
#include "machine/ucx-like/worker.h"

namespace periapt::ucx {

class EndpointImpl;
class WorkerImpl;

/// Bit of MessageHeader::code of an eager message: it changed owner, so its bytes are not the receiver's memory.
inline constexpr std::uint16_t kHandedOver = 1;
/// What a message that came, with so many bytes behind its header, has cost its sender.
inline std::int64_t charge_of(const MessageHeader& header, std::size_t payload) {
  bool handed_over = header.kind == Kind::eager && (header.code & kHandedOver) != 0;
  return kMessageOverhead + (handed_over ? 0 : static_cast<std::int64_t>(payload));
}
/// Bytes that are copied in two words.
inline constexpr std::size_t kFewWords = 16;
/// Data messages of one transfer that are on their way at the same time on one rail.
inline constexpr unsigned kFlightsPerRail = 4;

/// Bytes from malloc.
Buffer allocate_plain(std::uint64_t size);

/// A device of this process, opened for one worker.
struct Port {
  std::unique_ptr<Transport> transport;
  Device device;
  std::unique_ptr<Registrations> registrations;
  unsigned number = 0;  ///< in the worker's address
  WayTimes times;
  bool loopback = false;
  const Capabilities& can() const { return device.can; }
};

struct Rail;

/// Memory of ours that peers may reach.
class Memory {
 public:
  explicit Memory(WorkerImpl& worker) : worker(worker) {}
  Memory(const Memory&) = delete;
  ~Memory();
  WorkerImpl& worker;
  std::uint64_t id = 0;
  std::byte* base = nullptr;
  std::uint64_t size = 0;
  MemoryKind kind = MemoryKind::host;
  std::vector<std::pair<Port*, Registration*>> registered;
};

/// A peer's memory, with the ways that lead there; none: by messages.
class Rkey {
 public:
  Rkey() = default;
  Rkey(const Rkey&) = delete;
  ~Rkey();
  struct Way {
    Rail* rail;
    RemoteKey key;
  };
  EndpointImpl* endpoint = nullptr;
  std::uint64_t memory = 0;
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  std::vector<Way> ways;
  /// The way for a part of a transfer: the one that is free first; nullptr: no device can do it.
  Way* way_for(bool is_put, bool split);
  bool covers(std::uint64_t address, std::uint64_t bytes) const {
    return address >= base && bytes <= size && address - base <= size - bytes;
  }
};

/// What an operation needs that goes beyond one small message: made when it does.
struct Course {
  std::uint64_t moved = 0;     ///< bytes given to transports, or received
  std::uint64_t reserved = 0;  ///< bytes received or on their way into it: never more than the size
  std::uint64_t their_id = 0;
  std::uint64_t remote = 0;       ///< address at the peer
  LargeWay way = LargeWay::data;  ///< of a large message, once its receiver is known
  std::uint8_t stage = 0;         ///< how far an operation of several steps is
  std::uint16_t code = 0;         ///< handler of an active message; atomic operation
  std::uint32_t flushed = 0;      ///< rails that were asked to flush, a bit each
  std::uint64_t began_ns = 0;     ///< when a large message was matched; 0: don't measure it
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
  std::int64_t activity = 0;     ///< of the endpoint, before a flush was sent
  Until until = Until::arrived;  ///< what a flush waits for
  void* value = nullptr;         ///< where an atomic's result goes
  Buffer buffer;                 ///< owned bytes: of a send, or what a standing receive receives into
  std::vector<std::byte> extra;  ///< user's header of an active message; keys of the peer
  const Standing* standing = nullptr;
  std::shared_ptr<Rkey> rkey;
  std::vector<std::pair<Port*, Registration*>> registered;  ///< the local memory, at devices that want that
};

/// What a worker does for somebody; the Request that he holds. Of an operation that receives a small message three
/// lines are touched, and no Course is made.
struct alignas(platform::kCacheLine) Progress : Request {
  enum class Doing : std::uint8_t {
    send,
    sync_send,
    active_send,
    receive,
    standing_receive,
    active_receive,
    put,
    get,
    atomic,
    flush,
    fence,
    close,
    serve_get
  };
  bool told = false;             ///< the user's call-back was made
  bool dropped = false;          ///< nobody holds the RequestPtr
  bool within_call = false;      ///< the call that began it has not returned: it looks at the outcome itself
  bool posted = false;           ///< a receive that waits for its message
  bool announced = false;        ///< a send whose announcement went out
  bool all_parts_given = false;  ///< every part of it was accepted by a transport
  bool counted = false;          ///< among the open one-sided operations of its peer
  bool wants_answer = false;     ///< it ends when the peer has said so
  bool answered = false;
  Outcome result = Outcome::ok;
  Doing doing = Doing::send;
  unsigned outstanding = 0;   ///< completions that transports owe
  std::byte* into = nullptr;  ///< of what is received
  std::uint64_t size = 0;     ///< of the message; of a posted receive: of the room

  /// Before it begins: as it was made, but for what it received, which is written before its end.
  PERIAPT_INLINE void begin(Doing what) {
    has_ended_ = told = dropped = within_call = posted = announced = all_parts_given = counted = false;
    wants_answer = answered = false;
    result = Outcome::ok;
    doing = what;
    outstanding = 0;
    into = nullptr;
    size = 0;
  }
};
static_assert(sizeof(Progress) == platform::kCacheLine, "all that most operations need, in a line");

struct WhenDone {
  Tag mask = 0;  ///< of a posted receive
  SendDone send_done = nullptr;
  ReceiveDone receive_done = nullptr;
  void* context = nullptr;
};

struct OfEndpoint;
struct InQueue;
class Operation final : public Progress,
                        public MatchNode,
                        public WhenDone,
                        public Completion,
                        public Hook<OfEndpoint>,
                        public Hook<InQueue> {
 public:
  explicit Operation(WorkerImpl& worker) : worker(worker) { done = &completed; }

  bool take_back();
  void drop();
  bool is_one_sided() const { return doing == Doing::put || doing == Doing::get || doing == Doing::atomic; }
  /// A receive that the engine made itself, into memory that was allocated for it.
  bool is_internal() const { return doing == Doing::standing_receive || doing == Doing::active_receive; }
  /// A transport has done one of the parts.
  static void completed(Completion& self, Outcome outcome);

  bool has_ended() const { return has_ended_; }
  void set_ended(Outcome outcome) {
    has_ended_ = true;
    result = received_.outcome = outcome;
  }
  Received& got() { return received_; }

  /// Made at the first call.
  Course& course() { return PERIAPT_LIKELY(course_ != nullptr) ? *course_ : make_course(); }
  const Course* known_course() const { return course_; }
  bool owns_bytes() const { return course_ != nullptr && course_->buffer; }

  WorkerImpl& worker;
  EndpointImpl* endpoint = nullptr;   ///< the peer; of a receive: once it is matched
  std::uint64_t id = 0;               ///< by which the peer names it; 0: it doesn't
  Tag tag = 0;                        ///< of a send
  const std::byte* source = nullptr;  ///< of what is sent

 private:
  friend class WorkerImpl;
  PERIAPT_NOINLINE Course& make_course();
  /// After its last operation, of which nothing is left that is not written here or by whoever begins with it.
  PERIAPT_INLINE void begin(Doing what, SendDone done, void* told) {
    Progress::begin(what);
    send_done = done;
    receive_done = nullptr;
    context = told;
    endpoint = nullptr;
    source = nullptr;
  }

  Course* course_ = nullptr;
};

/// A message that no receive was there for.
struct InOrder;
struct Unexpected final : MatchNode, Hook<InOrder>, Hook<OfEndpoint> {
  EndpointImpl* from = nullptr;
  MessageHeader header;
  Buffer bytes;                  ///< of an eager message; of an announcement: keys
  bool handed_over = false;      ///< `bytes` are the sender's, who gave them up, and not memory of the engine's
  bool arriving = false;         ///< its bytes are still on their way
  bool probed = false;           ///< taken out of the matching
  Operation* receive = nullptr;  ///< found it while it was arriving
  static constexpr std::size_t kFew = 64;
  std::byte few[kFew];  ///< where `bytes` lie when they are few
  std::uint64_t size() const { return header.size; }
};

/// Where bytes that are on their way go.
struct Placement {
  MessageHeader header;
  Buffer bytes;  ///< ours, when they don't go to their place directly
  std::uint64_t size = 0;
  Operation* operation = nullptr;  ///< whose memory it is
  Unexpected* unexpected = nullptr;
  const Standing* standing = nullptr;
  bool direct = false;  ///< memory that a put goes to: nothing is left to do
};

/// One way to a peer.
struct Rail {
  EndpointImpl* endpoint = nullptr;
  Port* port = nullptr;
  Link* link = nullptr;
  std::vector<std::byte> address;  ///< theirs; empty: they came to us
  int their_port = -1;             ///< number of their device; -1: not known
  double load_ns = 0;  ///< given to it so far, in time that it takes: the next part goes where this is least
  Placement placement;
  bool one_sided = false;  ///< it has had one-sided operations
  bool unusable = false;   ///< could not be connected, or was lost
};

/// A message that somebody waits for, kept while its link has no room.
struct Control {
  MessageHeader header;
  std::vector<std::byte> payload;
};

class EndpointImpl final : public Endpoint {
 public:
  EndpointImpl(WorkerImpl& worker, PeerId peer);
  ~EndpointImpl() override;

  PeerId peer() const override { return peer_; }
  Worker& worker() const override;
  const std::string& failure() const override { return failure_; }

  RequestPtr tag_send(std::span<const std::byte> bytes, Tag tag, SendDone done, void* context) override;
  bool tag_send_now(std::span<const std::byte> bytes, Tag tag) override;
  void tag_send_owned(Buffer bytes, Tag tag) override;
  RequestPtr tag_send_sync(std::span<const std::byte> bytes, Tag tag, SendDone done, void* context) override;
  RequestPtr active_send(std::uint16_t id, std::span<const std::byte> header, std::span<const std::byte> payload,
                         SendDone done, void* context) override;
  Result<RkeyPtr> unpack(std::span<const std::byte> packed_key) override;
  RequestPtr put(std::span<const std::byte> local, std::uint64_t remote, const RkeyPtr& key, SendDone done,
                 void* context) override;
  RequestPtr get(std::span<std::byte> local, std::uint64_t remote, const RkeyPtr& key, SendDone done,
                 void* context) override;
  RequestPtr fetch_op(AtomicOp op, std::size_t width, std::uint64_t operand, std::uint64_t compare,
                      std::uint64_t remote, const RkeyPtr& key, void* result, SendDone done, void* context) override;
  RequestPtr flush(SendDone done, void* context, Until until) override;
  void fence() override;
  RequestPtr close(bool at_once, SendDone done, void* context) override;
  std::uint64_t waiting_messages() const override { return waiting_messages_; }
  std::uint64_t waiting_bytes() const override { return waiting_bytes_; }

  /// Where credit is, for those who check that none is lost: ours at the peer, and of what it was granted here, how
  /// much is about to go back and how much is held by messages that were not received yet.
  struct CreditBook {
    std::int64_t credit, granted, owed, held;
  };
  CreditBook credit_book();

 private:
  friend class WorkerImpl;
  friend class Operation;

  // endpoint.cpp
  void know(Port& port, unsigned their_port, std::vector<std::byte> address);
  Rail& rail_for(Port& port);
  void adopt(Port& port, Link& link);
  void enter(Rail& rail, Link& link);
  bool open();
  bool connect_rail(Rail& rail);
  void connect_all();
  void set_fast();
  bool drain();
  bool drain_sends();
  void busy();
  Accepted transmit(Rail& rail, const MessageHeader& header, std::span<const std::byte> payload);
  void send_control(const MessageHeader& header, std::span<const std::byte> payload = {});
  bool try_control(MessageHeader header, std::span<const std::byte> payload);
  bool drain_control();
  void say(Kind kind, std::uint64_t id);
  void peer_out_of_credit();
  void grow_window(std::uint64_t size);
  void add_credit(std::uint32_t bytes);
  void consume_credit(std::int64_t charge) {
    if (credit_.consume_credit(charge)) return_credit();
  }
  /// Can a small message that brings so much credit be received with nothing else to follow from it?
  PERIAPT_INLINE bool receives_quietly(std::uint32_t credit, std::uint64_t bytes) const {
    return credit_.consumes_quietly(bytes) && (credit == 0 || sends_.empty());
  }
  PERIAPT_INLINE void receive_quietly(std::uint32_t credit, std::uint64_t bytes) {
    credit_.consume_credit(kMessageOverhead + static_cast<std::int64_t>(bytes));
    if (credit != 0) credit_.add_credit(credit);
  }
  PERIAPT_NOINLINE void return_credit();
  void fail(const std::string& reason, bool parted = false);
  void close_links();
  void revive();

  // send.cpp
  enum class Step : std::uint8_t { gone, no_room, no_credit };
  bool send_fast(std::span<const std::byte> bytes, Tag tag);
  Operation* begin_send(Operation::Doing doing, std::span<const std::byte> bytes, Tag tag, SendDone done = nullptr,
                        void* context = nullptr);
  RequestPtr begin(Operation* operation);
  RequestPtr ended_within_call(RequestPtr request);
  Step try_send(Operation& operation);
  Step try_eager(Operation& operation);
  Step try_announce(Operation& operation);
  bool has_credit(std::int64_t charge);
  bool hands_over(const Operation& operation) const;
  Step after(Accepted answer, Operation& operation, std::int64_t charge);
  void gone(Operation& operation);
  void unqueue(Operation& operation);

  // active.cpp
  bool active_fast(std::uint16_t id, std::span<const std::byte> user_header, std::span<const std::byte> payload);
  Step try_active(Operation& operation);
  Accepted send_payload(const MessageHeader& header, Operation& operation);
  Accepted send_gathered(const MessageHeader& header, Operation& operation);

  // rendezvous.cpp
  void begin_fetch(Operation& receive, const MessageHeader& announce, std::span<const std::byte> keys);
  bool fetch_by_get(Operation& receive, std::span<const std::byte> keys);
  void ask_for(Operation& receive);
  bool another_way(Operation& receive);
  void cleared(Operation& send, const MessageHeader& clear, std::span<const std::byte> keys);
  Step push(Operation& operation);
  Step push_messages(Operation& operation, Kind kind);
  Step push_get(Operation& receive);
  Step push_put(Operation& send);
  Step push_parts(Operation& operation, bool is_put);
  Accepted send_part(Rail& rail, const MessageHeader& header, std::span<const std::byte> payload, Operation& operation);
  Rail& next_rail(std::uint64_t bytes);
  std::uint64_t part_of(std::uint64_t left, std::uint64_t most, std::size_t rails) const;
  std::vector<KeyEntry> expose(Operation& operation, std::byte* address, bool for_get);
  std::shared_ptr<Rkey> ways_to(const std::vector<KeyEntry>& keys, bool (*can)(const Capabilities&));

  // one_sided.cpp
  std::byte* mapped(Operation::Doing doing, const RkeyPtr& key, std::uint64_t remote, std::uint64_t size);
  Operation* begin_transfer(Operation::Doing doing, std::uint64_t size, std::uint64_t remote, const RkeyPtr& key,
                            SendDone done, void* context);
  RequestPtr begin_one_sided(Operation* operation);
  /// Grows with each message and each put by message that goes out.
  std::int64_t activity() const { return credit_.spent() + puts_by_message_; }
  bool settled(Until until) const;
  bool handed_over() const;
  bool may_reach(Operation& operation) const;
  bool drain_one_sided();
  Step push_one_sided(Operation& operation);
  Step push_transfer(Operation& operation);
  Step push_put_messages(Operation& operation);
  Step push_atomic(Operation& operation);
  Step push_flush(Operation& operation);
  Step try_flush(Operation& operation);
  Step flush_rails(Operation& operation);
  const MemoryHandle* local_handle(Operation& operation, Port& port);
  void advance_close();

  // explain.cpp
  std::string explain() const;

  // ---- hot: what tag_send() and the arrival of a small message touch
  std::int64_t fast_max_ = -1;  ///< largest message that goes out at once; -1: none, look closer
  Transport* transport_ = nullptr;
  Link* link_ = nullptr;
  Counters* counters_;
  CreditWindow credit_;

  WorkerImpl& worker_;
  const PeerId peer_;
  std::int64_t puts_by_message_ = 0;
  std::int64_t settled_ = -kFirstWindow;  ///< activity() that the peer has said to be done
  std::int64_t put_at_ = -kFirstWindow;   ///< activity() after the latest put by message
  Rail* rail_ = nullptr;                  ///< the one that ordered messages go over
  std::vector<std::unique_ptr<Rail>> rails_;
  Plan plan_;
  std::string failure_;
  std::string reasons_;  ///< why rails could not be connected
  bool parted_ = false;  ///< closed by us or by them
  bool closing_ = false;
  bool is_busy_ = false;  ///< on the worker's list of those with something to send
  std::deque<Control> control_;
  List<Operation, InQueue> sends_;
  List<Operation, InQueue> bulk_;
  List<Operation, InQueue> one_sided_;
  Operation* close_ = nullptr;
  unsigned open_one_sided_ = 0;  ///< begun and not ended
  bool put_refused_ = false;     ///< they had no memory for a put of ours; the next flush says so
  bool unflushed_ = false;       ///< a device has had one-sided operations since it was flushed
  List<Operation, OfEndpoint> active_;
  List<Unexpected, OfEndpoint> unexpected_;
  std::uint64_t waiting_messages_ = 0;
  std::uint64_t waiting_bytes_ = 0;
};

class WorkerImpl final : public Worker, public Receiver {
 public:
  WorkerImpl(Context& context, PeerId self);
  ~WorkerImpl() override;
  Status open_ports();

  PeerId self() const override { return self_; }
  std::vector<std::byte> address() const override;
  Result<Endpoint*> connect(std::span<const std::byte> address) override;
  Endpoint* endpoint(PeerId peer) override;
  RequestPtr tag_receive(std::span<std::byte> into, Tag tag, Tag mask, ReceiveDone done, void* context) override;
  void tag_serve(const Standing& standing) override;
  Probed tag_probe(Tag tag, Tag mask, bool take) override;
  RequestPtr receive_probed(Probed probed, std::span<std::byte> into, ReceiveDone done, void* context) override;
  void on_active(std::uint16_t id, const ActiveHandler& handler) override;
  void on_peer_lost(std::function<void(PeerId, const std::string&)> told) override { on_lost_ = std::move(told); }
  void on_peer_parted(std::function<void(PeerId, const std::string&)> told) override { on_parted_ = std::move(told); }
  Result<MemoryPtr> register_memory(std::span<std::byte> bytes, MemoryKind kind) override;
  std::vector<std::byte> pack_key(const MemoryPtr& memory, std::size_t bytes_max) const override;
  void invalidate(std::span<const std::byte> bytes) override;
  Buffer allocate(std::uint64_t size) override;
  RequestPtr flush(SendDone done, void* context, Until until) override;
  int progress() override;
  int wait_fd() const override;
  bool arm() override;
  void disarm() override;
  const Counters& counters() const override { return counters_; }
  const std::vector<Device>& devices() const override { return devices_; }
  Status keep_costs() override;
  std::string explain(const Endpoint* endpoint) const override;
  /// Do the sums that it keeps over all peers agree with the peers'?
  bool sums_are_right() const;

  // Receiver
  bool arrived(Link& from, Header header, std::span<const std::byte> payload) override;
  void arrived_owned(Link& from, Header header, Buffer payload) override;
  std::byte* place(Link& from, Header header, std::uint64_t size) override;
  void placed(Link& from) override;
  void link_lost(Link& link, const std::string& reason) override;

 private:
  friend class EndpointImpl;
  friend class Operation;
  friend class Memory;

  /// Bytes that arrived: lying in the transport's memory, or ours to keep.
  struct Payload {
    std::span<const std::byte> bytes;
    Buffer* owned = nullptr;
  };

  // worker.cpp
  int tell_of_peers();
  PERIAPT_INLINE Operation* begin(Operation::Doing doing, SendDone done = nullptr, void* context = nullptr) {
    Operation* operation = operations_.take();
    operation->begin(doing, done, context);
    return operation;
  }
  PERIAPT_INLINE void recycle(Operation& operation) {
    if (PERIAPT_UNLIKELY(operation.course_ != nullptr)) end_course(operation);
    operations_.give(&operation);
  }
  void end_course(Operation& operation);
  static void leave(Course& course);
  void poll(Transport& transport);
  void end_now(Operation& operation, Outcome outcome);
  void end_later(Operation& operation, Outcome outcome);
  void mark_ended(Operation& operation, Outcome outcome);
  PERIAPT_INLINE void tell(Operation& operation) {
    if (operation.receive_done != nullptr) {
      operation.receive_done(operation.context, operation.received());
    } else if (operation.send_done != nullptr) {
      operation.send_done(operation.context, operation.result);
    }
    operation.told = true;
    if (operation.dropped) recycle(operation);
  }
  void part_completed(Operation& operation, Outcome outcome);
  EndpointImpl& endpoint_of(PeerId peer);
  Port* port_of(Transport& transport);

  // receive.cpp
  Rail& rail_of(Link& link);
  bool arrived_other(Link& from, Header bytes, std::span<const std::byte> payload);
  static void begin_receive(Operation& receive, std::span<std::byte> into, Tag mask, ReceiveDone done, void* context);
  RequestPtr receive_apart(std::span<std::byte> into, Tag tag, Tag mask, ReceiveDone done, void* context);
  bool receive_unexpected(Operation& receive, Tag tag, Tag mask);
  void arrived_word(Operation& receive, EndpointImpl& from, const ShortHeader& header,
                    std::span<const std::byte> payload);
  bool arrived_eager(Link& from, Header bytes, std::span<const std::byte> payload);
  void tell_apart(Operation& operation);
  bool arrived_short(EndpointImpl& from, Header bytes, std::span<const std::byte> payload);
  bool serve_short(EndpointImpl& from, const ShortHeader& header, std::span<const std::byte> payload);
  void take_in(Rail& rail, const MessageHeader& header, Payload payload);
  void eager(EndpointImpl& from, const MessageHeader& header, Payload payload);
  void announced(EndpointImpl& from, const MessageHeader& header, Payload payload);
  void answered(EndpointImpl& from, const MessageHeader& header, Payload payload);
  void complete_receive(Operation& receive, EndpointImpl& from, const MessageHeader& header, Payload payload,
                        bool later = false);
  void match_later(Operation& receive, Unexpected& message);
  bool give_to_standing(const Standing& standing, EndpointImpl& from, const MessageHeader& header, Payload payload);
  const Standing* standing_for(Tag tag) const;
  Unexpected& keep(EndpointImpl& from, const MessageHeader& header);
  Unexpected& keep(EndpointImpl& from, const MessageHeader& header, Payload payload);
  Unexpected* find_unexpected(Tag tag, Tag mask);
  void take_out(Unexpected& message);
  void forget(Unexpected& message);
  int serve_unexpected();
  void acknowledge(EndpointImpl& to, const MessageHeader& header);
  Operation* operation_of(EndpointImpl& from, std::uint64_t id);
  void received_part(Operation& operation, std::uint64_t bytes);
  void note_time(Operation& receive);
  unsigned allowed_ways(const Plan& plan) const { return forced_ways_ != 0 ? forced_ways_ & plan.ways : plan.ways; }
  void read_costs();
  std::string unused_devices() const;
  static bool fits(Operation& operation, std::uint64_t offset, std::uint64_t size) {
    std::uint64_t reserved = operation.course().reserved;
    return offset <= operation.size && size <= operation.size - offset && size <= operation.size - reserved;
  }
  void count_received(std::uint64_t bytes) {
    ++counters_.messages_received;
    counters_.bytes_received += bytes;
  }
  void matched(Operation& receive, EndpointImpl& from, const MessageHeader& header);
  void arrived_late(EndpointImpl& from, Unexpected& message);
  std::byte* place_eager(EndpointImpl& from, Placement& placement);
  std::byte* place_put(EndpointImpl& from, const MessageHeader& header, std::uint64_t size);
  bool serve(Unexpected& message);
  bool may_fetch(std::uint64_t size) const;
  void deliver(Operation& operation, Outcome outcome);
  void grant_emergency_credit();
  void out_of_memory(EndpointImpl& from, Unexpected& message);
  void active(Rail& rail, const MessageHeader& header, Payload payload);
  void no_handler(EndpointImpl& from, const MessageHeader& header, std::size_t payload);
  void fetch_active();
  void deliver_active(Operation& operation, Buffer payload, Outcome outcome);
  void one_sided(EndpointImpl& from, const MessageHeader& header, Payload payload);
  std::byte* exposed(const MessageHeader& header, std::uint64_t size);
  void serve_get(EndpointImpl& from, const MessageHeader& header);
  void serve_atomic(EndpointImpl& from, const MessageHeader& header, std::span<const std::byte> payload);
  void malformed(Rail& rail, const std::string& what);

  Context& context_;
  const PeerId self_;
  std::vector<Device> devices_;
  bool tried_to_keep_costs_ = false;
  Counters counters_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::vector<Transport*> polled_;  ///< those that progress() asks: all but the loopback before its first use
  FlatMap<EndpointImpl*> by_peer_;
  std::vector<std::unique_ptr<EndpointImpl>> endpoints_;
  Pool<Course> courses_;
  Kept<Operation, WorkerImpl> operations_;
  Pool<Unexpected> unexpecteds_;
  Ids<Operation> ids_;
  Ids<Memory> memories_;
  PostedReceives posted_;
  MatchTable unexpected_by_tag_;
  List<Unexpected, InOrder> unexpected_;
  std::vector<std::unique_ptr<Standing>> standing_;
  std::vector<ActiveHandler> handlers_;
  struct WaitingActive {
    EndpointImpl* from;
    MessageHeader header;
    std::vector<std::byte> extra;
  };
  std::deque<WaitingActive> waiting_active_;
  std::vector<EndpointImpl*> busy_, draining_;
  std::vector<Operation*> ended_;
  std::vector<std::pair<PeerId, std::string>> lost_;
  std::vector<std::pair<PeerId, std::string>> parted_;
  std::function<void(PeerId, const std::string&)> on_lost_;
  std::function<void(PeerId, const std::string&)> on_parted_;
  CreditPool credit_;  ///< of all peers
  std::uint64_t arrivals_ = 0;
  std::uint64_t fetching_ = 0;  ///< bytes on their way into memory that was allocated for them
  unsigned forced_ways_ = 0;    ///< +rendezvous; 0: free choice
  mutable int epoll_ = -1;      // around the descriptors of several transports
  mutable int wait_fd_ = -1;
  mutable bool waits_looked_up_ = false;
  bool serve_again_ = false;  ///< an unexpected message may have found its standing receive
};

}  // namespace periapt::ucx
