#include "machine/tcp/link.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "machine/tcp/transport.h"

namespace periapt::tcp {

using ucx::Accepted;
using ucx::Outcome;

namespace {

// As soon as a process has a second thread, the C library's calls note before and after that they may be cancelled: two
// atomic operations, a tenth of what a look costs that finds nothing.
ssize_t receive_uncancelled(int fd, void* bytes, std::size_t size) {
  return ::syscall(SYS_recvfrom, fd, bytes, size, MSG_DONTWAIT, nullptr, nullptr);
}
ssize_t send_uncancelled(int fd, const void* bytes, std::size_t size) {
  return ::syscall(SYS_sendto, fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL, nullptr, 0);
}

// Of a message that is handed up from the buffer it was read into.
bool is_whole(Prefix prefix) {
  return prefix.kind() == FrameKind::message && prefix.header() <= kHeaderMax && prefix.size() <= kWholeMax;
}

}  // namespace

Watched::~Watched() {
  if (fd >= 0) ::close(fd);
}

TcpLink::TcpLink(TcpTransport& transport, ucx::PeerId peer)
    : Link(transport, peer),
      Watched(Kind::link, -1),
      outbox(transport.chunks_, &TcpTransport::ended, &transport),
      tcp_(transport) {}

// ---- out

void TcpLink::write() {
  blocked = false;
  const std::uint64_t begin_ns = clock::now_ns();
  while (!outbox.empty()) {
    iovec parts[64];
    std::size_t bytes = 0;
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = static_cast<std::size_t>(outbox.gather(parts, &bytes));
    // send() is cheaper than sendmsg(), and small messages lie in one part.
    ssize_t written = message.msg_iovlen == 1 ? send_uncancelled(fd, parts[0].iov_base, bytes)
                                              : ::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    // What the peer sent before the connection broke is still to be read: receive() finds the end and says why.
    if (written < 0 && errno != EAGAIN && errno != ENOBUFS) write_error_ = errno;
    if (written > 0) outbox.written(static_cast<std::size_t>(written));
    blocked = written < static_cast<ssize_t>(bytes);
    if (blocked) break;
  }
  received_ = false;
  last_write_ns_ = clock::now_ns();
  hold_ns_ = std::min(kHoldWrites * (last_write_ns_ - begin_ns), kHoldMaxNs);
  tcp_.update_watch(*this);
}

Accepted TcpLink::flush(ucx::Completion& completion) {
  if (flushes_.size() >= kFlushesMax) return Accepted::no_resource;
  flushes_.push_back({++flush_number_ & Prefix::kSizeMax, &completion});
  outbox.add_frame(Prefix(FrameKind::flush, 0, flushes_.back().number), {}, {});
  return Accepted::pending;
}

void TcpLink::end_all(Outcome outcome) {
  outbox.clear(outcome);
  for (const Flush& flush : flushes_) TcpTransport::ended(&tcp_, *flush.completion, outcome);
  flushes_.clear();
  beginning_.clear();
  drop_rest();
  placing_ = false;
}

// ---- in

void TcpLink::broken(int error) {
  if (error == 0) error = write_error_;
  if (error == ETIMEDOUT) return tcp_.fail(*this, tcp_.silence());  // the kernel asked an idle connection (tune())
  tcp_.fail(*this, error == 0 || error == ECONNRESET || error == EPIPE
                       ? "its process ended: the connection was closed without notice"
                       : std::string("the connection to it broke: ") + std::strerror(error));
}

void TcpLink::allow() {
  left_ = holds() || tcp_.holding_.size() < kHoldingMax ? kAtATime : std::numeric_limits<int>::max();
}

/// Hands up what was left of the last read. If nothing was, reads: behind the beginning of a frame that is not whole
/// yet, or first what is missing of a message that is being placed.
void TcpLink::receive() {
  allow();
  if (holds()) return take(rest_.at, rest_.size);
  std::byte* buffer = tcp_.buffer_.get();
  // Frames begin at multiples of 8 in the buffer, so that headers and payloads are aligned for their readers.
  std::size_t begin = (8 - skip_) % 8;
  iovec parts[2];
  int count = 0;
  std::size_t direct_most = 0;
  if (placing_) {
    direct_most = std::min<std::uint64_t>(placement_.left, outbox.empty() ? kPlacedAtATime : Prefix::kSizeMax);
    parts[count++] = {placement_.at, direct_most};
  } else if (!beginning_.empty()) {
    std::memcpy(buffer, beginning_.data(), beginning_.size());
  }
  std::size_t have = beginning_.size();
  if (direct_most == placement_.left)
    parts[count++] = {buffer + begin + have, expects_large() ? kLargeBegins : kReceiveBytes};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = static_cast<std::size_t>(count);
  ssize_t size =
      count == 1 ? receive_uncancelled(fd, parts[0].iov_base, parts[0].iov_len) : ::recvmsg(fd, &message, MSG_DONTWAIT);
  if (size <= 0) {
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    return broken(size == 0 ? 0 : errno);
  }
  received_ = true;
  auto more = static_cast<std::size_t>(size);
  if (placing_) more -= take_placed(more);
  beginning_.clear();
  if (have + more > 0 && open()) take(buffer + begin, have + more);
}

/// So many bytes were read, the first of them of the message that is being placed; returns how many of them are its.
std::size_t TcpLink::take_placed(std::size_t size) {
  const std::size_t direct = std::min<std::uint64_t>(size, placement_.left);
  placement_.at += direct;
  placement_.left -= direct;
  if (placement_.left == 0) finish_placement();
  return direct;
}

void TcpLink::receive_early(Bytes bytes) {
  std::memcpy(tcp_.buffer_.get(), bytes.data(), bytes.size());
  allow();
  take(tcp_.buffer_.get(), bytes.size());
}

/// Takes the frames that are there. What remains is the beginning of one, or waits for the next progress().
void TcpLink::take(std::byte* at, std::size_t size) {
  std::size_t used = std::min(skip_, size);
  skip_ -= used;
  while (open() && !placing_ && left_ > 0 && size - used >= sizeof(Prefix)) {
    Prefix prefix;
    std::memcpy(&prefix, at + used, sizeof prefix);
    std::size_t frame = padded(sizeof prefix + prefix.header() + prefix.size());
    if (is_whole(prefix)) {
      if (size - used < frame) break;
      const std::byte* header = at + used + sizeof prefix;
      last_was_large_ = false;
      ++tcp_.handed_up_;
      const bool goes_on =
          tcp_.receiver_.arrived(*this, {header, prefix.header()}, {header + prefix.header(), prefix.size()});
      left_ = goes_on || left_ > kAtATime ? left_ - 1 : 0;
    } else {
      frame = take_other(prefix, at + used, size - used);
      if (frame == 0) break;
    }
    used += frame;
  }
  if (!open()) return;
  const bool more = used < size, stopped = more && left_ == 0;
  if (stopped) return keep_rest(at + used, size - used);
  if (more) beginning_.assign(at + used, at + size);
  drop_rest();
}

/// Returns how many bytes of the frame were taken: 0 while it is too short to begin with.
std::size_t TcpLink::take_other(Prefix prefix, const std::byte* at, std::size_t size) {
  if (prefix.kind() != FrameKind::message) {
    control(prefix);
    return sizeof prefix;
  }
  if (prefix.header() <= kHeaderMax) return begin_placement(prefix, at, size);
  tcp_.fail(*this, "it sent what this version does not understand");
  return size;
}

void TcpLink::keep_rest(std::byte* at, std::size_t size) {
  if (rest_.buffer == nullptr) {
    rest_.buffer = tcp_.swap_buffer();
    tcp_.holding_.push_back(this);
  }
  rest_.at = at;
  rest_.size = size;
}

void TcpLink::drop_rest() {
  if (rest_.buffer == nullptr) return;
  tcp_.spare_.push_back(std::move(rest_.buffer));
  rest_ = {};
  std::erase(tcp_.holding_, this);
}

std::size_t TcpLink::begin_placement(Prefix prefix, const std::byte* at, std::size_t size) {
  std::size_t before = sizeof prefix + prefix.header();
  if (size < before) return 0;
  std::byte* target = tcp_.receiver_.place(*this, {at + sizeof prefix, prefix.header()}, prefix.size());
  if (!open()) return size;
  if (target == nullptr) {
    tcp_.fail(*this, "a message of " + std::to_string(prefix.size()) + " bytes from it found no memory here");
    return size;
  }
  last_was_large_ = prefix.size() >= kReceiveBytes;
  std::size_t here = std::min<std::uint64_t>(size - before, prefix.size());
  std::memcpy(target, at + before, here);
  placing_ = true;
  placement_ = {target + here, prefix.size() - here};
  const std::uint64_t frame = before + prefix.size();
  skip_ = padded(frame) - frame;
  if (placement_.left != 0) return size;
  finish_placement();
  std::size_t skipped = std::min(skip_, size - before - here);
  skip_ -= skipped;
  return before + here + skipped;
}

void TcpLink::finish_placement() {
  placing_ = false;
  ++tcp_.handed_up_;
  tcp_.receiver_.placed(*this);
}

void TcpLink::control(Prefix prefix) {
  switch (prefix.kind()) {
    case FrameKind::flush: {
      bool was_empty = outbox.empty();
      outbox.add_frame(Prefix(FrameKind::flushed, 0, prefix.size()), {}, {});
      return tcp_.added(*this, was_empty);
    }
    case FrameKind::flushed:
      if (flushes_.empty() || flushes_.front().number != prefix.size()) break;
      TcpTransport::ended(&tcp_, *flushes_.front().completion, Outcome::ok);
      return flushes_.pop_front();
    case FrameKind::close:
      return tcp_.fail(*this, "it closed the link");
    case FrameKind::message:
      break;
  }
  tcp_.fail(*this, "it sent what this version does not understand");
}

}  // namespace periapt::tcp
