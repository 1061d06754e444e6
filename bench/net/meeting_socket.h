// Where the two sides of a benchmark meet that are on two hosts: a TCP connection, beside what is measured.
#pragma once

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <span>
#include <string>

#include "base/error_text.h"
#include "base/fatal.h"

namespace periapt::bench {

class MeetingSocket {
 public:
  /// HOST:PORT. `connects`: to it, as soon as the other side listens there.
  MeetingSocket(const std::string& where, bool connects) {
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
  void connect(const addrinfo& to) {
    for (;;) {
      socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
      if (::connect(socket_, to.ai_addr, to.ai_addrlen) == 0) return;
      ::close(socket_);
      ::usleep(100'000);  // it is being started
    }
  }
  void accept(const addrinfo& at) {
    const int listening = ::socket(AF_INET, SOCK_STREAM, 0), on = 1;
    ::setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(listening, at.ai_addr, at.ai_addrlen) != 0 || ::listen(listening, 1) != 0)
      fatal("the other host can't be awaited: " + error_text());
    socket_ = ::accept(listening, nullptr, nullptr);
    ::close(listening);
  }

  int socket_ = -1;
};

}  // namespace periapt::bench
