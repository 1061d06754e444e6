#include "machine/shm/rendezvous.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "base/error_text.h"
#include "base/fnv1a.h"
#include "base/secret.h"
#include "base/this_host.h"

namespace periapt::shm {
namespace {

constexpr std::size_t kFilesMost = 3;

// An abstract name: it lives as long as the socket, in no file system.
socklen_t fill_name(sockaddr_un& name, std::uint64_t number) {
  name = {};
  name.sun_family = AF_UNIX;
  int length = std::snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "periapt-shm-%016llx",
                             static_cast<unsigned long long>(number));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
}

File unix_socket() { return File(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

Status no_socket() { return Status::failure("could not make a Unix socket: " + error_text()); }

}  // namespace

void File::reset(int number) {
  if (number_ >= 0) ::close(number_);
  number_ = number;
}

HostIdentity this_host(const std::string& name) {
  HostIdentity host;
  host.name_hash = fnv1a(name.data(), name.size());
  const std::string boot = boot_id();
  std::copy_n(boot.begin(), std::min(boot.size(), host.boot_id.size()), host.boot_id.begin());
  host.pid_namespace = namespace_number("pid");
  host.net_namespace = namespace_number("net");
  host.user = ::geteuid();
  return host;
}

bool parse_address(std::span<const std::byte> bytes, Address& address) {
  if (bytes.size() != sizeof(Address)) return false;
  std::memcpy(&address, bytes.data(), sizeof(Address));
  return address.magic == Address::kMagic;
}

std::string Packet::reason() const { return {text.data(), std::min<std::size_t>(text_size, text.size())}; }

Result<File> listen_here(std::uint64_t& socket_name) {
  File socket = unix_socket();
  if (!socket) return no_socket();
  fill_random(&socket_name, sizeof(socket_name));
  sockaddr_un name;
  socklen_t length = fill_name(name, socket_name);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&name), length) != 0 || ::listen(socket.get(), 4096) != 0) {
    return Status::failure(std::string("could not listen on a Unix socket: ") + std::strerror(errno));
  }
  return socket;
}

Result<File> connect_to(std::uint64_t socket_name) {
  File socket = unix_socket();
  if (!socket) return no_socket();
  sockaddr_un name;
  socklen_t length = fill_name(name, socket_name);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&name), length) == 0) return socket;
  if (errno == EAGAIN || errno == EINTR) return File();
  return Status::failure(errno == ECONNREFUSED ? "nobody listens there any more: the process has ended"
                                               : std::string("the connection failed: ") + std::strerror(errno));
}

std::uint32_t peer_process(int socket) {
  ucred who{};
  socklen_t size = sizeof(who);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 || who.uid != ::geteuid()) return 0;
  return static_cast<std::uint32_t>(who.pid);
}

Sent send_packet(int socket, const Packet& packet, std::span<const int> files) {
  iovec bytes{const_cast<Packet*>(&packet), sizeof(packet)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kFilesMost * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (!files.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(files.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(rights), files.data(), files.size_bytes());
  }
  if (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return Sent::yes;
  // ETOOMANYREFS: more files are on their way between processes than this user may have open.
  bool later = errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ETOOMANYREFS;
  return later ? Sent::not_now : Sent::broken;
}

Arrival receive_packet(int socket) {
  Arrival arrival;
  iovec bytes{&arrival.packet, sizeof(Packet)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kFilesMost * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) {
    bool later = errno == EAGAIN || errno == EINTR;
    arrival.what = later ? Arrival::What::nothing_yet : Arrival::What::end;
    return arrival;
  }
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      arrival.files.emplace_back(number);
    }
  }
  bool whole = got == sizeof(Packet) && (message.msg_flags & MSG_TRUNC) == 0;
  bool ours = whole && arrival.packet.magic == Packet::kMagic && arrival.packet.version == Packet::kVersion;
  bool without_files = (message.msg_flags & MSG_CTRUNC) != 0;
  arrival.what = got == 0        ? Arrival::What::end
                 : !ours         ? Arrival::What::broken
                 : without_files ? Arrival::What::no_files
                                 : Arrival::What::packet;
  return arrival;
}

bool same_secret(std::span<const std::byte> expected, const Packet& packet) {
  if (packet.text_size != expected.size() || expected.size() > packet.text.size()) return false;
  return equal_secrets(expected.data(), packet.text.data(), expected.size());
}

bool set_secret(Packet& packet, std::span<const std::byte> secret) {
  if (secret.size() > packet.text.size()) return false;
  packet.text_size = static_cast<std::uint32_t>(secret.size());
  if (!secret.empty()) std::memcpy(packet.text.data(), secret.data(), secret.size());
  return true;
}

Packet refusal(const std::string& reason) {
  Packet packet;
  packet.kind = PacketKind::refuse;
  packet.text_size = static_cast<std::uint32_t>(std::min(reason.size(), packet.text.size()));
  std::memcpy(packet.text.data(), reason.data(), packet.text_size);
  return packet;
}

}  // namespace periapt::shm
