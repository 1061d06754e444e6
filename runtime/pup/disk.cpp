// Files, with every short read and failed write noticed.
#include "runtime/pup/disk.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace PUP {

namespace detail {
std::size_t file_length(FILE* f, std::size_t* position) {
  const off_t at = ftello(f);
  *position = at < 0 ? 0 : static_cast<std::size_t>(at);
  struct stat about;
  if (at < 0 || fstat(fileno(f), &about) != 0 || !S_ISREG(about.st_mode)) return unbounded;
  return std::max(static_cast<std::size_t>(about.st_size), *position);
}
}  // namespace detail

disk::disk(unsigned int type, FILE* f, unsigned int purpose) : er(direction(type), purpose), F(f) {
  if (!f) {
    detail::raise(error::kind::misuse, nullptr,
                  "PUP: the FILE* to pup with is null; fopen probably failed, look at errno after it");
  }
  const off_t at = ftello(f);
  if (at > 0) begin_ = static_cast<std::size_t>(at);
}

void disk::impl_startSeek(seekBlock& s) { s.data.off = done_; }
std::size_t disk::impl_tell(seekBlock& s) { return done_ - s.data.off; }
void disk::impl_seek(seekBlock& s, std::size_t off) {
  const std::size_t to = s.data.off + off;
  if (to < off || (limit() != unbounded && to > limit() - begin_)) detail::raise_overrun(*this, off, 1);
  if (fseeko(F, static_cast<off_t>(begin_ + to), SEEK_SET) != 0) {
    detail::raise(error::kind::io, this, std::string("PUP: cannot seek in the file: ") + std::strerror(errno));
  }
  done_ = to;
}

void toDisk::bytes(void* p, std::size_t n, std::size_t itemSize, dataType) {
  const std::size_t wanted = n * itemSize;
  if (!wanted || !message_.empty()) return;
  errno = 0;
  const std::size_t written = std::fwrite(p, 1, wanted, F);
  done_ += written;
  if (written != wanted) failed(wanted, written);
}

void toDisk::failed(std::size_t wanted, std::size_t written) {
  message_ = std::string("PUP: wrote ") + std::to_string(written) + " of " + std::to_string(wanted) +
             " bytes to the file at offset " + std::to_string(offset() - written) + ": " +
             (errno ? std::strerror(errno) : "unknown error");
  asked_ = false;
}

bool toDisk::checkError() {
  errno = 0;
  if (message_.empty() && std::fflush(F) != 0) {
    message_ = std::string("PUP: could not flush the file at offset ") + std::to_string(offset()) + ": " +
               std::strerror(errno);
  }
  asked_ = true;
  return !message_.empty();
}

toDisk::~toDisk() {
  if (!message_.empty() && !asked_ && !std::uncaught_exceptions()) {
    detail::raise(
        error(error::kind::io, message_ + ". (PUP::toDisk::checkError() lets a program handle this itself.)"));
  }
}

fromDisk::fromDisk(FILE* f, unsigned int purpose) : disk(IS_UNPACKING, f, purpose) {
  std::size_t position;
  length_ = detail::file_length(f, &position);
}

void fromDisk::bytes(void* p, std::size_t n, std::size_t itemSize, dataType t) {
  if (!n || !itemSize) return;
  if (n > SIZE_MAX / itemSize || n * itemSize > remaining()) detail::raise_overrun(*this, n, itemSize);
  errno = 0;
  const std::size_t got = std::fread(p, 1, n * itemSize, F);
  if (got != n * itemSize) {
    if (std::ferror(F)) {
      detail::raise(error::kind::io, this, std::string("PUP: cannot read the file: ") + std::strerror(errno));
    }
    length_ = begin_ + done_ + got;  // now it is known
    detail::raise_overrun(*this, n, itemSize);
  }
  done_ += got;
  if (t == Tbool) detail::normalize(static_cast<bool*>(p), n);
}

}  // namespace PUP
