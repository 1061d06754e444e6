// The engine over the transports: Worker (progress, matching, one-sided operations), Endpoint (one peer), Request.
//
// Names follow UCP where the meaning is UCP's. All of a Worker and its Endpoints is used by one thread at a time; it
// takes no lock. No call blocks. No call-back is made from inside another call: only from progress().
//
// A message below the rendezvous threshold goes out at once (inline, copied or from where it lies); a larger one is
// announced, and fetched (rendezvous by get, or put) or streamed when the receiver knows where to. What was chosen, and
// why, is in explain(). Each peer has a credit of eager bytes; beyond it, messages wait here, in order, until the
// receiver has taken what it got: a receiver that is flooded keeps its memory bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "machine/ucx-like/buffer.h"
#include "machine/ucx-like/context.h"
#include "machine/ucx-like/device_memory.h"
#include "machine/ucx-like/transport.h"

namespace periapt::ucx {

using Tag = std::uint64_t;
inline constexpr Tag kFullMask = ~Tag{0};

class Worker;
class Endpoint;

/// What a receive got.
struct Received {
  Outcome outcome = Outcome::ok;  ///< too_long: the message did not fit; `size` says how long it was
  Tag tag = 0;
  std::uint64_t size = 0;
  PeerId from = 0;
};

/// An operation in progress, owned by the caller. Dropping the pointer of one that has not ended lets it run by itself:
/// its call-back is still made, and its memory is still lent. cancel() takes an operation back; it ends with
/// Outcome::cancelled, and its call-back comes from progress(). All of them are to be dropped before the Worker is.
class Request {
 public:
  Request(const Request&) = delete;
  bool ended() const { return has_ended_; }
  Outcome outcome() const { return received_.outcome; }
  const Received& received() const { return received_; }  ///< of a receive
  /// True if it could be taken back. Sends that went out and matched receives can't.
  bool cancel();

 protected:
  Request() = default;
  ~Request() = default;
  Received received_;
  bool has_ended_ = false;
};
/// Hands the request back to its worker, now or when it has ended.
struct Releaser {
  void operator()(Request* request) const;
};
/// Null (of a send or a one-sided operation, never of a receive): it was complete, and well, when the call returned; no
/// call-back comes. A receive that finds its message there may have ended when the call returns; its call-back comes
/// from the next progress().
using RequestPtr = std::unique_ptr<Request, Releaser>;

/// Called from progress() when an operation ends. `context` is the caller's.
using SendDone = void (*)(void* context, Outcome outcome);

/// What a flush waits for, of sends: that the peer has them, or that they are out of this process.
enum class FlushScope : std::uint8_t { remote, local };
using ReceiveDone = void (*)(void* context, const Received& received);

/// A persistent receive: any number of messages, each in memory of its own size. What a message-driven runtime posts
/// once instead of a pool of buffers of one size.
struct PersistentReceive {
  Tag tag = 0;
  Tag mask = kFullMask;
  void* context = nullptr;
  Buffer (*allocate)(void* context, std::uint64_t size) = nullptr;
  void (*arrived)(void* context, Buffer message, const Received& received) = nullptr;
};

/// A message that arrived before its receive, taken out of the matching by probe(): only receive_probed() gets it.
struct Probed {
  Tag tag = 0;
  std::uint64_t size = 0;
  PeerId from = 0;
  void* message = nullptr;  ///< null: nothing was there
  explicit operator bool() const { return message != nullptr; }
};

/// Active messages: `handler` gets each message sent to `id`, from progress(). A large payload has been fetched first
/// into a buffer from `allocate` (or the worker's own pool without one). `look` is for a handler that needs no copy: it
/// is asked first when the payload has come with its message, and sees it where it lies, as long as the call takes.
/// True: it has done with it. False: `handler` is to get it.
struct ActiveHandler {
  void* context = nullptr;
  Buffer (*allocate)(void* context, std::uint64_t size) = nullptr;
  /// `header` is valid during the call; the payload is the handler's.
  void (*handler)(void* context, Endpoint& reply_to, std::span<const std::byte> header, Buffer payload) = nullptr;
  bool (*look)(void* context, Endpoint& reply_to, std::span<const std::byte> header,
               std::span<const std::byte> payload) = nullptr;
};

/// Short active messages: one handler for all, from progress(). It sees the payload where it lies, as long as the call
/// takes.
struct ActiveShortHandler {
  void* context = nullptr;
  void (*handler)(void* context, PeerId from, std::uint64_t header, std::span<const std::byte> payload) = nullptr;
};

/// Memory that peers may reach once they have its key.
class Memory;
using MemoryPtr = std::shared_ptr<Memory>;

/// A peer's memory.
class Rkey;
using RkeyPtr = std::shared_ptr<Rkey>;

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  virtual PeerId peer() const = 0;
  virtual Worker& worker() const = 0;
  /// Empty while the peer is well, else why it isn't.
  virtual const std::string& failure() const = 0;

  // In all of these: done == nullptr means that no call-back is wanted; the RequestPtr may be dropped then too. With a
  // peer that is lost they end with Outcome::peer_lost, told from progress() like any other end.

  /// The bytes are lent until the end of the operation.
  virtual RequestPtr tag_send(std::span<const std::byte> bytes, Tag tag, SendDone done = nullptr,
                              void* context = nullptr) = 0;
  /// The same from memory of that kind: by a protocol that can read it, or, without one, with Outcome::failed. What the
  /// program's streams do with it has to be done (DeviceMemory::when_reached()). `sync`: as tag_send_sync().
  virtual RequestPtr tag_send_from(MemoryKind kind, std::span<const std::byte> bytes, Tag tag, SendDone done = nullptr,
                                   void* context = nullptr, bool sync = false) = 0;
  /// The bytes are the engine's from now on.
  virtual void tag_send_owned(Buffer bytes, Tag tag) = 0;
  /// Ends when the receiver has matched it.
  virtual RequestPtr tag_send_sync(std::span<const std::byte> bytes, Tag tag, SendDone done = nullptr,
                                   void* context = nullptr) = 0;
  virtual RequestPtr active_send(std::uint16_t id, std::span<const std::byte> header,
                                 std::span<const std::byte> payload, SendDone done = nullptr,
                                 void* context = nullptr) = 0;
  /// To the peer's on_active_short(), past its matching: it leaves in the order of all sends, and may overtake what is
  /// announced, or waits for memory, there. Only if it goes at once, its bytes copied within the call. False: nothing
  /// was done.
  virtual bool active_send_short(std::uint64_t header, std::span<const std::byte> payload) = 0;

  virtual Result<RkeyPtr> unpack(std::span<const std::byte> packed_key) = 0;
  /// `kind`: of the memory here.
  virtual RequestPtr put(std::span<const std::byte> local, std::uint64_t remote, const RkeyPtr& key,
                         SendDone done = nullptr, void* context = nullptr, MemoryKind kind = MemoryKind::host) = 0;
  virtual RequestPtr get(std::span<std::byte> local, std::uint64_t remote, const RkeyPtr& key, SendDone done = nullptr,
                         void* context = nullptr, MemoryKind kind = MemoryKind::host) = 0;
  virtual RequestPtr fetch_op(AtomicOp op, std::size_t width, std::uint64_t operand, std::uint64_t compare,
                              std::uint64_t remote, const RkeyPtr& key, void* result, SendDone done = nullptr,
                              void* context = nullptr) = 0;
  /// Ends when all one-sided operations before it are complete at the peer, and all sends before it have arrived there
  /// (a large one: have been announced; its own end says when it was received). With Outcome::bad_key when the peer has
  /// refused a put since the latest flush: a put itself may end before that could be known. `scope` local: of sends it
  /// waits only until they have left this process, which a peer that makes no progress doesn't hold up.
  virtual RequestPtr flush(SendDone done = nullptr, void* context = nullptr, FlushScope scope = FlushScope::remote) = 0;
  /// Operations after it come after those before it, at the peer.
  virtual void fence() = 0;
  /// Sends what is accepted (large messages: when they are received), then parts; ends when the peer knows. `at_once`:
  /// ends what is under way with Outcome::cancelled or peer_lost. The endpoint stays, and connect() revives it.
  virtual RequestPtr close(bool at_once = false, SendDone done = nullptr, void* context = nullptr) = 0;
  /// Messages and bytes that wait here for credit or room.
  virtual std::uint64_t waiting_messages() const = 0;
  virtual std::uint64_t waiting_bytes() const = 0;
};

/// What a worker counts; all of them grow only.
struct Counters {
  std::uint64_t messages_sent = 0, messages_received = 0, bytes_sent = 0, bytes_received = 0;
  std::uint64_t unexpected = 0, rendezvous = 0, credit_waits = 0, no_resource = 0, peers_lost = 0, dropped = 0;
};

class Worker {
 public:
  /// `self`: its name where a context has several workers; 0: the context's.
  static Result<std::unique_ptr<Worker>> create(Context& context, PeerId self = 0);
  virtual ~Worker() = default;

  virtual PeerId self() const = 0;
  /// What others need to connect: all transports' addresses and the PeerId. Bytes for any wire.
  virtual std::vector<std::byte> address() const = 0;
  /// The endpoint of that worker; the same one if there is one already. Nothing is sent before the first operation.
  virtual Result<Endpoint*> connect(std::span<const std::byte> address) = 0;
  /// nullptr: not known.
  virtual Endpoint* endpoint(PeerId peer) = 0;

  virtual RequestPtr tag_receive(std::span<std::byte> into, Tag tag, Tag mask = kFullMask, ReceiveDone done = nullptr,
                                 void* context = nullptr) = 0;
  /// The same into memory of that kind; where nothing can copy into it, it ends with Outcome::failed.
  virtual RequestPtr tag_receive_into(MemoryKind kind, std::span<std::byte> into, Tag tag, Tag mask = kFullMask,
                                      ReceiveDone done = nullptr, void* context = nullptr) = 0;
  /// Stays posted until the worker ends; plain receives that match are served first.
  virtual void post_persistent(const PersistentReceive& persistent) = 0;
  /// Looks among messages that have arrived unmatched. `take`: out of the matching.
  virtual Probed tag_probe(Tag tag, Tag mask = kFullMask, bool take = true) = 0;
  virtual RequestPtr receive_probed(Probed probed, std::span<std::byte> into, ReceiveDone done = nullptr,
                                    void* context = nullptr, MemoryKind kind = MemoryKind::host) = 0;
  virtual void on_active(std::uint16_t id, const ActiveHandler& handler) = 0;
  /// Before the first such message: without a handler they are dropped.
  virtual void on_active_short(const ActiveShortHandler& handler) = 0;
  /// Told when a peer is lost; its reason is a sentence.
  virtual void on_peer_lost(std::function<void(PeerId, const std::string&)> told) = 0;
  /// Told when a peer has closed its endpoint to here in an orderly way.
  virtual void on_peer_disconnected(std::function<void(PeerId, const std::string&)> told) = 0;

  /// Memory that peers reach best once it is registered: those of this host by loads and stores, within the call. Any
  /// memory will do; this costs them less. To be released on the worker's thread. Empty: there is none.
  virtual Buffer allocate(std::uint64_t size) = 0;
  virtual Result<MemoryPtr> register_memory(std::span<std::byte> bytes, MemoryKind kind = MemoryKind::host) = 0;
  /// A key longer than `bytes_max` is shortened: devices are left out, the last first; without any, by messages.
  virtual std::vector<std::byte> pack_key(const MemoryPtr& memory, std::size_t bytes_max = ~std::size_t{0}) const = 0;
  /// That memory is about to be freed or unmapped: registrations that were kept of it end (Limits::keep_registrations).
  virtual void invalidate(std::span<const std::byte> bytes) = 0;

  /// Endpoint::flush() of all peers.
  virtual RequestPtr flush(SendDone done = nullptr, void* context = nullptr, FlushScope scope = FlushScope::remote) = 0;

  /// Returns how many call-backs were made and messages moved: 0 means that nothing was there to do. Not from a
  /// call-back.
  virtual int progress() = 0;
  /// For epoll; arm() says false when progress() has something to do already. After true it tells until disarm(), which
  /// is a hint: messages arrive a little sooner after it.
  virtual int wait_fd() const = 0;
  virtual bool arm() = 0;
  virtual void disarm() = 0;

  /// What copies memory that is not the host's; nullptr: nothing does. Made at the first call.
  virtual DeviceMemory* device_memory() = 0;

  virtual const Counters& counters() const = 0;
  /// The context's, and of those that could not be opened here the reason.
  virtual const std::vector<Device>& devices() const = 0;
  /// Writes what was measured to the context's cost file, as the destructor does. Tried once: then there is nothing
  /// new.
  virtual Status keep_costs() = 0;
  /// One line for each size range and peer kind: what is used, why, and why not the others (+explain-transport).
  virtual std::string explain(const Endpoint* endpoint = nullptr) const = 0;
};

}  // namespace periapt::ucx
