#include "machine/transport-template/transport.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <fstream>
#include <map>

#include "base/log.h"
#include "base/secret.h"
#include "machine/transport-template/wire.h"

namespace periapt::transport_template {
namespace {

using namespace ucx;
using Bytes = std::span<const std::byte>;

Bytes bytes_of(const auto& object) { return std::as_bytes(std::span(&object, 1)); }
std::string error_text(int error) { return std::strerror(error); }

// ---- the network: what a network of your own replaces

/// One connected socket. Closed and destroyed at the start of a progress(), never while somebody may still look at it.
struct Socket {
  explicit Socket(int descriptor) : fd(descriptor) {}
  ~Socket() { ::close(fd); }
  int fd;
  class SocketLink* link = nullptr;  // null: the listening one, or a stranger that has not said hello
  bool connected = true;
  bool wants_room = false;  // epoll tells when it can be written
  bool dead = false;
};

sockaddr_un socket_name(const Address& address, socklen_t* size) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  // The first byte stays 0: a name that is not in the file system, and gone with the process.
  int length =
      std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "periapt-%016llx%016llx",
                    static_cast<unsigned long long>(address.name[0]), static_cast<unsigned long long>(address.name[1]));
  *size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  return name;
}

/// Where an abstract socket name means something: this boot of this machine, in this network namespace.
void describe_machine(Address& address) {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  address.machine[0] = std::hash<std::string>{}(boot);
  struct stat info {};
  if (::stat("/proc/self/ns/net", &info) == 0) address.machine[1] = info.st_ino;
  address.user = ::getuid();
}

enum class Sent { yes, full, broken };

Sent send_packet(int fd, const Packet& packet, Bytes first, Bytes second) {
  iovec parts[3] = {{const_cast<Packet*>(&packet), sizeof packet},
                    {const_cast<std::byte*>(first.data()), first.size()},
                    {const_cast<std::byte*>(second.data()), second.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 3;
  if (::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return Sent::yes;
  return errno == EAGAIN || errno == ENOBUFS || errno == EINTR ? Sent::full : Sent::broken;
}

// ---- links and what is under way on them

/// A put, get or flush of ours that the peer has not answered.
struct Operation {
  Completion* completion = nullptr;  // null: the place is free
  std::uint32_t generation = 0;      // tells a late answer from a right one
};

/// A packet that must follow, but found no room: an answer, what a get asked for, or the marker behind a put.
struct Owed {
  Packet packet;  // kind: answer, marker, or get, of which data and answer are made
  bool data_sent = false;
};

class SocketLink : public Link {
 public:
  using Link::Link;
  Socket* out = nullptr;  // the one that is written; read are all that lead to the peer
  Address address;        // to connect again when the peer's queue of connections was full
  std::array<Operation, kOperationsMax> operations;
  std::deque<Owed> owed;
  Outcome incoming = Outcome::ok;  // of data since the latest marker or answer
  bool starved = false;            // something was answered no_resource
  bool lost = false;
  bool closed = false;
};

struct Region {
  std::byte* address = nullptr;
  std::uint64_t size = 0;
};

Device describe_device() {
  Device device;
  device.transport = "template";
  device.name = "unix";
  device.usable = true;
  device.detail = "Unix sockets of this host";
  device.can.reach = Reach::same_host;
  device.can.max_header = kHeaderMax;
  device.can.max_inline = device.can.max_lent = device.can.max_put = device.can.max_get = kPayloadMax;
  device.can.put_ordered = true;         // data and messages travel in one order
  device.can.needs_registration = true;  // get: the peer writes here, so it needs a key of this memory
  device.costs.overhead_ns = 800;
  device.costs.latency_ns = 2000;
  device.costs.bytes_per_ns = 4;
  return device;
}

class TemplateTransport final : public Transport {
 public:
  TemplateTransport(const Device& device, const OpenRequest& request)
      : device_(device),
        receiver_(*request.receiver),
        self_(request.self),
        secret_(request.secret.begin(), request.secret.end()) {}
  ~TemplateTransport() override {
    if (epoll_ >= 0) ::close(epoll_);
  }

  Status listen() {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (epoll_ < 0 || fd < 0) return Status::failure("no Unix socket can be made: " + error_text(errno));
    sockets_.push_back(std::make_unique<Socket>(fd));
    describe_machine(own_);
    fill_random(own_.name, sizeof own_.name);
    socklen_t size = 0;
    sockaddr_un name = socket_name(own_, &size);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&name), size) != 0 || ::listen(fd, SOMAXCONN) != 0)
      return Status::failure("cannot listen on a Unix socket: " + error_text(errno));
    listener_ = sockets_.back().get();
    watch(*listener_, EPOLL_CTL_ADD);
    return {};
  }

  const Device& device() const override { return device_; }
  std::vector<std::byte> address() const override {
    Bytes bytes = bytes_of(own_);
    return {bytes.begin(), bytes.end()};
  }
  bool reaches(Bytes address) const override {
    Address there;
    return read_address(address, &there) && there.user == own_.user && there.machine[0] == own_.machine[0] &&
           there.machine[1] == own_.machine[1];
  }
  Result<Link*> connect(PeerId peer, Bytes address) override;
  void close(Link& link) override;

  Accepted send_inline(Link& link, Header header, Bytes payload) override;
  Accepted send_lent(Link& link, Header header, Bytes payload, Completion&) override {
    return send_inline(link, header, payload);  // the kernel copies: the payload is the caller's again at once
  }
  Accepted send_owned(Link& link, Header header, Buffer& payload) override {
    Accepted answer = send_inline(link, header, payload.bytes());
    if (answer == Accepted::done) payload.reset();
    return answer;
  }

  Accepted put(Link& link, Bytes local, const MemoryHandle*, std::uint64_t remote, const RemoteKey& key,
               Completion& completion) override;
  Accepted get(Link& link, std::span<std::byte> local, const MemoryHandle* handle, std::uint64_t remote,
               const RemoteKey& key, Completion& completion) override;
  Accepted fetch_op(Link&, AtomicOp, std::size_t, std::uint64_t, std::uint64_t, std::uint64_t, const RemoteKey&, void*,
                    Completion&) override {
    return Accepted::lost;  // not offered (Capabilities::atomics): nobody calls it
  }
  Accepted flush(Link& link, Completion& completion) override;
  bool handed_over(Link& link) const override { return static_cast<SocketLink&>(link).owed.empty(); }

  Result<MemoryHandle> register_memory(std::byte* address, std::uint64_t size, MemoryKind kind) override {
    if (kind != MemoryKind::host) return Status::failure("this transport reads and writes host memory only");
    std::uint64_t id = ++last_key_;
    regions_[id] = {address, size};
    return MemoryHandle{address, size, kind, id, nullptr};
  }
  void deregister_memory(MemoryHandle& handle) override { regions_.erase(handle.id); }
  std::vector<std::byte> pack_key(const MemoryHandle& handle) const override {
    PackedKey packed{.check = check_of(handle.id), .key = handle.id};
    Bytes bytes = bytes_of(packed);
    return {bytes.begin(), bytes.end()};
  }
  Result<RemoteKey> unpack_key(Link&, Bytes packed) override {
    PackedKey key;
    if (packed.size() != sizeof key) return Status::failure("a memory key of this transport has another length");
    std::memcpy(&key, packed.data(), sizeof key);
    if (key.magic != kMagic || key.check != check_of(key.key))
      return Status::failure("that is no memory key of this transport, or it was damaged on its way");
    return RemoteKey{key.key, nullptr};
  }
  void release_key(RemoteKey&) override {}

  int progress() override;
  int wait_fd() const override { return epoll_; }
  bool arm() override {
    auto unconnected = [](const auto& link) { return !link->lost && !link->closed && !link->out->connected; };
    return ended_.empty() && lost_.empty() && std::none_of(links_.begin(), links_.end(), unconnected);
  }

 private:
  static std::uint32_t check_of(std::uint64_t key) {
    return static_cast<std::uint32_t>((key * 0x9e37'79b9'7f4a'7c15u) >> 32) ^ kMagic;
  }
  static bool read_address(Bytes address, Address* read) {
    if (address.size() != sizeof *read) return false;
    std::memcpy(read, address.data(), sizeof *read);
    return read->magic == kMagic;
  }

  void watch(Socket& socket, int change);
  void open_way(SocketLink& link);
  void accept_all();
  void receive(Socket& socket);
  void greet(Socket& socket, const Packet& packet, Bytes bytes);
  void take(SocketLink& link, const Packet& packet, Bytes bytes);
  void end_operation(SocketLink& link, const Packet& packet);
  Accepted transmit(SocketLink& link, const Packet& packet, Bytes first = {}, Bytes second = {});
  Accepted follow_with_marker(SocketLink& link, Completion& completion);
  Operation* free_operation(SocketLink& link, std::uint64_t* id);
  bool pay(SocketLink& link);
  Sent pay_one(SocketLink& link, Owed& owed);
  void fail(SocketLink& link, const std::string& reason);
  void end_all(SocketLink& link, Outcome outcome);
  /// [address, address + size) of the region, if that lies in it.
  std::byte* translate(std::uint64_t key, std::uint64_t address, std::uint64_t size);

  Device device_;
  Receiver& receiver_;
  PeerId self_;
  std::vector<std::byte> secret_;
  Address own_;
  int epoll_ = -1;
  Socket* listener_ = nullptr;
  std::vector<std::unique_ptr<Socket>> sockets_;
  std::vector<std::unique_ptr<SocketLink>> links_;
  std::map<PeerId, SocketLink*> link_of_;  // those that are well
  std::map<std::uint64_t, Region> regions_;
  std::uint64_t last_key_ = 0;
  // Call-backs are made by progress() only; what happens meanwhile waits here.
  struct Ended {
    Completion* completion;
    Outcome outcome;
  };
  struct Loss {
    SocketLink* link;
    std::string reason;
  };
  std::deque<Ended> ended_;
  std::deque<Loss> lost_;
  std::vector<std::byte> packet_ = std::vector<std::byte>(kPacketMax);
  int handed_up_ = 0;
};

void TemplateTransport::watch(Socket& socket, int change) {
  epoll_event event{};
  event.events = EPOLLIN | (socket.wants_room ? EPOLLOUT : 0u);
  event.data.ptr = &socket;
  if (::epoll_ctl(epoll_, change, socket.fd, &event) != 0)
    log::warn("template transport: a socket cannot be watched: " + error_text(errno));
}

// ---- coming together

Result<Link*> TemplateTransport::connect(PeerId peer, Bytes address) {
  Address there;
  if (!read_address(address, &there)) return Status::failure("that is no address of the template transport");
  if (auto known = link_of_.find(peer); known != link_of_.end()) return static_cast<Link*>(known->second);
  links_.push_back(std::make_unique<SocketLink>(*this, peer));
  SocketLink& link = *links_.back();
  link_of_[peer] = &link;
  link.address = there;
  open_way(link);
  return static_cast<Link*>(&link);
}

/// Connects, or connects again: a Unix socket takes a connection at once unless the peer has too many to look at.
void TemplateTransport::open_way(SocketLink& link) {
  if (link.out == nullptr) {
    int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return fail(link, "no socket for it: " + error_text(errno));
    sockets_.push_back(std::make_unique<Socket>(fd));
    link.out = sockets_.back().get();
    link.out->link = &link;
    link.out->connected = false;
  }
  socklen_t size = 0;
  sockaddr_un name = socket_name(link.address, &size);
  if (::connect(link.out->fd, reinterpret_cast<sockaddr*>(&name), size) != 0) {
    if (errno != EAGAIN && errno != EINTR) fail(link, "cannot connect to it: " + error_text(errno));
    return;
  }
  link.out->connected = true;
  watch(*link.out, EPOLL_CTL_ADD);
  // Over a network the secret must not travel: see the handshake of machine/tcp. Here the kernel is the only witness.
  if (send_packet(link.out->fd, Packet{.kind = Kind::hello, .from = self_}, secret_, {}) != Sent::yes)
    fail(link, "it did not take the first packet: " + error_text(errno));
}

void TemplateTransport::accept_all() {
  for (;;) {
    int fd = ::accept4(listener_->fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    sockets_.push_back(std::make_unique<Socket>(fd));
    watch(*sockets_.back(), EPOLL_CTL_ADD);
  }
}

/// Two workers may connect to each other at the same time. Then each writes its own socket and both read both: every
/// direction has one socket, hence one order, and nobody has to decide who was first.
void TemplateTransport::greet(Socket& socket, const Packet& packet, Bytes bytes) {
  bool fits = packet.kind == Kind::hello && packet.from != 0 && packet.from != self_ &&
              std::equal(bytes.begin(), bytes.end(), secret_.begin(), secret_.end());
  if (!fits) {
    log::warn("template transport: a connection was refused: it comes from another job, or speaks another language");
    socket.dead = true;
    return;
  }
  SocketLink*& link = link_of_[packet.from];
  if (link == nullptr) {
    links_.push_back(std::make_unique<SocketLink>(*this, packet.from));
    link = links_.back().get();
  }
  socket.link = link;
  if (link->out != nullptr && !link->out->connected) {
    link->out->dead = true;
    link->out = nullptr;
  }
  if (link->out == nullptr) link->out = &socket;
}

// ---- sending

/// Everything that leaves goes through here. Owed packets go first: what was accepted keeps its order.
Accepted TemplateTransport::transmit(SocketLink& link, const Packet& packet, Bytes first, Bytes second) {
  if (link.lost || link.closed) return Accepted::lost;
  if (pay(link)) {
    switch (send_packet(link.out->fd, packet, first, second)) {
      case Sent::yes:
        return Accepted::done;
      case Sent::full:
        break;
      case Sent::broken:
        fail(link, "the connection to it broke: " + error_text(errno));
    }
  }
  if (link.lost) return Accepted::lost;
  link.starved = true;
  return Accepted::no_resource;
}

Accepted TemplateTransport::send_inline(Link& to, Header header, Bytes payload) {
  Packet packet{.kind = Kind::message, .header_bytes = static_cast<std::uint16_t>(header.size())};
  return transmit(static_cast<SocketLink&>(to), packet, header, payload);
}

Operation* TemplateTransport::free_operation(SocketLink& link, std::uint64_t* id) {
  for (std::size_t i = 0; i < link.operations.size(); ++i) {
    if (link.operations[i].completion != nullptr) continue;
    *id = std::uint64_t{link.operations[i].generation} * kOperationsMax + i;
    return &link.operations[i];
  }
  return nullptr;
}

/// The data are on their way, so their marker must follow: now, or before anything else.
Accepted TemplateTransport::follow_with_marker(SocketLink& link, Completion& completion) {
  std::uint64_t id = 0;
  free_operation(link, &id)->completion = &completion;
  link.owed.push_back({Packet{.kind = Kind::marker, .operation = id}});
  pay(link);
  return Accepted::pending;
}

Accepted TemplateTransport::put(Link& to, Bytes local, const MemoryHandle*, std::uint64_t remote, const RemoteKey& key,
                                Completion& completion) {
  auto& link = static_cast<SocketLink&>(to);
  std::uint64_t id = 0;
  if (!link.lost && !link.closed && free_operation(link, &id) == nullptr) return Accepted::no_resource;
  Packet packet{.kind = Kind::data, .key = key.id, .address = remote};
  Accepted answer = transmit(link, packet, local);
  return answer == Accepted::done ? follow_with_marker(link, completion) : answer;
}

Accepted TemplateTransport::get(Link& to, std::span<std::byte> local, const MemoryHandle* handle, std::uint64_t remote,
                                const RemoteKey& key, Completion& completion) {
  auto& link = static_cast<SocketLink&>(to);
  std::uint64_t id = 0;
  Operation* operation = free_operation(link, &id);
  if (!link.lost && !link.closed && operation == nullptr) return Accepted::no_resource;
  Packet packet{.kind = Kind::get,
                .operation = id,
                .key = key.id,
                .address = remote,
                .size = local.size(),
                .into_key = handle->id,
                .into_address = reinterpret_cast<std::uint64_t>(local.data())};
  Accepted answer = transmit(link, packet);
  if (answer != Accepted::done) return answer;
  operation->completion = &completion;
  return Accepted::pending;
}

Accepted TemplateTransport::flush(Link& to, Completion& completion) {
  auto& link = static_cast<SocketLink&>(to);
  std::uint64_t id = 0;
  if (link.lost || link.closed) return Accepted::lost;
  if (free_operation(link, &id) == nullptr) return Accepted::no_resource;
  return follow_with_marker(link, completion);
}

/// Sends what is owed. False: something of it found no room, and goes first next time.
bool TemplateTransport::pay(SocketLink& link) {
  if (link.lost || !link.out->connected) return false;
  while (!link.owed.empty() && !link.lost) {
    Sent sent = pay_one(link, link.owed.front());
    if (sent == Sent::full) return false;
    if (sent == Sent::broken) fail(link, "the connection to it broke: " + error_text(errno));
    if (sent == Sent::yes) link.owed.pop_front();
  }
  return !link.lost;
}

Sent TemplateTransport::pay_one(SocketLink& link, Owed& owed) {
  Packet packet = owed.packet;
  if (packet.kind == Kind::get) {
    // Looked up now, not when it was asked for: the memory may have been deregistered since.
    std::byte* source = translate(packet.key, packet.address, packet.size);
    if (source != nullptr && !owed.data_sent) {
      Packet data{.kind = Kind::data, .key = packet.into_key, .address = packet.into_address};
      Sent sent = send_packet(link.out->fd, data, {source, packet.size}, {});
      if (sent != Sent::yes) return sent;
    }
    bool there = source != nullptr || owed.data_sent;
    owed.data_sent = there;
    packet = Packet{.kind = Kind::answer,
                    .outcome = static_cast<std::uint8_t>(there ? Outcome::ok : Outcome::bad_key),
                    .operation = packet.operation};
  }
  return send_packet(link.out->fd, packet, {}, {});
}

// ---- receiving

std::byte* TemplateTransport::translate(std::uint64_t key, std::uint64_t address, std::uint64_t size) {
  auto found = regions_.find(key);
  if (found == regions_.end() || size > kPayloadMax) return nullptr;
  const Region& region = found->second;
  std::uint64_t offset = address - reinterpret_cast<std::uint64_t>(region.address);
  if (offset > region.size || size > region.size - offset) return nullptr;
  return region.address + offset;
}

/// One packet that came from the peer. Its sender knows the secret; it is checked all the same.
void TemplateTransport::take(SocketLink& link, const Packet& packet, Bytes bytes) {
  switch (packet.kind) {
    case Kind::message:
      if (packet.header_bytes > std::min(bytes.size(), kHeaderMax)) break;
      ++handed_up_;
      return receiver_.arrived(link, bytes.first(packet.header_bytes), bytes.subspan(packet.header_bytes));
    case Kind::data:
      if (std::byte* target = translate(packet.key, packet.address, bytes.size())) {
        std::copy(bytes.begin(), bytes.end(), target);
      } else {
        link.incoming = Outcome::bad_key;
      }
      return;
    case Kind::get:
    case Kind::marker: {
      if (link.owed.size() > 2 * kOperationsMax || packet.size > kPayloadMax) break;
      Owed owed{packet};
      if (packet.kind == Kind::marker) {
        owed.packet.kind = Kind::answer;
        owed.packet.outcome = static_cast<std::uint8_t>(std::exchange(link.incoming, Outcome::ok));
      }
      link.owed.push_back(owed);
      pay(link);
      return;
    }
    case Kind::answer:
      return end_operation(link, packet);
    case Kind::hello:
      break;
  }
  fail(link, "it sent what this version does not understand");
}

void TemplateTransport::end_operation(SocketLink& link, const Packet& packet) {
  Operation& operation = link.operations[packet.operation % kOperationsMax];
  if (operation.completion == nullptr || packet.operation / kOperationsMax != operation.generation)
    return fail(link, "it answered an operation that nobody asked for");
  if (packet.outcome > static_cast<std::uint8_t>(Outcome::failed))
    return fail(link, "it answered with an outcome that there is not");
  Outcome here = std::exchange(link.incoming, Outcome::ok);
  auto there = static_cast<Outcome>(packet.outcome);
  ended_.push_back({std::exchange(operation.completion, nullptr), there != Outcome::ok ? there : here});
  ++operation.generation;
}

void TemplateTransport::receive(Socket& socket) {
  for (int packets = 0; packets < 64 && !socket.dead; ++packets) {
    ssize_t size = ::recv(socket.fd, packet_.data(), packet_.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size < 0 && errno == ECONNRESET) continue;  // said once; what came before it is still to be read
    auto length = static_cast<std::size_t>(std::max<ssize_t>(size, 0));
    Packet packet;
    bool whole = length >= sizeof packet && length <= packet_.size();
    if (whole) std::memcpy(&packet, packet_.data(), sizeof packet);
    if (socket.link == nullptr && whole && packet.magic == kMagic) {
      greet(socket, packet, Bytes(packet_).subspan(sizeof packet, length - sizeof packet));
    } else if (socket.link == nullptr) {
      if (size > 0) log::warn("template transport: a connection was refused: it does not speak this protocol");
      socket.dead = true;
    } else if (size <= 0) {
      fail(*socket.link, "it closed the connection, or its process ended");
    } else if (!whole || packet.magic != kMagic) {
      fail(*socket.link, "it sent what this version does not understand");
    } else {
      take(*socket.link, packet, Bytes(packet_).subspan(sizeof packet, length - sizeof packet));
    }
  }
}

// ---- parting

void TemplateTransport::end_all(SocketLink& link, Outcome outcome) {
  for (Operation& operation : link.operations)
    if (operation.completion != nullptr) ended_.push_back({std::exchange(operation.completion, nullptr), outcome});
  for (auto& socket : sockets_) socket->dead = socket->dead || socket->link == &link;
  if (auto known = link_of_.find(link.peer()); known != link_of_.end() && known->second == &link) link_of_.erase(known);
  link.owed.clear();
}

void TemplateTransport::fail(SocketLink& link, const std::string& reason) {
  if (link.lost || link.closed) return;
  link.lost = true;
  lost_.push_back({&link, "worker " + std::to_string(link.peer()) + ": " + reason});
  end_all(link, Outcome::peer_lost);
}

void TemplateTransport::close(Link& which) {
  auto& link = static_cast<SocketLink&>(which);
  if (!link.lost) pay(link);
  link.closed = true;
  std::erase_if(lost_, [&](const Loss& loss) { return loss.link == &link; });
  end_all(link, Outcome::cancelled);
}

// ---- progress

int TemplateTransport::progress() {
  handed_up_ = 0;
  // Destroyed here and nowhere else: a call-back may close the link that it is called for. Completions don't need
  // theirs.
  std::erase_if(sockets_, [](const auto& socket) { return socket->dead; });
  std::erase_if(links_, [](const auto& link) { return link->closed; });

  for (auto& link : links_) {
    if (link->lost) continue;
    if (!link->out->connected) open_way(*link);
    if (link->lost || !link->out->connected) continue;
    pay(*link);
    bool wants_room = link->starved || !link->owed.empty();
    if (!link->lost && std::exchange(link->out->wants_room, wants_room) != wants_room) watch(*link->out, EPOLL_CTL_MOD);
    link->starved = false;
  }
  std::array<epoll_event, 32> events;
  int ready = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < ready; ++i) {
    auto& socket = *static_cast<Socket*>(events[static_cast<std::size_t>(i)].data.ptr);
    if (socket.dead) continue;
    if (&socket == listener_) {
      accept_all();
    } else {
      receive(socket);
    }
  }
  // What ended before a loss is told before it.
  while (!ended_.empty()) {
    Ended ended = ended_.front();
    ended_.pop_front();
    ++handed_up_;
    ended.completion->done(*ended.completion, ended.outcome);
  }
  while (!lost_.empty()) {
    Loss loss = std::move(lost_.front());
    lost_.pop_front();
    ++handed_up_;
    receiver_.link_lost(*loss.link, loss.reason);
  }
  return handed_up_;
}

}  // namespace

const TransportFactory factory = {
    .name = "template",
    .probe = [](const OpenRequest&) { return std::vector<Device>{describe_device()}; },
    .open = [](const Device& device, const OpenRequest& request) -> Result<std::unique_ptr<Transport>> {
      if (request.secret.size() > kSecretMax)
        return Status::failure("the job's secret is longer than this transport takes");
      auto transport = std::make_unique<TemplateTransport>(device, request);
      if (Status status = transport->listen(); !status) return status;
      return std::unique_ptr<Transport>(std::move(transport));
    },
};

}  // namespace periapt::transport_template
