// The contract of a transport: what moves bytes between two address spaces.
//
// A transport is a folder (machine/tcp, machine/shm, machine/transport-template ...) with one class and one factory,
// named in machine/layer/transports.cpp. The engine (context.h, worker.h, endpoint.h) is its only user; it stands on
// this header alone, and so does the conformance suite (tests/machine/conformance.h) that every transport passes. What
// all transports would write alike is written once, in transport_base.h.
//
// Rules that hold for all of it:
//   - One thread at a time uses a Transport and all that belongs to it. Nothing here may block, except open().
//   - A call-back (Receiver, Completion) is made from progress() only, never from inside another call: so a caller may
//     hold its own state half changed while it calls. A call-back may call any function here but progress().
//   - no_resource means: nothing happened, nothing is owned, try again after some progress(). The caller keeps the work
//     and its order.
//   - What was accepted completes exactly once: with ok, or, when the peer is lost or the link closed, with the reason.
//   - Messages of one link arrive in the order in which they were accepted, whatever their kind. One-sided operations
//     are ordered among themselves only by fence/flush, unless the transport says so.
//   - Sizes and addresses are 64 bits.
//   - What is wrong with a device or a peer is said in words, for people: what, why, what to do.
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

namespace periapt::ucx {

/// One worker of the run, anywhere: unique within the job. 0 names no worker.
using PeerId = std::uint64_t;

enum class MemoryKind : std::uint8_t { host, cuda, cuda_managed, hip, hip_managed };
constexpr unsigned bit_of(MemoryKind kind) { return 1u << static_cast<unsigned>(kind); }

/// How far a device reaches.
enum class Reach : std::uint8_t { same_process, same_host, network };

/// What a device can do. A number of 0 means: not at all.
struct Capabilities {
  Reach reach = Reach::network;
  std::size_t max_header = 0;  ///< largest header of a message; at least kHeaderBytes
  std::size_t max_inline = 0;  ///< largest payload of send_inline()
  std::size_t max_lent = 0;    ///< largest payload of send_lent() and send_owned(); ~0: any
  std::size_t max_put = 0;     ///< largest put(), ~0: any
  std::size_t max_get = 0;
  std::size_t max_direct_put = 0;   ///< up to here a copy to direct() costs less than put()
  std::size_t max_direct_get = 0;   ///< up to here a copy from direct() costs less than get()
  bool atomics = false;             ///< fetch_op() on 32 and 64 bits
  bool passes_ownership = false;    ///< send_owned() of arena memory hands it over without copying
  bool put_ordered = false;         ///< a put is visible before any message accepted after it: no flush needed between
  bool needs_registration = false;  ///< local memory of put/get/send_lent must be registered first
  unsigned memory_kinds = bit_of(MemoryKind::host);
};

/// What an operation costs. A transport states its guess; the engine replaces it by what it measures at first use.
struct Costs {
  double overhead_ns = 1000;      ///< to start one message and to take one in
  double latency_ns = 10000;      ///< until the other side has it, beside overhead
  double bytes_per_ns = 1;        ///< of large transfers (1 = 1 GB/s)
  double registration_ns = 0;     ///< of a region, beside a share by size
  double copy_bytes_per_ns = 10;  ///< of the copies that send_inline() makes
  double lending_ns = 400;  ///< that send_lent() and its completion cost beside what send_inline() of few bytes costs
  double asking_ns = 0;     ///< that announcing a message and fetching it adds; 0: two small messages
};

/// What probe() found: a device that can be used, or the reason why not.
struct Device {
  std::string transport;  ///< "tcp"
  std::string name;       ///< "eth0", "mlx5_0:1", "memory"
  bool usable = false;
  std::string detail;  ///< usable: "10.0.0.1, 10 Gb/s"; else why not: "no permission to open ..."
  std::string remedy;  ///< what lifts it, a command where there is one: "ulimit -l unlimited"
  std::string folder;  ///< in /sys, for topology::distance_between(); empty: none, or not known
  Capabilities can;
  Costs costs;
};

/// How an accepted operation ended.
enum class Outcome : std::uint8_t { ok, cancelled, peer_lost, too_long, no_memory, bad_key, unsupported, failed };
const char* describe(Outcome outcome);

/// What a caller may be told at once.
enum class [[nodiscard]] Accepted : std::uint8_t{
    done,         ///< taken, and complete for the sender: no call-back will come
    pending,      ///< taken; the Completion will be called from progress()
    no_resource,  ///< not taken: nothing happened
    lost,         ///< not taken: the peer is gone or the link is closed
};

/// Told when an accepted operation has ended. Lives in the caller's own object; must outlive the operation. One may
/// serve several operations at a time: it is told once for each.
struct Completion {
  void (*done)(Completion& self, Outcome outcome) = nullptr;
};

/// The engine's header in front of each message; the transport carries it and does not look inside.
inline constexpr std::size_t kHeaderBytes = 40;
using Header = std::span<const std::byte>;

class DmaBuf;
class Transport;

/// A way to one peer. Made and destroyed by its transport.
class Link {
 public:
  Link(Transport& transport, PeerId peer) : transport_(transport), peer_(peer) {}
  virtual ~Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  Transport& transport() const { return transport_; }
  PeerId peer() const { return peer_; }
  void* user = nullptr;  ///< the engine's
  /// The transport's: the device carries this link no more, and what it is given goes another, slower way. What may go
  /// over another link to the peer should (Receiver::link_degraded()).
  bool degraded = false;

 private:
  Transport& transport_;
  PeerId peer_;
};

/// The engine's side: where a transport hands up what arrived. Called from progress() only.
class Receiver {
 public:
  virtual ~Receiver() = default;

  /// A whole message that lies in the transport's memory; valid during the call. The answer is a wish: go on (true), or
  /// hand up no more of this link in this progress(), if that is easy, since the receiver would have to put it aside.
  virtual bool arrived(Link& from, Header header, std::span<const std::byte> payload) = 0;
  /// A whole message whose payload changes owner.
  virtual void arrived_owned(Link& from, Header header, Buffer payload) = 0;
  /// The header of a message whose payload is still on its way: where shall its `size` bytes go? The bytes there are
  /// the transport's to write until placed() or link_lost(). nullptr: there is no memory; the link is then lost.
  /// At most one placement a link at a time.
  virtual std::byte* place(Link& from, Header header, std::uint64_t size) = 0;
  /// They are there.
  virtual void placed(Link& from) = 0;

  /// The peer has gone or the link broke; `reason` is a sentence. Everything accepted and not complete on that link has
  /// been completed with peer_lost before. A pending placement is dropped. The Link stays valid until close(). A link
  /// that the peer opened may be told of here for the first time.
  virtual void link_lost(Link& link, const std::string& reason) = 0;

  /// The device carries the link no more: Link::degraded is true from now on. The link goes on, also over another link
  /// to the same peer, of another device of this worker, which may be connected here. May be called more than once.
  virtual void link_degraded(Link& link) { (void)link; }
  /// The device carries the link again: Link::degraded is false from now on.
  virtual void link_restored(Link& link) { (void)link; }
};

/// Memory of this process that a transport may read or write for a peer.
struct MemoryHandle {
  std::byte* address = nullptr;
  std::uint64_t size = 0;
  MemoryKind kind = MemoryKind::host;
  std::uint64_t id = 0;    ///< the transport's
  void* detail = nullptr;  ///< the transport's
};
/// A peer's registered memory, unpacked from pack_key().
struct RemoteKey {
  std::uint64_t id = 0;    ///< the transport's
  void* detail = nullptr;  ///< the transport's
};

enum class AtomicOp : std::uint8_t { add, bit_and, bit_or, bit_xor, swap, compare_swap };

/// The text of an option by its name, "+net-devices"; empty: not given.
using OptionText = std::function<std::string(const std::string& name)>;

/// What a transport is told when it is opened.
struct OpenRequest {
  Receiver* receiver = nullptr;
  PeerId self = 0;
  std::span<const std::byte> secret;  ///< the job's; a connection without it is refused
  /// The host, as start-up named it: equal for workers of one host (a launcher may run several "hosts" on one machine).
  std::string host;
  OptionText option;       ///< empty: nothing is given
  bool one_host = false;   ///< no worker of the job is on another one
  std::vector<int> cpus;   ///< those that the worker's PEs run on; empty: any that this process may use
  int number_on_host = 0;  ///< of this process among the job's: it chooses among devices that are as good as others
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual const Device& device() const = 0;

  /// What a peer needs in order to open a link to here. At most 256 bytes.
  virtual std::vector<std::byte> address() const = 0;
  /// Can that address be reached from here at all (same host, routable)? Doesn't communicate.
  virtual bool reaches(std::span<const std::byte> address) const = 0;
  /// A link to a peer. Returns at once; what is sent before it is connected is queued or answered no_resource. There is
  /// one link for a pair of workers: a link that the peer opened first, or at the same time, is the same one.
  virtual Result<Link*> connect(PeerId peer, std::span<const std::byte> address) = 0;
  /// Ends a link: what was accepted is completed (cancelled if it has not gone out) in later progress() calls, then the
  /// Link is destroyed. No call-back for that link after those. A pending placement is dropped at once: its memory is
  /// the caller's again when this returns. It doesn't wait for the peer: to be sure that all has arrived, flush() first
  /// and close when that has ended. The peer's link is then lost.
  virtual void close(Link& link) = 0;

  // ---- messages: header, then payload

  /// Copies header and payload: both are the caller's again at return. Answers done, no_resource or lost.
  virtual Accepted send_inline(Link& link, Header header, std::span<const std::byte> payload) = 0;
  /// The payload is lent until the completion; the header is copied. Reading it later must find the same bytes.
  virtual Accepted send_lent(Link& link, Header header, std::span<const std::byte> payload, Completion& completion) = 0;
  /// The transport owns the payload when this answers done or pending, and releases it when it may (or hands it over).
  /// With no_resource and lost `payload` is unchanged. No call-back: pending and done mean the same to the caller.
  virtual Accepted send_owned(Link& link, Header header, Buffer& payload) = 0;

  // ---- one-sided: of put, get and atomics what the device does not offer (Capabilities) ends as unsupported;
  // `local` must lie in memory registered here if the device needs_registration

  /// Of a put, done means: the bytes are in the peer's memory. No flush has to wait for them.
  virtual Accepted put(Link& link, std::span<const std::byte> local, const MemoryHandle* handle, std::uint64_t remote,
                       const RemoteKey& key, Completion& completion) = 0;
  virtual Accepted get(Link& link, std::span<std::byte> local, const MemoryHandle* handle, std::uint64_t remote,
                       const RemoteKey& key, Completion& completion) = 0;
  /// On `width` 4 or 8 bytes, aligned. The value before goes to *result (width bytes) when it is not null.
  virtual Accepted fetch_op(Link& link, AtomicOp op, std::size_t width, std::uint64_t operand, std::uint64_t compare,
                            std::uint64_t remote, const RemoteKey& key, void* result, Completion& completion) = 0;
  /// Completes when all that was accepted on the link before it is complete at the peer (its memory holds it).
  virtual Accepted flush(Link& link, Completion& completion) = 0;

  /// Whether all that was accepted on the link has left this process: the peer gets it even if this worker ends now.
  /// Becomes true by progress(). For a transport that keeps what it has accepted, or takes it back when it ends.
  virtual bool handed_over(Link& link) const {
    (void)link;
    return true;
  }

  /// In words, how a link's messages go, where its device alone does not say it: "goes over TCP". Mostly empty.
  virtual std::string describe(const Link& link) const {
    (void)link;
    return {};
  }

  /// How fast large puts and gets of the link have gone lately, while nothing but the network held them up; 0: not
  /// known. The engine shares what goes over several links by it.
  virtual double measured_bytes_per_ns(const Link& link) const {
    (void)link;
    return 0;
  }

  // ---- memory

  /// Memory of this process that this transport moves best (shared with the host's processes, registered ...). To be
  /// released on the thread that uses the transport. Empty: it has none to offer, any memory is as good.
  virtual Buffer allocate(std::uint64_t size) {
    (void)size;
    return {};
  }
  virtual Result<MemoryHandle> register_memory(std::byte* address, std::uint64_t size, MemoryKind kind) = 0;
  /// The same of an allocation that is not the host's, for a device that has its kind among Capabilities::memory_kinds.
  /// `shared`: its file, which stays the caller's; nullptr: the memory's driver gives none. A failure says what is
  /// missing.
  virtual Result<MemoryHandle> register_device_memory(std::byte* address, std::uint64_t size, MemoryKind kind,
                                                      const DmaBuf* shared) {
    (void)address, (void)size, (void)kind, (void)shared;
    return Status::failure("it reads and writes memory of the host only");
  }
  virtual void deregister_memory(MemoryHandle& handle) = 0;
  /// At most 128 bytes.
  virtual std::vector<std::byte> pack_key(const MemoryHandle& handle) const = 0;
  /// `packed` comes from outside: anything wrong with it is a failure, never a crash.
  virtual Result<RemoteKey> unpack_key(Link& link, std::span<const std::byte> packed) = 0;
  virtual void release_key(RemoteKey& key) = 0;
  /// Where [remote, remote + size) of the key can be read and written by plain loads and stores now; to be asked anew
  /// for each use, since the memory may have been deregistered. nullptr: nowhere (put() and get() say why).
  virtual std::byte* direct(Link& link, const RemoteKey& key, std::uint64_t remote, std::uint64_t size) {
    (void)link, (void)key, (void)remote, (void)size;
    return nullptr;
  }

  // ---- progress

  /// Does what can be done now; makes call-backs. Returns how many messages and completions it handed up.
  virtual int progress() = 0;
  /// Becomes readable when there is something for progress(), after arm(); that includes room for what was answered
  /// no_resource. -1: has none, must be polled.
  virtual int wait_fd() const = 0;
  /// Before sleeping on wait_fd(): false when there is something to do already.
  virtual bool arm() = 0;
  /// The caller sleeps on wait_fd() no more, so it need not tell until the next arm(), which may make arrivals cheaper.
  /// Without it, a thread that arm() answered true may sleep while others call progress().
  virtual void disarm() {}
};

/// A `+option` of a transport on the command line of a run: OpenRequest::option("+name") is its text.
struct TransportOption {
  const char* name;   ///< "net-timeout"; no other option of the run may have that name
  const char* value;  ///< what follows it, for people: "SECONDS"; nullptr: nothing follows, and its text is "on"
  const char* help;   ///< what it is for, part of a line
  /// What is wrong with a text, as a sentence. Asked in every run that is given the option, whether the transport is
  /// used or not. nullptr: all texts are right.
  Status (*check)(const std::string& text) = nullptr;
};

/// A transport's name and how it is made: what its folder offers to the rest of the house.
struct TransportFactory {
  const char* name;  ///< for +transports
  /// What is here, or why not. Quick, without side effects; never fails.
  std::vector<Device> (*probe)(const OpenRequest& request);
  Result<std::unique_ptr<Transport>> (*open)(const Device& device, const OpenRequest& request);
  std::span<const TransportOption> options = {};
};

/// A rail that is slower than the fastest one by more than that carries no part of a message.
inline constexpr double kSlowerMost = 8;

/// Changes with anything above: a transport that was built as a shared object (plugin.h) for another version is
/// refused.
inline constexpr std::uint32_t kContractVersion = 10;

}  // namespace periapt::ucx
