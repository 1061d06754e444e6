// Where the two sides of a benchmark meet that are on two hosts: a TCP connection, beside what is measured.
#pragma once

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/error_text.h"
#include "base/fatal.h"

namespace periapt::bench {

class MeetingSocket {
 public:
  using Clock = std::chrono::steady_clock;

  /// HOST:PORT. `connects`: to it, as soon as the other side listens there. A side that has not come after `patience`
  /// never will: the program ends.
  MeetingSocket(const std::string& where, bool connects, std::chrono::milliseconds patience = std::chrono::minutes(1))
      : where_(where), end_(Clock::now() + patience) {
    const std::size_t colon = where.rfind(':');
    if (colon == std::string::npos) fatal("--across wants HOST:PORT, not " + where);
    addrinfo wanted{}, *found = nullptr;
    wanted.ai_family = AF_INET;
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = connects ? 0 : AI_PASSIVE;
    const std::string host = where.substr(0, colon), port = where.substr(colon + 1);
    if (const int error = ::getaddrinfo(connects ? host.c_str() : nullptr, port.c_str(), &wanted, &found); error != 0)
      fatal(where + ": " + ::gai_strerror(error));
    connects ? connect(*found) : accept(*found);
    ::freeaddrinfo(found);
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~MeetingSocket() { ::close(socket_); }
  MeetingSocket(const MeetingSocket&) = delete;
  MeetingSocket& operator=(const MeetingSocket&) = delete;

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) bytes = bytes.subspan(moved(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL)));
  }
  void read(std::span<std::byte> bytes) {
    while (!bytes.empty()) bytes = bytes.subspan(moved(::recv(socket_, bytes.data(), bytes.size(), 0)));
  }
  /// So many bytes can be read at once.
  bool has_come(std::size_t bytes) {
    char peeked[16];
    const ssize_t there = ::recv(socket_, peeked, sizeof peeked, MSG_PEEK | MSG_DONTWAIT);
    if (there == 0) fatal("the side on the other host has ended");
    return there >= static_cast<ssize_t>(bytes);
  }

 private:
  static std::size_t moved(ssize_t bytes) {
    if (bytes <= 0) fatal("the side on the other host can't be reached any more");
    return static_cast<std::size_t>(bytes);
  }
  /// 0: none.
  int left_ms() const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return static_cast<int>(std::max<std::int64_t>(left, 0));
  }
  /// A socket that is connected within the time that is left, or -1 with errno.
  int try_once(const addrinfo& to) const {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    const int left = std::max(left_ms(), 1);  // nothing would be no limit
    timeval limit{left / 1000, left % 1000 * 1000};
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // a host that is down answers nothing
    if (::connect(socket, to.ai_addr, to.ai_addrlen) != 0) {
      const int error = errno;
      ::close(socket);
      return errno = error, -1;
    }
    limit = {};
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    return socket;
  }
  void connect(const addrinfo& to) {
    while ((socket_ = try_once(to)) < 0) {
      const std::string why = error_text();
      if (left_ms() == 0)
        fatal("the side at " + where_ + " can't be reached (" + why + "): start it there with --side 1");
      ::usleep(100'000);  // it is being started
    }
  }
  void accept(const addrinfo& at) {
    const int listening = ::socket(AF_INET, SOCK_STREAM, 0), on = 1;
    ::setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(listening, at.ai_addr, at.ai_addrlen) != 0 || ::listen(listening, 1) != 0)
      fatal("the other host can't be awaited: " + error_text());
    pollfd comes{listening, POLLIN, 0};
    if (::poll(&comes, 1, left_ms()) != 1)
      fatal("the side on the other host has not come to " + where_ + ": start it there with --side 0");
    socket_ = ::accept(listening, nullptr, nullptr);
    ::close(listening);
  }

  const std::string where_;
  const Clock::time_point end_;
  int socket_ = -1;
};

}  // namespace periapt::bench
