// Operation: what a worker does for a caller, which holds it as a Request.
//
// Of an operation that sends or receives a small message three cache lines are touched. What goes beyond that is in its
// RequestState, which is made when it is asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/platform.h"
#include "machine/ucx-like/device_memory.h"
#include "machine/ucx-like/device_port.h"
#include "machine/ucx-like/list.h"
#include "machine/ucx-like/matching/match_table.h"
#include "machine/ucx-like/matching/unexpected.h"
#include "machine/ucx-like/rails.h"
#include "machine/ucx-like/worker.h"

namespace periapt::ucx {

struct Protocol;
struct StagedPieces;
class EndpointImpl;
class Operation;
class WorkerImpl;

/// What an operation needs that goes beyond one small message: made when it does.
struct RequestState {
  std::uint64_t moved = 0;     ///< bytes given to transports, or received
  std::uint64_t reserved = 0;  ///< bytes received or on their way into it: never more than the size
  std::uint64_t their_id = 0;
  std::uint64_t remote = 0;    ///< address at the peer
  std::uint8_t stage = 0;      ///< how far an operation of several steps is
  std::uint16_t code = 0;      ///< handler of an active message; atomic operation
  std::uint32_t flushed = 0;   ///< rails that were asked to flush, a bit each
  std::uint64_t began_ns = 0;  ///< when a large message was matched; 0: don't measure it
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
  std::int64_t activity = 0;              ///< of the endpoint, before a flush was sent
  FlushScope scope = FlushScope::remote;  ///< of a flush
  void* value = nullptr;                  ///< where an atomic's result goes
  Buffer buffer;                          ///< owned bytes: of a send, or what an internal receive receives into
  std::vector<std::byte> extra;           ///< user's header of an active message
  std::span<const std::byte> announced;   ///< the keys of an announcement, while the operation is started
  const PersistentReceive* persistent = nullptr;
  void (*deliver)(WorkerImpl& worker, Operation& operation, Buffer message) = nullptr;  ///< of an internal receive
  std::shared_ptr<Rkey> rkey;
  std::uint64_t part_max = 0;            ///< of the data messages that the peer wants; 0: any
  std::uint64_t room = 0;                ///< of a posted receive into memory that is not the host's
  std::shared_ptr<std::byte> mapped;     ///< a peer's memory, while it is copied
  std::shared_ptr<StagedPieces> staged;  ///< of memory that goes out through pieces of the host's
  LocalMemory local;                     ///< the operation's memory, at devices that want that

  /// Gives back what it holds of others. What it says is still there.
  void release() {
    buffer.reset();
    rkey.reset();
    mapped.reset();
    staged.reset();
    local.release();
  }
};

enum class Doing : std::uint8_t {
  send,
  sync_send,
  active_send,
  receive,
  persistent_receive,
  active_receive,
  put,
  get,
  atomic,
  flush,
  fence,
  close,
  serve_get
};

struct alignas(platform::kCacheLine) RequestBase : Request {
  bool told = false;                   ///< the user's call-back was made
  bool dropped = false;                ///< its RequestPtr is gone
  bool within_call = false;            ///< the call that began it has not returned: it looks at the outcome itself
  bool posted = false;                 ///< a receive that waits for its message
  bool announced = false;              ///< a send whose announcement went out
  bool all_parts_given = false;        ///< every part of it was accepted by a transport
  bool counted = false;                ///< among the open one-sided operations of its peer
  bool awaits_answer = false;          ///< it ends when the peer has said so
  MemoryKind kind = MemoryKind::host;  ///< of its memory here
  Outcome result = Outcome::ok;
  Doing doing = Doing::send;
  unsigned outstanding = 0;   ///< completions that transports owe
  std::byte* into = nullptr;  ///< of what is received
  std::uint64_t size = 0;     ///< of the message; of a posted receive: of the room that a processor may write to

  /// Before it begins: as it was made, but for what it received, which is written before its end.
  PERIAPT_INLINE void begin(Doing what) {
    has_ended_ = told = dropped = within_call = posted = announced = all_parts_given = counted = false;
    awaits_answer = false;
    kind = MemoryKind::host;
    result = Outcome::ok;
    doing = what;
    outstanding = 0;
    into = nullptr;
    size = 0;
  }
};
static_assert(sizeof(RequestBase) == platform::kCacheLine, "all that most operations need, in a line");

struct WhenDone {
  Tag mask = 0;  ///< of a posted receive
  SendDone send_done = nullptr;
  ReceiveDone receive_done = nullptr;
  void* context = nullptr;
};

struct InQueue;
class Operation final : public RequestBase,
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
  bool is_internal() const { return doing == Doing::persistent_receive || doing == Doing::active_receive; }
  /// A transport has done one of the parts.
  static void completed(Completion& self, Outcome outcome);

  bool has_ended() const { return has_ended_; }
  void set_ended(Outcome outcome) {
    has_ended_ = true;
    result = received_.outcome = outcome;
  }
  Received& got() { return received_; }
  std::span<const std::byte> bytes() const { return {source, size}; }
  /// Its memory here, whether it is read or written.
  std::span<std::byte> memory() const { return {into != nullptr ? into : const_cast<std::byte*>(source), size}; }
  bool fits(std::uint64_t offset, std::uint64_t bytes) {
    return offset <= size && bytes <= size - offset && bytes <= size - state().reserved;
  }

  /// Made at the first call.
  RequestState& state() { return PERIAPT_LIKELY(state_ != nullptr) ? *state_ : make_state(); }
  const RequestState* known_state() const { return state_; }
  Place place() { return {memory().data(), kind}; }
  /// Of a receive: how long a message may be.
  std::uint64_t room() { return kind == MemoryKind::host ? size : state().room; }
  bool owns_bytes() const { return state_ != nullptr && state_->buffer; }

  WorkerImpl& worker;
  EndpointImpl* endpoint = nullptr;    ///< the peer; of a receive: once it is matched
  std::uint64_t id = 0;                ///< by which the peer names it; 0: it doesn't
  Tag tag = 0;                         ///< of a send
  const std::byte* source = nullptr;   ///< of what is sent
  const Protocol* protocol = nullptr;  ///< once one is chosen; of a posted receive: not looked at

 private:
  friend class WorkerImpl;
  PERIAPT_NOINLINE RequestState& make_state();
  /// After its last operation, of which nothing is left that is not written here or by what begins with it.
  PERIAPT_INLINE void begin(Doing what, SendDone done, void* told) {
    RequestBase::begin(what);
    send_done = done;
    receive_done = nullptr;
    context = told;
    endpoint = nullptr;
    source = nullptr;
  }

  RequestState* state_ = nullptr;
};

}  // namespace periapt::ucx
