// Streams to and from files: toDisk, fromDisk. The same bytes as toMem and fromMem. The FILE stays the caller's: open
// it for binary, close it (and look at what fclose says: that is when the last bytes are written).
#pragma once

#include <cstdio>

#include "runtime/pup/operators.h"

namespace PUP {

class disk : public er {
 public:
  /// Bytes read or written through this stream.
  std::size_t size() const override { return done_; }
  std::size_t offset() const override { return begin_ + done_; }

 protected:
  disk(unsigned int type, FILE* f, unsigned int purpose);
  void impl_startSeek(seekBlock& s) override;
  std::size_t impl_tell(seekBlock& s) override;
  void impl_seek(seekBlock& s, std::size_t off) override;

  FILE* F;
  std::size_t begin_ = 0;  // offset in the file where this stream began
  std::size_t done_ = 0;
};

/// Packs into a file. A write that fails is remembered, and nothing more is written; ask checkError(). If it is not
/// asked, the destructor raises the error.
class toDisk : public disk {
 public:
  explicit toDisk(FILE* f, unsigned int purpose = 0) : disk(IS_PACKING, f, purpose) {}
  ~toDisk() override;
  /// Whether anything could not be written, now that the FILE's own buffer is flushed.
  bool checkError();
  /// In words: what failed, where, and why ("No space left on device").
  const char* errorMessage() const { return message_.c_str(); }

  void bytes(void* p, std::size_t n, std::size_t itemSize, dataType t) override;

 protected:
  void failed(std::size_t wanted, std::size_t written);
  std::string message_;
  bool asked_ = false;
};

/// Unpacks from a file. A file that ends early is a PUP::error.
class fromDisk : public disk {
 public:
  explicit fromDisk(FILE* f, unsigned int purpose = 0);
  void bytes(void* p, std::size_t n, std::size_t itemSize, dataType t) override;
  std::size_t remaining() const override { return length_ == unbounded ? unbounded : length_ - begin_ - done_; }
  std::size_t limit() const override { return length_; }

 protected:
  std::size_t length_ = unbounded;  // of the file, where that is known
};

namespace detail {
/// Length of the file behind f, `unbounded` for a pipe or a terminal; at least its present position.
std::size_t file_length(FILE* f, std::size_t* position);
}  // namespace detail

}  // namespace PUP
