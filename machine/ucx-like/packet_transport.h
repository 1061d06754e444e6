// For a network that carries packets of a bounded size in order, and nothing else: messages, put, get and flush over
// such packets. What one side asks of the other is answered in order, so neither needs numbers to tell answers apart.
// A transport on this says how a packet leaves (send()), gives in those that come (take()), and says when a link is
// lost (fail()); machine/transport-template is one.
#pragma once

#include <deque>
#include <string>

#include "machine/ucx-like/transport_base.h"

namespace periapt::ucx {

/// In front of the bytes of each packet. Numbers go as they lie in memory.
struct Packet {
  static constexpr std::uint32_t kMagic = 0x50'54'4d'32;  ///< changes with the format: an older peer is refused by it

  enum class Kind : std::uint8_t {
    hello,    ///< first on each connection: `from`; bytes: the job's secret. The transport's own
    message,  ///< bytes: `header_bytes` of header, then payload
    put,      ///< bytes go to `address` of the memory `key`
    get,      ///< `size` bytes from `address` of `key` are wanted: the answer has them
    flush,    ///< only to be answered
    answer,   ///< to the oldest put, get or flush that has none: its `outcome`, and the bytes of a get
  };

  std::uint32_t magic = kMagic;
  Kind kind = Kind::hello;
  std::uint8_t outcome = 0;
  std::uint16_t header_bytes = 0;
  std::uint64_t from = 0, key = 0, address = 0, size = 0;
};
static_assert(sizeof(Packet) == 40);

class PacketLink : public Link {
 public:
  using Link::Link;
  bool gone() const { return gone_; }  ///< lost or closed

 private:
  friend class PacketTransport;
  struct Operation {
    Completion* completion;
    std::span<std::byte> into;  ///< of a get
  };
  std::deque<Operation> operations_;  ///< ours that the peer has not answered, the oldest first
  std::deque<Packet> owed_;           ///< the peer's that we have not answered
  bool gone_ = false;
};

/// The device's max_header is the largest header, its max_inline, max_put and max_get what a packet carries beside.
class PacketTransport : public RegisteringTransport {
 public:
  using Bytes = std::span<const std::byte>;
  static constexpr std::size_t kOperationsMax = 64;  ///< not answered yet on one link: bounds what a peer may owe

  using RegisteringTransport::RegisteringTransport;

  Accepted send_inline(Link& to, Header header, Bytes payload) override {
    const auto header_bytes = static_cast<std::uint16_t>(header.size());
    return transmit(packet_link(to), {.kind = Packet::Kind::message, .header_bytes = header_bytes}, header, payload);
  }
  Accepted put(Link& to, Bytes local, const MemoryHandle*, std::uint64_t remote, const RemoteKey& key,
               Completion& completion) override {
    return operate(to, {.kind = Packet::Kind::put, .key = key.id, .address = remote}, local, {&completion, {}});
  }
  Accepted get(Link& to, std::span<std::byte> local, const MemoryHandle*, std::uint64_t remote, const RemoteKey& key,
               Completion& completion) override {
    const Packet packet{.kind = Packet::Kind::get, .key = key.id, .address = remote, .size = local.size()};
    return operate(to, packet, {}, {&completion, local});
  }
  Accepted flush(Link& to, Completion& completion) override {
    return operate(to, {.kind = Packet::Kind::flush}, {}, {&completion, {}});
  }
  void close(Link& which) override {
    PacketLink& link = packet_link(which);
    answer_owed(link);
    deferred_.forget_loss(link);
    end_all(link, Outcome::cancelled);
    links_.retire(link);
  }

 protected:
  /// Sends a packet and its bytes, which are in two parts. False: there is no room, no connection yet, or the link has
  /// been lost (fail()).
  virtual bool send(PacketLink& link, const Packet& packet, Bytes first, Bytes second) = 0;
  /// The link has gone: its connection goes, too. What was sent still arrives.
  virtual void hang_up(PacketLink& link) = 0;

  /// One packet that came from the peer, in progress(). The peer knows the secret; what it says is checked all the
  /// same. Returns how many messages were handed up.
  int take(PacketLink& link, const Packet& packet, Bytes bytes) {
    const std::size_t most = device_.can.max_get;
    if (packet.kind == Packet::Kind::message && packet.header_bytes <= std::min(bytes.size(), device_.can.max_header)) {
      receiver_.arrived(link, bytes.first(packet.header_bytes), bytes.subspan(packet.header_bytes));
      return 1;
    }
    const bool asks =
        packet.kind == Packet::Kind::put || packet.kind == Packet::Kind::get || packet.kind == Packet::Kind::flush;
    if (asks && packet.size <= most && link.owed_.size() < kOperationsMax) {
      perform(link, packet, bytes);
    } else if (packet.kind != Packet::Kind::answer || !end_operation(link, packet, bytes)) {
      fail(link, "it sent what this version does not understand");
    }
    return 0;
  }

  /// Answers what the peer has asked; for progress(), when there may be room. False: not all of it, so nothing else may
  /// be sent yet.
  bool answer_owed(PacketLink& link) {
    while (!link.gone_ && !link.owed_.empty() && answer(link, link.owed_.front())) link.owed_.pop_front();
    return !link.gone_ && link.owed_.empty();
  }

  /// The peer or the way to it is lost.
  void fail(PacketLink& link, const std::string& reason) {
    if (link.gone_) return;
    end_all(link, Outcome::peer_lost);
    links_.forget(link);
    deferred_.lose(link, "worker " + std::to_string(link.peer()) + ": " + reason);
  }

  LinkTable<PacketLink> links_;

 private:
  static PacketLink& packet_link(Link& link) { return static_cast<PacketLink&>(link); }

  /// Everything that is asked for here leaves here. Answers go first, so that two that flood each other go on.
  Accepted transmit(PacketLink& link, const Packet& packet, Bytes first, Bytes second) {
    if (answer_owed(link) && send(link, packet, first, second)) return Accepted::done;
    return link.gone_ ? Accepted::lost : Accepted::no_resource;
  }
  Accepted operate(Link& to, const Packet& packet, Bytes bytes, PacketLink::Operation operation) {
    PacketLink& link = packet_link(to);
    if (link.operations_.size() == kOperationsMax) return Accepted::no_resource;
    const Accepted accepted = transmit(link, packet, bytes, {});
    if (accepted != Accepted::done) return accepted;
    link.operations_.push_back(operation);
    return Accepted::pending;
  }

  void perform(PacketLink& link, const Packet& packet, Bytes bytes) {
    Packet& owed = link.owed_.emplace_back(packet);
    owed.outcome = static_cast<std::uint8_t>(Outcome::ok);
    if (packet.kind == Packet::Kind::put) {
      std::byte* target = translate(packet.key, packet.address, bytes.size());
      if (target == nullptr) owed.outcome = static_cast<std::uint8_t>(Outcome::bad_key);
      if (target != nullptr) std::copy(bytes.begin(), bytes.end(), target);
    }
    answer_owed(link);
  }
  bool answer(PacketLink& link, const Packet& request) {
    Packet packet{.kind = Packet::Kind::answer, .outcome = request.outcome};
    if (request.kind != Packet::Kind::get) return send(link, packet, {}, {});
    // Looked up now, not when it was asked for: the memory may have been deregistered since.
    const std::byte* source = translate(request.key, request.address, request.size);
    if (source == nullptr) packet.outcome = static_cast<std::uint8_t>(Outcome::bad_key);
    return send(link, packet, {source, source == nullptr ? 0 : request.size}, {});
  }
  bool end_operation(PacketLink& link, const Packet& packet, Bytes bytes) {
    if (link.operations_.empty() || packet.outcome > static_cast<std::uint8_t>(Outcome::failed)) return false;
    const auto outcome = static_cast<Outcome>(packet.outcome);
    const PacketLink::Operation operation = link.operations_.front();
    if (bytes.size() != (outcome == Outcome::ok ? operation.into.size() : 0)) return false;
    link.operations_.pop_front();
    std::copy(bytes.begin(), bytes.end(), operation.into.begin());
    deferred_.end(operation.completion, outcome);
    return true;
  }
  void end_all(PacketLink& link, Outcome outcome) {
    link.gone_ = true;
    for (const PacketLink::Operation& operation : link.operations_) deferred_.end(operation.completion, outcome);
    link.operations_.clear();
    link.owed_.clear();
    hang_up(link);
  }
};

}  // namespace periapt::ucx
