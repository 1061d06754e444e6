#include "machine/nccl-net/meeting.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/error_text.h"
#include "base/secret.h"
#include "base/this_host.h"
#include "machine/tcp/devices.h"

namespace periapt::nccl_net {
namespace {

constexpr std::uint32_t kLongestFrame = 16 << 10;  // an address has some hundred bytes
// Connections that have not said what they are to say, and how long the oldest of them may take before a new one has
// its place. Those that are meant say it when their program asks again.
constexpr std::size_t kMostArriving = 128;
constexpr std::uint64_t kSilentNsMost = 1'000'000'000;

struct GreetingHeader {
  std::uint64_t magic = Handle::kMagic;
  std::uint64_t number = 0;
  std::uint64_t length = 0;
};

using Ip = std::array<std::byte, 16>;
constexpr Ip kMappedPrefix = {{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, std::byte{0xFF}, std::byte{0xFF}}};

Ip mapped(const void* four) {
  Ip ip = kMappedPrefix;
  std::memcpy(&ip[12], four, 4);
  return ip;
}

int nonblocking_socket(int family) { return ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

socklen_t to_socket(const Ip& ip, std::uint16_t port, sockaddr_storage* socket) {
  tcp::Address address{.family = 6, .port = port, .ip = ip};
  if (std::memcmp(ip.data(), kMappedPrefix.data(), 12) == 0) {
    address.family = 4;
    std::memcpy(address.ip.data(), &ip[12], 4);
  }
  return tcp::to_socket(address, socket);
}

// Bound to all addresses of this host; which of them others are told is another matter.
int listening_socket() {
  for (const int family : {AF_INET6, AF_INET}) {
    const int fd = nonblocking_socket(family);
    if (fd < 0) continue;
    const int off = 0;
    if (family == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    tcp::Address any;
    any.family = family == AF_INET6 ? 6 : 4;
    if (tcp::bind_somewhere(fd, any) && ::listen(fd, 1024) == 0) return fd;
    const int error = errno;
    ::close(fd);
    errno = error;
  }
  return -1;
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  fill_random(&number, sizeof(number));
  return number;
}

}  // namespace

// ---- streams

Stream::~Stream() { ::close(fd_); }

void Stream::send(std::uint64_t number, std::span<const std::byte> bytes) {
  const GreetingHeader head{.number = number, .length = bytes.size()};
  const auto* const raw = reinterpret_cast<const std::byte*>(&head);
  out_.insert(out_.end(), raw, raw + sizeof(head));
  out_.insert(out_.end(), bytes.begin(), bytes.end());
  flush();
}

// Of a socket that is being connected an error is told once, and by nothing else.
bool Stream::is_connected() {
  if (connected_) return true;
  sockaddr_storage other;
  socklen_t length = sizeof(other);
  if (::getpeername(fd_, reinterpret_cast<sockaddr*>(&other), &length) == 0) return connected_ = true;
  int error = 0;
  length = sizeof(error);
  ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) failure_ = error_text(error);
  return false;
}

void Stream::flush() {
  while (failure_.empty() && !out_.empty() && is_connected()) {
    const ssize_t count = ::send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno != EAGAIN) failure_ = error_text(errno);
    if (count < 0) return;
    out_.erase(out_.begin(), out_.begin() + count);
  }
}

std::optional<Stream::Frame> Stream::receive() {
  flush();
  while (failure_.empty() && is_connected()) {
    GreetingHeader head;
    std::size_t wanted = sizeof(head);
    if (in_.size() >= sizeof(head)) {
      std::memcpy(&head, in_.data(), sizeof(head));
      if (head.magic != Handle::kMagic || head.length > kLongestFrame) {
        failure_ = "what came is not of this plug-in, or of another version of it";
        return std::nullopt;
      }
      wanted += head.length;
      if (in_.size() == wanted) {
        Frame frame{head.number, {in_.begin() + sizeof(head), in_.end()}};
        in_.clear();
        return frame;
      }
    }
    std::byte some[4096];
    const ssize_t count = ::recv(fd_, some, std::min(sizeof(some), wanted - in_.size()), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return std::nullopt;
    if (count <= 0) {
      failure_ = count == 0 ? "the other process has gone, or has closed" : error_text(errno);
      return std::nullopt;
    }
    in_.insert(in_.end(), some, some + count);
  }
  return std::nullopt;
}

// ---- the side that listens

Result<std::unique_ptr<Listener>> Listener::open(const std::string& devices) {
  const auto interfaces = tcp::list_interfaces();
  if (!interfaces) return interfaces.status();
  const int fd = listening_socket();
  if (fd < 0) return Status::failure("no TCP port could be opened to listen on: " + error_text(errno));
  std::unique_ptr<Listener> listener(new Listener(fd));
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length);
  Handle& handle = listener->handle_;
  handle.number = random_number();
  handle.token = random_number();
  handle.boot = boot_number();
  handle.network = namespace_number("net");
  handle.port = tcp::from_socket(bound).port;
  for (const tcp::Choice& choice : tcp::choose(*interfaces, devices)) {
    const tcp::Interface& found = choice.interface;
    if (!choice.device.usable || found.loopback || found.link_local || handle.count == handle.addresses.size())
      continue;
    if (found.family == AF_INET6 && bound.ss_family != AF_INET6) continue;
    handle.addresses[handle.count++] = found.family == AF_INET6 ? found.ip : mapped(found.ip.data());
  }
  return listener;
}

Listener::~Listener() { ::close(fd_); }

std::optional<Listener::Arrived> Listener::look() {
  // What has been said already counts before there is a need for room.
  std::optional<Arrived> arrived = hear();
  if (arrived) return arrived;
  let_in();
  return hear();
}

void Listener::let_in() {
  const std::uint64_t now = clock::now_ns();
  for (std::size_t taken = 0; taken < kMostArriving; ++taken) {
    // Those that say nothing must not take all descriptors of this process. Others wait in the system's queue.
    const bool full = arriving_.size() == kMostArriving;
    if (full && now - arriving_.front().since_ns < kSilentNsMost) return;
    const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    if (full) arriving_.erase(arriving_.begin());
    arriving_.push_back({std::make_unique<Stream>(fd), now});
    arriving_.back().stream->send(handle_.number);
  }
}

std::optional<Listener::Arrived> Listener::hear() {
  for (auto at = arriving_.begin(); at != arriving_.end();) {
    std::optional<Stream::Frame> hello = at->stream->receive();
    if (!hello && at->stream->failure().empty()) {
      ++at;
      continue;
    }
    std::unique_ptr<Stream> stream = std::move(at->stream);
    at = arriving_.erase(at);
    if (!hello || !equal_secrets(&hello->number, &handle_.token, sizeof(handle_.token))) continue;
    return Arrived{std::move(stream), std::move(hello->bytes)};
  }
  return std::nullopt;
}

// ---- the side that connects

Connector::Connector(const Handle& handle, std::vector<std::byte> address)
    : handle_(handle), address_(std::move(address)) {
  try_all();
}

void Connector::try_all() {
  std::vector<Ip> all(handle_.addresses.begin(),
                      handle_.addresses.begin() + std::min<std::size_t>(handle_.count, handle_.addresses.size()));
  if (handle_.boot == boot_number() && handle_.network == namespace_number("net")) {
    const in_addr loopback{htonl(INADDR_LOOPBACK)};
    all = {mapped(&loopback)};
  }
  failure_ = "it has named no address";
  for (const Ip& ip : all) {
    sockaddr_storage to;
    const socklen_t length = to_socket(ip, handle_.port, &to);
    const int fd = nonblocking_socket(to.ss_family);
    if (fd < 0) {
      failure_ = error_text(errno);
      continue;
    }
    auto stream = std::make_unique<Stream>(fd);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&to), length) == 0 || errno == EINPROGRESS) {
      tried_.push_back(std::move(stream));
    } else {
      failure_ = error_text(errno);
    }
  }
}

Result<std::optional<Connector::Answered>> Connector::look() {
  for (auto at = tried_.begin(); at != tried_.end();) {
    const std::optional<Stream::Frame> greeting = (*at)->receive();
    if (greeting && greeting->number == handle_.number) {
      chosen_ = std::move(*at);
      chosen_->send(handle_.token, address_);
      tried_.clear();
      break;
    }
    const bool over = greeting.has_value() || !(*at)->failure().empty();
    if (over) failure_ = greeting ? "another process listens there" : (*at)->failure();
    at = over ? tried_.erase(at) : at + 1;
  }
  if (chosen_ == nullptr) {
    if (tried_.empty()) return Status::failure("the process that listens cannot be reached over TCP: " + failure_);
    return std::optional<Answered>();
  }
  std::optional<Stream::Frame> answer = chosen_->receive();
  if (!answer && chosen_->failure().empty()) return std::optional<Answered>();
  if (!answer) return Status::failure("the process that listens does not answer: " + chosen_->failure());
  return std::optional<Answered>(Answered{std::move(chosen_), answer->number, std::move(answer->bytes)});
}

}  // namespace periapt::nccl_net
