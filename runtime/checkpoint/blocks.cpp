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
bool read_all(int file, char* to, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = ::read(file, to, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      if (got == 0) errno = 0;
      return false;
    }
    to += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

constexpr std::uint32_t blocks_handed_on = 8;
constexpr off_t handed_on_bytes = off_t{blocks_handed_on} * (sizeof(BlockHead) + block_bytes);
}  // namespace

// --- writing ---------------------------------------------------------------------------------------------------------

BlockWriter::BlockWriter(Place place, std::uint64_t seed) : place_(std::move(place)), seed_(seed) {
  if (!place_.memory) {
    buffer_.resize(sizeof(BlockHead) + block_bytes);
    file_ = ::open(place_.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file_ < 0) fail();
  }
  begin_block();
}

BlockWriter::~BlockWriter() {
  if (file_ >= 0) ::close(file_);
}

void BlockWriter::fail() { status_ = Status::failure("cannot write " + place_.path + ": " + error_text()); }

// In memory a block is made where it stays.
void BlockWriter::begin_block() {
  if (!place_.memory) {
    block_ = buffer_.data();
  } else if (char* block = place_.memory->block(place_.region, number_)) {
    block_ = block;
  } else {
    fail();
    buffer_.resize(sizeof(BlockHead) + block_bytes);
    block_ = buffer_.data();  // thrown away
  }
}

void BlockWriter::write(std::size_t bytes) {
  if (!status_.ok()) return;
  BlockHead head{0, number_++, static_cast<std::uint32_t>(bytes)};
  std::memcpy(block_, &head, sizeof head);
  head.checksum = checksum_of_block(block_, bytes, seed_);
  std::memcpy(block_, &head, sizeof head);
  file_bytes_ += sizeof head + bytes;
  if (place_.memory) return begin_block();
  const char* from = block_;
  std::size_t left = sizeof head + bytes;
  while (left > 0) {
    const ssize_t written = ::write(file_, from, left);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail();
    from += written;
    left -= static_cast<std::size_t>(written);
  }
  // The disk begins while the next blocks are made. It is a hint: what fails is seen by fsync().
  if (number_ % blocks_handed_on == 0)
    static_cast<void>(::sync_file_range(file_, static_cast<off_t>(file_bytes_) - handed_on_bytes, handed_on_bytes,
                                        SYNC_FILE_RANGE_WRITE));
}

Status BlockWriter::close() {
  if (place_.memory) return status_;
  if (status_.ok() && ::fsync(file_) != 0) fail();
  if (file_ >= 0 && ::close(std::exchange(file_, -1)) != 0 && status_.ok()) fail();
  return status_;
}

// --- reading ---------------------------------------------------------------------------------------------------------

BlockReader::~BlockReader() {
  if (file_ >= 0) ::close(file_);
}

Status BlockReader::damaged(const std::string& how) const { return Status::failure(place_.path + " " + how); }

Status BlockReader::open(const Place& place, std::uint64_t bytes, std::uint64_t seed) {
  place_ = place;
  seed_ = seed;
  left_ = bytes;
  return place.memory ? Status() : open_file(bytes);
}

Status BlockReader::open_file(std::uint64_t bytes) {
  buffer_.resize(sizeof(BlockHead) + block_bytes);
  file_ = ::open(place_.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) {
    if (errno == ENOENT) return damaged("is missing");
    return damaged("cannot be read: " + error_text());
  }
  struct stat about;
  if (::fstat(file_, &about) != 0) return damaged("cannot be read: " + error_text());
  if (static_cast<std::uint64_t>(about.st_size) == bytes) return Status();
  return damaged("has " + std::to_string(about.st_size) + " bytes where " + std::to_string(bytes) +
                 " were written: it was " +
                 (static_cast<std::uint64_t>(about.st_size) < bytes ? "cut off" : "written to"));
}

Result<std::span<const char>> BlockReader::next() {
  if (left_ == 0) return std::span<const char>();
  const std::size_t whole = std::min<std::uint64_t>(left_, sizeof(BlockHead) + block_bytes);
  if (whole < sizeof(BlockHead)) return damaged("ends in the middle of a block");
  const char* const block = place_.memory ? place_.memory->block(place_.region, number_) : buffer_.data();
  if (!block) return damaged("cannot be read: " + error_text());
  if (!place_.memory && !read_all(file_, buffer_.data(), whole))
    return damaged(errno ? "cannot be read: " + error_text() : "became shorter while it was read");
  BlockHead head;
  std::memcpy(&head, block, sizeof head);
  const std::size_t bytes = whole - sizeof head;
  if (head.bytes != bytes || head.number != number_ || head.checksum != checksum_of_block(block, bytes, seed_))
    return damaged("is damaged: the checksum of its block " + std::to_string(number_) + " is wrong");
  ++number_;
  left_ -= whole;
  return std::span<const char>(block + sizeof head, bytes);
}

}  // namespace periapt::checkpoint
