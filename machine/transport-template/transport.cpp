#include "machine/transport-template/transport.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/log.h"
#include "base/secret.h"
#include "base/this_host.h"
#include "machine/transport-template/wire.h"

namespace periapt::transport_template {
namespace {

using namespace ucx;
using Bytes = std::span<const std::byte>;

std::string error_text(int error) { return std::strerror(error); }

// ---- the network: what a network of your own replaces

/// One connected socket. Closed and destroyed at the start of a progress(), never while something may still look at it.
struct Socket {
  explicit Socket(int descriptor) : fd(descriptor) {}
  ~Socket() { ::close(fd); }
  int fd;
  class SocketLink* link = nullptr;  // null: the listening one, or a stranger that has not said hello
  bool connected = true;
  bool dead = false;
};

int new_socket() { return ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

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
  address.machine[0] = boot_number();
  address.machine[1] = namespace_number("net");
  address.user = ::getuid();
}

class SocketLink : public PacketLink {
 public:
  using PacketLink::PacketLink;
  Socket* out = nullptr;  // the one that is written; read are all that lead to the peer
  Address address;        // to connect again when the peer's queue of connections was full
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
  device.can.put_ordered = true;  // puts and messages travel in one order
  device.costs.overhead_ns = 800;
  device.costs.latency_ns = 2000;
  device.costs.bytes_per_ns = 4;
  return device;
}

class TemplateTransport final : public PacketTransport {
 public:
  using PacketTransport::PacketTransport;
  ~TemplateTransport() override {
    if (epoll_ >= 0) ::close(epoll_);
  }
  Status listen();

  std::vector<std::byte> address() const override { return packed(own_); }
  bool reaches(Bytes address) const override {
    Address there;
    return read_address(address, &there) && there.user == own_.user && there.machine[0] == own_.machine[0] &&
           there.machine[1] == own_.machine[1];
  }
  Result<Link*> connect(PeerId peer, Bytes address) override;

  int progress() override;
  int wait_fd() const override { return epoll_; }
  bool arm() override {
    auto connects = [](const auto& link) { return !link->gone() && !of(*link).out->connected; };
    return !has_read_ && deferred_.empty() && std::none_of(links_.begin(), links_.end(), connects);
  }

 private:
  static SocketLink& of(PacketLink& link) { return static_cast<SocketLink&>(link); }
  static bool read_address(Bytes address, Address* read) {
    return unpack(address, read) && read->magic == Packet::kMagic;
  }

  bool send(PacketLink& link, const Packet& packet, Bytes first, Bytes second) override;
  void hang_up(PacketLink& link) override {
    for (auto& socket : sockets_) socket->dead = socket->dead || socket->link == &link;
  }
  Socket& add_socket(int fd, SocketLink* link);
  bool open_way(SocketLink& link);
  void accept_all();
  void greet(Socket& socket, const Packet& packet, Bytes bytes);
  SocketLink& new_link(PeerId peer) { return of(links_.add(std::make_unique<SocketLink>(*this, peer))); }
  int receive(Socket& socket);

  Address own_;
  int epoll_ = -1;  // to sleep on: progress() looks at every socket by itself
  Socket* listener_ = nullptr;
  std::vector<std::unique_ptr<Socket>> sockets_;
  std::vector<std::byte> packet_ = std::vector<std::byte>(kPacketMax);
  bool has_read_ = false;  // in the latest progress(): there may be more
};

// ---- coming together

Status TemplateTransport::listen() {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  int fd = new_socket();
  if (epoll_ < 0 || fd < 0) return Status::failure("no Unix socket can be made: " + error_text(errno));
  describe_machine(own_);
  fill_random(own_.name, sizeof own_.name);
  socklen_t size = 0;
  sockaddr_un name = socket_name(own_, &size);
  listener_ = &add_socket(fd, nullptr);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&name), size) != 0 || ::listen(fd, SOMAXCONN) != 0)
    return Status::failure("cannot listen on a Unix socket: " + error_text(errno));
  return {};
}

/// Edges are enough, of bytes and of room: progress() looks at every socket until it has nothing more.
Socket& TemplateTransport::add_socket(int fd, SocketLink* link) {
  sockets_.push_back(std::make_unique<Socket>(fd));
  Socket& socket = *sockets_.back();
  socket.link = link;
  epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLET, .data = {.ptr = &socket}};
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0)
    log::warn("template transport: a socket cannot be watched: " + error_text(errno));
  return socket;
}

Result<Link*> TemplateTransport::connect(PeerId peer, Bytes address) {
  Address there;
  if (!read_address(address, &there)) return Status::failure("that is no address of the template transport");
  if (PacketLink* known = links_.find(peer)) return static_cast<Link*>(known);
  SocketLink& link = new_link(peer);
  link.address = there;
  if (int fd = new_socket(); fd >= 0) {
    link.out = &add_socket(fd, &link);
    link.out->connected = false;
    open_way(link);
  } else {
    fail(link, "no socket for it: " + error_text(errno));
  }
  return static_cast<Link*>(&link);
}

/// Connects, or connects again: a Unix socket takes a connection at once unless the peer has too many to look at.
bool TemplateTransport::open_way(SocketLink& link) {
  if (link.out->connected) return true;
  socklen_t size = 0;
  sockaddr_un name = socket_name(link.address, &size);
  if (::connect(link.out->fd, reinterpret_cast<sockaddr*>(&name), size) != 0) {
    if (errno != EAGAIN && errno != EINTR) fail(link, "cannot connect to it: " + error_text(errno));
    return false;
  }
  link.out->connected = true;
  // Over a network the secret must not travel: see the handshake of machine/tcp. Here the kernel is the only witness.
  return send(link, {.kind = Packet::Kind::hello, .from = self_}, secret_, {});
}

void TemplateTransport::accept_all() {
  for (int fd; (fd = ::accept4(listener_->fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;)
    add_socket(fd, nullptr);
}

/// Two workers may connect to each other at the same time. Then each writes its own socket and both read both: every
/// direction has one socket, hence one order, and it need not be decided which was first.
void TemplateTransport::greet(Socket& socket, const Packet& packet, Bytes bytes) {
  bool fits = packet.kind == Packet::Kind::hello && packet.from != 0 && packet.from != self_ &&
              std::equal(bytes.begin(), bytes.end(), secret_.begin(), secret_.end());
  if (!fits) {
    log::warn("template transport: a connection was refused: it comes from another job, or speaks another language");
    socket.dead = true;
    return;
  }
  PacketLink* known = links_.find(packet.from);
  SocketLink& link = known != nullptr ? of(*known) : new_link(packet.from);
  socket.link = &link;
  if (link.out != nullptr && link.out->connected) return;
  if (link.out != nullptr) link.out->dead = true;
  link.out = &socket;
}

// ---- packets

bool TemplateTransport::send(PacketLink& to, const Packet& packet, Bytes first, Bytes second) {
  SocketLink& link = of(to);
  if (!open_way(link)) return false;
  iovec parts[3] = {{const_cast<Packet*>(&packet), sizeof packet},
                    {const_cast<std::byte*>(first.data()), first.size()},
                    {const_cast<std::byte*>(second.data()), second.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 3;
  if (::sendmsg(link.out->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return true;
  if (errno != EAGAIN && errno != ENOBUFS && errno != EINTR)
    fail(link, "the connection to it broke: " + error_text(errno));
  return false;
}

int TemplateTransport::receive(Socket& socket) {
  int handed_up = 0;
  for (int packets = 0; packets < 64 && !socket.dead; ++packets) {
    ssize_t size = ::recv(socket.fd, packet_.data(), packet_.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (size < 0 && errno == ECONNRESET) continue;  // said once; what came before it is still to be read
    has_read_ = true;
    const auto length = static_cast<std::size_t>(std::max<ssize_t>(size, 0));
    Packet packet;
    const bool whole = length <= packet_.size() && length >= sizeof packet &&
                       unpack(Bytes(packet_).first(sizeof packet), &packet) && packet.magic == Packet::kMagic;
    const Bytes bytes = whole ? Bytes(packet_).subspan(sizeof packet, length - sizeof packet) : Bytes();
    if (socket.link == nullptr && whole) {
      greet(socket, packet, bytes);
    } else if (socket.link == nullptr) {
      if (size > 0) log::warn("template transport: a connection was refused: it does not speak this protocol");
      socket.dead = true;
    } else if (size <= 0) {
      fail(*socket.link, "it closed the connection, or its process ended");
    } else if (!whole) {
      fail(*socket.link, "it sent what this version does not understand");
    } else {
      handed_up += take(*socket.link, packet, bytes);
    }
  }
  return handed_up;
}

// ---- progress

int TemplateTransport::progress() {
  has_read_ = false;
  // Destroyed here and nowhere else: a call-back may close the link that it is called for.
  std::erase_if(sockets_, [](const auto& socket) { return socket->dead; });
  links_.reap();

  std::array<epoll_event, 32> edges;  // no more of these until something happens after this
  ::epoll_wait(epoll_, edges.data(), static_cast<int>(edges.size()), 0);
  for (auto& link : links_) {
    if (!link->gone() && open_way(of(*link))) answer_owed(*link);
  }
  accept_all();
  int handed_up = 0;
  for (std::size_t i = 0; i < sockets_.size(); ++i)
    if (sockets_[i].get() != listener_ && sockets_[i]->connected) handed_up += receive(*sockets_[i]);
  return handed_up + tell_deferred();
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
