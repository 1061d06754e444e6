// A part of a checkpoint, in a file or in kept memory: blocks, each behind its checksum, so that damage is found before
// anything is made of it.
//
// A block is a BlockHead and up to block_bytes bytes; only the last one is shorter. The checksum (XXH3, 64 bits) is
// over the rest of the head and the bytes. Its seed is made of the checkpoint's number and the part's name: a block of
// another part or another checkpoint does not fit.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "machine/bootstrap/kept_memory.h"

namespace periapt::checkpoint {

struct BlockHead {
  std::uint64_t checksum;
  std::uint32_t number;  // of the block in its part
  std::uint32_t bytes;   // behind this head
};
static_assert(sizeof(BlockHead) == 16);
constexpr std::size_t block_bytes = bootstrap::KeptMemory::kBlockBytes - sizeof(BlockHead);

std::uint64_t checksum(const void* data, std::size_t bytes, std::uint64_t seed);
// Which program wrote a checkpoint, of what it has registered.
inline std::uint64_t identity_of(std::string_view registered) {
  return checksum(registered.data(), registered.size(), 0);
}
// `id`: of the checkpoint.
std::uint64_t seed_of(std::uint64_t id, std::string_view part);

// Where a part lies.
struct Place {
  std::string checkpoint;                   // its folder; "memory"
  std::string path;                         // the part's file; in memory, its name for people
  bootstrap::KeptMemory* memory = nullptr;  // null: in that file
  int region = 0;                           // of it
};

class BlockWriter {
 public:
  // Makes the file. What fails is told by every later call.
  BlockWriter(Place place, std::uint64_t seed);
  ~BlockWriter();
  BlockWriter(const BlockWriter&) = delete;

  // Room for the bytes of the next block.
  char* room() { return block_ + sizeof(BlockHead); }
  // Writes so many of them as a block.
  void write(std::size_t bytes);
  // A file lies on the disk when this succeeds.
  Status close();
  std::uint64_t file_bytes() const { return file_bytes_; }

 private:
  void fail();
  void begin_block();

  const Place place_;
  const std::uint64_t seed_;
  int file_ = -1;
  std::uint32_t number_ = 0;
  std::uint64_t file_bytes_ = 0;
  std::vector<char> buffer_;  // of the block, for a file
  char* block_ = nullptr;
  Status status_;
};

class BlockReader {
 public:
  BlockReader() = default;
  ~BlockReader();
  BlockReader(const BlockReader&) = delete;

  // `bytes`: how long the part has to be.
  Status open(const Place& place, std::uint64_t bytes, std::uint64_t seed);
  // The bytes of the next block, until the next call; none at the end of the part.
  Result<std::span<const char>> next();
  // Of the part, that have not been read.
  std::uint64_t left() const { return left_; }

 private:
  Status damaged(const std::string& how) const;
  Status open_file(std::uint64_t bytes);

  Place place_;
  std::uint64_t seed_ = 0, left_ = 0;
  int file_ = -1;
  std::uint32_t number_ = 0;
  std::vector<char> buffer_;  // of a block, from a file
};

}  // namespace periapt::checkpoint
