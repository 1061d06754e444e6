// See blocks.h.
#include "runtime/checkpoint/blocks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error_text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace periapt::checkpoint {

std::uint64_t checksum(const void* data, std::size_t bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

std::uint64_t seed_of(std::uint64_t id, std::string_view part) { return checksum(part.data(), part.size(), id); }

namespace {
// Over all of a block but the checksum itself.
std::uint64_t checksum_of_block(const char* block, std::size_t bytes, std::uint64_t seed) {
  constexpr std::size_t behind = sizeof(BlockHead::checksum);
  return checksum(block + behind, sizeof(BlockHead) - behind + bytes, seed);
}

// False: the reason stands in errno; 0 there: the end of the file.
bool read_all(int file, off_t at, char* to, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = ::pread(file, to, bytes, at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      if (got == 0) errno = 0;
      return false;
    }
    to += got;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}
}  // namespace

Status write_at(const Place& place, std::uint64_t behind, const char* from, std::size_t bytes) {
  off_t at = place.offset + static_cast<off_t>(behind);
  while (bytes > 0) {
    const ssize_t written = ::pwrite(place.file, from, bytes, at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Status::failure("cannot write " + place.path + ": " + error_text());
    from += written;
    at += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return Status();
}

// --- writing ---------------------------------------------------------------------------------------------------------

BlockWriter::BlockWriter(Place place, std::uint64_t seed)
    : place_(std::move(place)), seed_(seed), own_file_(place_.file < 0), block_(sizeof(BlockHead) + block_bytes) {
  if (!own_file_) return;
  place_.file = ::open(place_.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (place_.file < 0) fail();
}

BlockWriter::~BlockWriter() {
  if (own_file_ && place_.file >= 0) ::close(place_.file);
}

void BlockWriter::fail() { status_ = Status::failure("cannot write " + place_.path + ": " + error_text()); }

void BlockWriter::write(std::size_t bytes) {
  if (!status_.ok()) return;
  BlockHead head{0, number_++, static_cast<std::uint32_t>(bytes)};
  std::memcpy(block_.data(), &head, sizeof head);
  head.checksum = checksum_of_block(block_.data(), bytes, seed_);
  std::memcpy(block_.data(), &head, sizeof head);
  status_ = write_at(place_, file_bytes_, block_.data(), sizeof head + bytes);
  file_bytes_ += sizeof head + bytes;
}

Status BlockWriter::close() {
  if (!own_file_) return status_;
  if (status_.ok() && ::fsync(place_.file) != 0) fail();
  if (place_.file >= 0 && ::close(std::exchange(place_.file, -1)) != 0 && status_.ok()) fail();
  return status_;
}

// --- reading ---------------------------------------------------------------------------------------------------------

BlockReader::~BlockReader() {
  if (own_file_ && place_.file >= 0) ::close(place_.file);
}

Status BlockReader::damaged(const std::string& how) const { return Status::failure(place_.path + " " + how); }

Status BlockReader::open(const Place& place, std::uint64_t bytes, std::uint64_t seed) {
  place_ = place;
  own_file_ = place.file < 0;
  seed_ = seed;
  left_ = bytes;
  block_.resize(sizeof(BlockHead) + block_bytes);
  if (!own_file_) return Status();
  place_.file = ::open(place.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (place_.file < 0) {
    if (errno == ENOENT) return damaged("is missing");
    return damaged("cannot be read: " + error_text());
  }
  struct stat about;
  if (::fstat(place_.file, &about) != 0) return damaged("cannot be read: " + error_text());
  if (static_cast<std::uint64_t>(about.st_size) == bytes) return Status();
  return damaged("has " + std::to_string(about.st_size) + " bytes where " + std::to_string(bytes) +
                 " were written: it was " +
                 (static_cast<std::uint64_t>(about.st_size) < bytes ? "cut off" : "written to"));
}

Result<std::span<const char>> BlockReader::next() {
  if (left_ == 0) return std::span<const char>();
  const std::size_t whole = std::min<std::uint64_t>(left_, block_.size());
  if (whole < sizeof(BlockHead)) return damaged("ends in the middle of a block");
  if (!read_all(place_.file, place_.offset + static_cast<off_t>(read_), block_.data(), whole))
    return damaged(errno ? "cannot be read: " + error_text() : "became shorter while it was read");
  BlockHead head;
  std::memcpy(&head, block_.data(), sizeof head);
  const std::size_t bytes = whole - sizeof head;
  if (head.bytes != bytes || head.number != number_ || head.checksum != checksum_of_block(block_.data(), bytes, seed_))
    return damaged("is damaged: the checksum of its block " + std::to_string(number_) + " is wrong");
  ++number_;
  left_ -= whole;
  read_ += whole;
  return std::span<const char>(block_.data() + sizeof head, bytes);
}

}  // namespace periapt::checkpoint
