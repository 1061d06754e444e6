// What a loopback connection can do at all, as a Side of bench/net: one spinning socket for each pair, no header, no
// tag. A small message has ended when it is copied; they leave with one send() when 32 KB of them are there, or when
// the sender waits for something, which is the best that gathering them can do.
#pragma once

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdint>
#include <deque>

#include "bench/net/place.h"

namespace periapt::bench {

/// A connection between the two of a pair.
inline int connect_pair(Place& place) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const int door = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::bind(door, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(door, 1) != 0)
    fatal("no socket on the loopback interface");
  ::getsockname(door, reinterpret_cast<sockaddr*>(&address), &size);
  std::vector<std::byte> theirs = place.exchange(&address, sizeof address, [] {});
  int fd;
  if (place.index() > place.partner()) {
    fd = ::accept(door, nullptr, nullptr);
  } else {
    std::memcpy(&address, theirs.data(), sizeof address);
    fd = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), size) != 0) fatal("the bare socket does not connect");
  }
  ::close(door);
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return fd;
}

class BareTcp {
 public:
  /// The n-th of its kind.
  enum class Kind { small, large, receive };
  struct Request {
    std::uint64_t number = 0;
    Kind kind = Kind::small;
  };

  /// `zero_copy`: large messages are sent with MSG_ZEROCOPY, and end when the kernel has let go of them.
  BareTcp(Place& place, bool zero_copy)
      : place_(place), fd_(connect_pair(place)), zero_copy_(zero_copy), staged_(kStaged), arrived_(kStaged) {
    const int one = 1;
    if (zero_copy_ && ::setsockopt(fd_, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof one) != 0)
      fatal("this kernel has no MSG_ZEROCOPY");
  }
  std::string about() const { return std::string("bare spinning sockets") + (zero_copy_ ? ", MSG_ZEROCOPY" : ""); }
  int index() const { return place_.index(); }
  void meet() {
    push();
    place_.meet([] {});
  }
  std::vector<double> gather(double mine) {
    push();
    return place_.gather(mine, [] {});
  }
  std::byte* outgoing(int slot, std::size_t size) { return slots_.outgoing(slot, size); }
  const std::byte* incoming(int slot, std::size_t size) { return slots_.incoming(slot, size); }

  Request send(int slot, std::size_t size) {
    const std::byte* from = outgoing(slot, size);
    if (size <= kSmall) {
      if (staged_size_ + size > kStaged) push();
      std::memcpy(staged_.data() + staged_size_, from, size);
      staged_size_ += size;
      return {0, Kind::small};
    }
    push();
    out_.push_back({const_cast<std::byte*>(from), size});
    work();
    return {++begun_out_, Kind::large};
  }
  Request receive(int slot, std::size_t size) {
    in_.push_back({slots_.incoming(slot, size), size});
    return {++begun_in_, Kind::receive};
  }
  void wait(Request& request) {
    if (request.kind == Kind::small) return;
    push();
    while ((request.kind == Kind::receive ? ended_in_ : ended_out_) < request.number) {
      work();
      place_.relax();
    }
  }

 private:
  static constexpr std::size_t kSmall = 1024, kStaged = 32 << 10;
  struct Piece {
    std::byte* at;
    std::size_t left;
  };

  /// All that is staged, to the end.
  void push() {
    if (staged_size_ == 0) return;
    while (!out_.empty()) work();
    for (std::size_t at = 0; at < staged_size_;) {
      const ssize_t sent = ::send(fd_, staged_.data() + at, staged_size_ - at, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent > 0)
        at += static_cast<std::size_t>(sent);
      else
        read();
    }
    staged_size_ = 0;
  }
  void work() {
    while (!out_.empty()) {
      const int how = MSG_DONTWAIT | MSG_NOSIGNAL | (zero_copy_ ? MSG_ZEROCOPY : 0);
      const ssize_t sent = ::send(fd_, out_.front().at, out_.front().left, how);
      if (sent <= 0) break;
      zero_copy_begun_ += zero_copy_;
      if (!advance(out_, static_cast<std::size_t>(sent))) continue;
      if (zero_copy_)
        lent_.push_back(zero_copy_begun_);
      else
        ++ended_out_;
    }
    if (!lent_.empty()) reap();
    read();
  }
  /// What the kernel says it has let go of: ranges of the numbers of calls.
  void reap() {
    char room[128];
    msghdr message{};
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    if (::recvmsg(fd_, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return;
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
      sock_extended_err told;
      std::memcpy(&told, CMSG_DATA(part), sizeof told);
      if (told.ee_origin == SO_EE_ORIGIN_ZEROCOPY) zero_copy_ended_ = told.ee_data + 1;
    }
    while (!lent_.empty() && static_cast<std::int32_t>(zero_copy_ended_ - lent_.front()) >= 0) {
      lent_.pop_front();
      ++ended_out_;
    }
  }
  void read() {
    while (!in_.empty()) {
      if (arrived_at_ == arrived_size_ && in_.front().left > kSmall) {
        const ssize_t got = ::recv(fd_, in_.front().at, in_.front().left, MSG_DONTWAIT);
        if (got <= 0) return;
        if (advance(in_, static_cast<std::size_t>(got))) ++ended_in_;
        continue;
      }
      if (arrived_at_ == arrived_size_) {
        const ssize_t got = ::recv(fd_, arrived_.data(), kStaged, MSG_DONTWAIT);
        if (got <= 0) return;
        arrived_at_ = 0;
        arrived_size_ = static_cast<std::size_t>(got);
      }
      const std::size_t here = std::min(in_.front().left, arrived_size_ - arrived_at_);
      std::memcpy(in_.front().at, arrived_.data() + arrived_at_, here);
      arrived_at_ += here;
      if (advance(in_, here)) ++ended_in_;
    }
  }
  static bool advance(std::deque<Piece>& queue, std::size_t bytes) {
    Piece& piece = queue.front();
    piece.at += bytes;
    piece.left -= bytes;
    if (piece.left > 0) return false;
    queue.pop_front();
    return true;
  }

  Place& place_;
  int fd_;
  bool zero_copy_;
  std::uint32_t zero_copy_begun_ = 0, zero_copy_ended_ = 0;  // calls of send()
  std::deque<std::uint32_t> lent_;                           // messages, by their last call
  Slots slots_;
  std::deque<Piece> out_, in_;
  std::vector<std::byte> staged_, arrived_;
  std::size_t staged_size_ = 0, arrived_at_ = 0, arrived_size_ = 0;
  std::uint64_t begun_out_ = 0, ended_out_ = 0, begun_in_ = 0, ended_in_ = 0;
};

}  // namespace periapt::bench
