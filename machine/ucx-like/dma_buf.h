// Memory of a GPU as the drivers of other devices take it: a file of the kernel's.
#pragma once

#include <cstdint>

#include "base/owned_descriptor.h"

namespace periapt::ucx {

class DmaBuf {
 public:
  DmaBuf(int fd, std::uint64_t offset) : file_(fd), offset_(offset) {}
  int fd() const { return file_.fd(); }
  std::uint64_t offset() const { return offset_; }  ///< of the memory's first byte in the file

 private:
  OwnedDescriptor file_;
  std::uint64_t offset_;
};

}  // namespace periapt::ucx
