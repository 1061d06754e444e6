#include "tools/charmrun/channel.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace periapt::charmrun {
namespace {
void never_block(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }
}  // namespace

Channel::Channel(int in, int out) : in_(in), out_(out) {
  never_block(in_);
  never_block(out_);
}

Channel& Channel::operator=(Channel&& other) noexcept {
  close();
  in_ = std::exchange(other.in_, -1);
  out_ = std::exchange(other.out_, -1);
  queue_ = std::move(other.queue_);
  sent_ = other.sent_;
  reader_ = std::move(other.reader_);
  return *this;
}

void Channel::close() {
  close_out();
  if (in_ >= 0) ::close(in_);
  in_ = -1;
}

void Channel::close_out() {
  if (out_ >= 0 && out_ != in_) ::close(out_);
  out_ = -1;
  queue_.clear();
  sent_ = 0;
}

void Channel::send(const bootstrap::Frame& frame) { send_raw(bootstrap::encode_frame(frame)); }

void Channel::send_raw(const std::string& bytes) {
  if (out_ < 0) return;
  queue_ += bytes;
  flush();
}

void Channel::flush() {
  while (out_ >= 0 && sent_ < queue_.size()) {
    ssize_t n = ::write(out_, queue_.data() + sent_, queue_.size() - sent_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) return close_out();  // reading tells that the other side has gone
    sent_ += static_cast<std::size_t>(n);
  }
  if (sent_ == queue_.size() || sent_ > 1 << 20) {
    queue_.erase(0, sent_);
    sent_ = 0;
  }
}

bool Channel::fill() {
  char bytes[65536];
  for (int round = 0; round < 16; ++round) {
    ssize_t n = ::read(in_, bytes, sizeof(bytes));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    if (n == 0) return false;
    if (prologue != nullptr) {
      prologue->append(bytes, static_cast<std::size_t>(n));
    } else {
      reader_.feed(bytes, static_cast<std::size_t>(n));
    }
    if (static_cast<std::size_t>(n) < sizeof(bytes)) return true;
  }
  return true;
}

}  // namespace periapt::charmrun
