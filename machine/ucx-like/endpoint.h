// The engine's side of an Endpoint: a peer's credit, rails and queues, and what is said to it. How bytes travel is the
// business of protocols (protocol/protocol.h), which use what is public here.
//
//   endpoint.cpp   connecting, the queues, credit, control messages, loss
//   send.cpp       sends that go out at once, and the order of all others
//   one_sided.cpp  put, get, atomics, flush and fence: within the call, or into their queue
//   explain.cpp    what was chosen, in words
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/platform.h"
#include "machine/ucx-like/credit.h"
#include "machine/ucx-like/header.h"
#include "machine/ucx-like/list.h"
#include "machine/ucx-like/operation.h"
#include "machine/ucx-like/plan.h"
#include "machine/ucx-like/protocol/protocol.h"
#include "machine/ucx-like/rails.h"
#include "machine/ucx-like/worker.h"

namespace periapt::ucx {

class WorkerImpl;

/// What is known of the completion of one-sided operations and of messages at a peer.
struct RemoteCompletion {
  unsigned open = 0;         ///< one-sided operations that have begun and not ended
  bool put_refused = false;  ///< the peer had no memory for a put of ours; the next flush says so
  std::int64_t puts_by_message = 0;
  std::int64_t settled = -kFirstWindow;  ///< activity() that the peer has said to be done
  std::int64_t put_at = -kFirstWindow;   ///< activity() after the latest put by message
  unsigned copying = 0;                  ///< puts of the peer's whose bytes are on their way into a GPU's memory
  std::vector<std::uint64_t> flushes;    ///< of the peer's, that wait for these
};

class EndpointImpl final : public Endpoint {
 public:
  EndpointImpl(WorkerImpl& worker, PeerId peer);
  ~EndpointImpl() override;

  PeerId peer() const override { return peer_; }
  Worker& worker() const override;
  const std::string& failure() const override { return failure_; }

  RequestPtr tag_send(std::span<const std::byte> bytes, Tag tag, SendDone done, void* context) override;
  RequestPtr tag_send_from(MemoryKind kind, std::span<const std::byte> bytes, Tag tag, SendDone done, void* context,
                           bool sync) override;
  void tag_send_owned(Buffer bytes, Tag tag) override;
  RequestPtr tag_send_sync(std::span<const std::byte> bytes, Tag tag, SendDone done, void* context) override;
  RequestPtr active_send(std::uint16_t id, std::span<const std::byte> header, std::span<const std::byte> payload,
                         SendDone done, void* context) override;
  bool active_send_short(std::uint64_t header, std::span<const std::byte> payload) override;
  Result<RkeyPtr> unpack(std::span<const std::byte> packed_key) override;
  RequestPtr put(std::span<const std::byte> local, std::uint64_t remote, const RkeyPtr& key, SendDone done,
                 void* context, MemoryKind kind) override;
  RequestPtr get(std::span<std::byte> local, std::uint64_t remote, const RkeyPtr& key, SendDone done, void* context,
                 MemoryKind kind) override;
  RequestPtr fetch_op(AtomicOp op, std::size_t width, std::uint64_t operand, std::uint64_t compare,
                      std::uint64_t remote, const RkeyPtr& key, void* result, SendDone done, void* context) override;
  RequestPtr flush(SendDone done, void* context, FlushScope scope) override;
  void fence() override;
  RequestPtr close(bool at_once, SendDone done, void* context) override;
  std::uint64_t waiting_messages() const override { return waiting_messages_; }
  std::uint64_t waiting_bytes() const override { return waiting_bytes_; }
  std::string explain() const;

  /// Where credit is, for tests that check that none is lost: ours at the peer, and of what it was granted here, how
  /// much is about to go back and how much is held by messages that were not received yet.
  struct CreditBook {
    std::int64_t credit, granted, owed, held;
  };
  CreditBook credit_book();

  // ---- for protocols

  /// Connects on first use. False: the peer cannot be reached, and has failed.
  bool open();
  /// The peer is lost, or has been left in an orderly way.
  void fail(const std::string& reason, bool disconnected = false);
  /// Something may be sent in the next progress().
  void busy();

  /// Is there credit for a message that costs so much? Asks for more if there is none.
  bool has_credit(std::int64_t charge);
  /// The peer's messages of that charge were received.
  void consume_credit(std::int64_t charge) {
    if (credit.consume_credit(charge)) return_credit();
  }
  void add_credit(std::uint32_t bytes);
  void peer_out_of_credit();
  /// A message of that size was announced for want of a window.
  void grow_window(std::uint64_t size);

  /// Small messages that are not held back by credit, in their own order.
  void send_control(const MessageHeader& header, std::span<const std::byte> payload = {});
  void say(MessageKind kind, std::uint64_t id);
  bool try_control(MessageHeader header, std::span<const std::byte> payload);
  bool has_control() const { return !control_.empty(); }
  /// A message of a few hundred bytes at most, by whatever the device has.
  static Accepted transmit(Rail& rail, const MessageHeader& header, std::span<const std::byte> payload);
  /// What follows from the answer of a transport to a message of the ordered queue that carried `returned` credit.
  Step after(Accepted answer, Operation& operation, std::int64_t charge, std::uint32_t returned);
  /// Out of the ordered queue.
  void unqueue(Operation& operation);
  /// Out of the queue that it waits in, of whichever kind. False: some of it has gone out.
  bool withdraw(Operation& operation);
  /// Into the queue of operations that move in parts, beside the ordered one.
  void queue_bulk(Operation& operation);
  /// Into the ordered queue, behind all that is there.
  void queue_ordered(Operation& operation);
  bool has_ordered() const { return !sends_.empty(); }
  /// Among the operations that end when the peer is lost.
  void own(Operation& operation) { active_.push_back(&operation); }
  void own(Unexpected& message) { unexpected_.push_back(&message); }
  /// A receive has an announced message: the protocol that costs least brings it.
  void begin_fetch(Operation& receive, const MessageHeader& announce, std::span<const std::byte> keys);

  /// Grows with each message and each put by message that goes out.
  std::int64_t activity() const { return credit.spent() + remote.puts_by_message; }
  /// Is everything complete, as far as this side knows already: at the peer, or (sends) out of here?
  bool settled(FlushScope scope) const;
  /// A put of the peer's into memory that is not the host's is there.
  void put_copied(Outcome outcome);
  /// The peer wants to know when all that it has sent is done.
  void answer_flush(std::uint64_t id);
  bool handed_over() const { return control_.empty() && rails.handed_over(); }

  Operation* closing_operation() const { return close_; }
  Transport& transport() const { return *transport_; }
  Link& link() const { return *link_; }

 private:
  friend class WorkerImpl;

  // endpoint.cpp
  void adopt(DevicePort& port, Link& link);
  void set_fast();
  bool drain();
  bool drain_sends();
  bool drain_control();
  bool drain_one_sided();
  PERIAPT_NOINLINE void return_credit();
  void lose_unexpected();
  void revive();
  void say_goodbye();
  void advance_close();

  /// Can a small message that brings so much credit be received with nothing else to follow from it?
  PERIAPT_INLINE bool receives_quietly(std::uint32_t returned, std::uint64_t bytes) const {
    return credit.consumes_quietly(bytes) && (returned == 0 || sends_.empty());
  }
  PERIAPT_INLINE void receive_quietly(std::uint32_t returned, std::uint64_t bytes) {
    credit.consume_credit(kMessageOverhead + static_cast<std::int64_t>(bytes));
    if (returned != 0) credit.add_credit(returned);
  }

  // send.cpp
  template <class HeaderWith>
  bool send_fast(std::span<const std::byte> payload, const HeaderWith& header_with);
  Operation* begin_send(Doing doing, std::span<const std::byte> bytes, Tag tag, SendDone done = nullptr,
                        void* context = nullptr);
  RequestPtr begin(Operation* operation);
  RequestPtr ended_within_call(RequestPtr request);
  Step try_send(Operation& operation);

  // one_sided.cpp
  std::byte* mapped(Doing doing, const RkeyPtr& key, std::uint64_t remote, std::uint64_t size);
  Operation* begin_transfer(Doing doing, std::uint64_t size, std::uint64_t remote, const RkeyPtr& key, SendDone done,
                            void* context, MemoryKind kind = MemoryKind::host);
  RequestPtr begin_one_sided(Operation* operation);

  // ---- hot: what tag_send() and the arrival of a small message touch
  std::int64_t fast_max_ = -1;  ///< largest message that goes out at once; -1: none, look closer
  Transport* transport_ = nullptr;
  Link* link_ = nullptr;

 public:
  Counters* const counters;
  CreditWindow credit;
  WorkerImpl& owner;
  Rails rails;
  Plan plan;
  RemoteCompletion remote;

 private:
  const PeerId peer_;
  std::string failure_;
  bool disconnected_ = false;  ///< closed by us or by the peer
  bool closing_ = false;
  bool is_busy_ = false;  ///< on the worker's list of those with something to send
  struct Control {
    MessageHeader header;
    std::vector<std::byte> payload;
  };
  std::deque<Control> control_;  ///< waits for room only
  List<Operation, InQueue> sends_;
  List<Operation, InQueue> bulk_;
  List<Operation, InQueue> one_sided_;
  Operation* close_ = nullptr;
  List<Operation, OfEndpoint> active_;
  List<Unexpected, OfEndpoint> unexpected_;
  std::uint64_t waiting_messages_ = 0;
  std::uint64_t waiting_bytes_ = 0;
};

}  // namespace periapt::ucx
