// A file descriptor that is closed when its owner ends.
#pragma once

#include <unistd.h>

#include <utility>

namespace periapt {

class OwnedDescriptor {
 public:
  /// Negative: none.
  explicit OwnedDescriptor(int fd) : fd_(fd) {}
  OwnedDescriptor(OwnedDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedDescriptor(const OwnedDescriptor&) = delete;
  ~OwnedDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace periapt
