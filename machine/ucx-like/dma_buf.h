// Memory of a GPU as the drivers of other devices take it: a file of the kernel's.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <utility>

namespace periapt::ucx {

class DmaBuf {
 public:
  DmaBuf(int fd, std::uint64_t offset) : fd_(fd), offset_(offset) {}
  DmaBuf(DmaBuf&& other) noexcept : fd_(std::exchange(other.fd_, -1)), offset_(other.offset_) {}
  DmaBuf(const DmaBuf&) = delete;
  ~DmaBuf() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }
  std::uint64_t offset() const { return offset_; }  ///< of the memory's first byte in the file

 private:
  int fd_;
  std::uint64_t offset_;
};

}  // namespace periapt::ucx
