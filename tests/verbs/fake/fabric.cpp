#include "tests/verbs/fake/fabric.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>

namespace periapt::fake_verbs {
namespace {

constexpr std::uint32_t kContexts = 1u << (24 - kPairBits);

sockaddr_un name_of(std::uint32_t context, socklen_t* size) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;  // and a first byte of 0: not in the file system
  const int length = std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "periapt-fake-verbs-%u", context);
  *size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  return name;
}

int new_socket() { return ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

// In turn, from a place that differs from process to process, so that a number is not used again soon.
std::uint32_t next_number() {
  static std::atomic<std::uint32_t> last{std::random_device{}()};
  static pid_t owner = ::getpid();
  if (owner != ::getpid()) owner = ::getpid(), last = std::random_device{}();  // forked
  return 1 + last++ % (kContexts - 1);
}

}  // namespace

Fabric::Fabric() {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  event_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  for (int fd : {event_, timer_}) {
    epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }
  const int fd = new_socket();
  socklen_t size = 0;
  sockaddr_un name{};
  do name = name_of(number_ = next_number(), &size);
  while (::bind(fd, reinterpret_cast<sockaddr*>(&name), size) != 0 && errno == EADDRINUSE);
  if (::listen(fd, SOMAXCONN) != 0) std::abort();
  add(fd, EPOLLIN).listens = true;
}

Fabric::~Fabric() {
  for (auto& socket : sockets_) ::close(socket->fd);
  for (int fd : {event_, timer_, epoll_}) ::close(fd);
}

void Fabric::signal(bool on) {
  std::uint64_t one = 1;
  if (on ? ::write(event_, &one, sizeof one) < 0 : ::read(event_, &one, sizeof one) < 0) return;
}

void Fabric::wake_later() {
  itimerspec after{};
  after.it_value.tv_nsec = 20'000'000;
  ::timerfd_settime(timer_, 0, &after, nullptr);
}

Fabric::Socket& Fabric::add(int fd, unsigned events) {
  sockets_.push_back(std::make_unique<Socket>());
  sockets_.back()->fd = fd;
  epoll_event event{.events = events, .data = {.ptr = sockets_.back().get()}};
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  return *sockets_.back();
}

void Fabric::drop(Socket& socket) {
  ::close(std::exchange(socket.fd, -1));
  if (socket.in || socket.listens) return;
  socket.waiting.clear();
  socket.bytes = 0;
  ways_[socket.context] = nullptr;
  gone_.push_back(socket.context);
}

Fabric::Socket* Fabric::way_to(std::uint32_t context) {
  auto [known, is_new] = ways_.emplace(context, nullptr);
  if (!is_new) return known->second;
  const int fd = new_socket();
  socklen_t size = 0;
  sockaddr_un name = name_of(context, &size);
  Socket& socket = add(fd, 0);
  socket.context = context;
  // Only a full queue of connections would be EAGAIN: it is long enough for a test.
  if (::connect(fd, reinterpret_cast<sockaddr*>(&name), size) != 0) return drop(socket), nullptr;
  return known->second = &socket;
}

std::size_t Fabric::waiting(std::uint32_t context) const {
  auto known = ways_.find(context);
  return known == ways_.end() || known->second == nullptr ? 0 : known->second->bytes;
}

void Fabric::send(const Packet& packet, Bytes bytes) {
  Socket* socket = way_to(context_of(packet.to));
  if (socket == nullptr) return;
  std::vector<std::byte> whole(sizeof packet + bytes.size());
  std::memcpy(whole.data(), &packet, sizeof packet);
  if (!bytes.empty()) std::memcpy(whole.data() + sizeof packet, bytes.data(), bytes.size());
  socket->bytes += whole.size();
  socket->waiting.push_back(std::move(whole));
  if (socket->waiting.size() == 1) write(*socket);
}

void Fabric::write(Socket& socket) {
  while (!socket.waiting.empty()) {
    const auto& first = socket.waiting.front();
    if (::send(socket.fd, first.data(), first.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
      if (errno != EAGAIN && errno != ENOBUFS) return drop(socket);
      break;
    }
    socket.bytes -= first.size();
    socket.waiting.pop_front();
  }
  if (socket.waiting.empty() != socket.watches_room) return;
  socket.watches_room = !socket.watches_room;
  epoll_event event{.events = socket.waiting.empty() ? 0u : EPOLLOUT, .data = {.ptr = &socket}};
  ::epoll_ctl(epoll_, EPOLL_CTL_MOD, socket.fd, &event);
}

void Fabric::read(Socket& socket, const std::function<void(const Packet&, Bytes)>& take) {
  for (;;) {
    const ssize_t size = ::recv(socket.fd, room_.data(), room_.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size < static_cast<ssize_t>(sizeof(Packet))) return drop(socket);
    Packet packet;
    std::memcpy(&packet, room_.data(), sizeof packet);
    take(packet, Bytes(room_).subspan(sizeof packet, static_cast<std::size_t>(size) - sizeof packet));
  }
}

void Fabric::pump(const std::function<void(const Packet&, Bytes)>& take,
                  const std::function<void(std::uint32_t)>& gone) {
  epoll_event events[64];
  const int count = ::epoll_wait(epoll_, events, 64, 0);
  for (int i = 0; i < count; ++i) {
    auto* socket = static_cast<Socket*>(events[i].data.ptr);
    if (socket == nullptr) {
      std::uint64_t ticks = 0;
      if (::read(timer_, &ticks, sizeof ticks) < 0) continue;
    } else if (socket->fd < 0) {
      continue;
    } else if (socket->listens) {
      for (int fd; (fd = ::accept4(socket->fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;)
        add(fd, EPOLLIN).in = true;
    } else if (socket->in) {
      read(*socket, take);
    } else if ((events[i].events & (EPOLLHUP | EPOLLERR)) != 0) {
      drop(*socket);
    } else {
      write(*socket);
    }
  }
  if (!gone_.empty()) {
    for (std::uint32_t context : std::exchange(gone_, {})) gone(context);
  }
  std::erase_if(sockets_, [](const auto& socket) { return socket->fd < 0; });
}

}  // namespace periapt::fake_verbs
