// What waits to be written on one connection, in order: small frames copied one behind the other into chunks, large
// payloads where they lie. gather() names it to sendmsg(), written() takes off what went out.
#pragma once

#include <sys/uio.h>

#include <cstring>
#include <memory>
#include <vector>

#include "machine/tcp/wire.h"
#include "machine/ucx-like/buffer.h"
#include "machine/ucx-like/bytes.h"
#include "machine/ucx-like/transport.h"

namespace periapt::tcp {

/// Memory for copied bytes; several segments may lie in one.
struct Chunk {
  static constexpr std::size_t kBytes = (32 << 10) - 16;
  std::size_t used = 0;
  std::size_t users = 0;
  alignas(8) std::byte bytes[kBytes];
};

/// Chunks of all connections of a transport that are not in use; a few are kept warm.
class ChunkPool {
 public:
  Chunk* take();
  void drop(Chunk* chunk) {
    if (--chunk->users == 0) give(chunk);
  }

 private:
  static constexpr std::size_t kKept = 32;
  void give(Chunk* chunk);
  std::vector<std::unique_ptr<Chunk>> free_;
};

class Outbox {
 public:
  /// Told of each lent payload that has gone out or never will.
  using Ended = void (*)(void* context, ucx::Completion& completion, ucx::Outcome outcome);
  Outbox(ChunkPool& pool, Ended ended, void* context) : pool_(pool), ended_(ended), context_(context) {}
  ~Outbox() { clear(ucx::Outcome::cancelled); }
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// The start of a frame of `more` bytes behind it, header included, payload perhaps; copied.
  void add_frame(Prefix prefix, std::span<const std::byte> header, std::span<const std::byte> payload);
  /// A frame whose payload is written from where it lies: lent, or owned here until then.
  void add_lent(std::span<const std::byte> header, std::span<const std::byte> payload, ucx::Completion& completion);
  void add_owned(std::span<const std::byte> header, ucx::Buffer payload);

  bool empty() const { return first_ == segments_.size(); }
  std::size_t copied() const { return copied_; }  ///< bytes that lie in chunks
  std::uint64_t bytes() const { return bytes_; }  ///< all that waits
  /// Fills `parts`; returns how many, and in *bytes how much that is.
  int gather(std::span<iovec> parts, std::size_t* bytes) const;
  void written(std::size_t bytes);
  /// Nothing of it goes out any more.
  void clear(ucx::Outcome outcome);

 private:
  struct Segment {
    const std::byte* at = nullptr;
    std::uint64_t size = 0;
    Chunk* chunk = nullptr;  // that it lies in; null: a payload
    ucx::Completion* completion = nullptr;
    ucx::Buffer owned = {};
  };
  /// Room for `bytes` right behind what was copied last.
  std::byte* room(std::size_t bytes);
  void add_payload(Prefix prefix, std::span<const std::byte> header, Segment payload);
  void pop();
  void emptied();

  ChunkPool& pool_;
  Ended ended_;
  void* context_;
  Chunk* current_ = nullptr;       // that is being filled
  std::vector<Segment> segments_;  // those before first_ are empty
  std::size_t first_ = 0;
  std::size_t copied_ = 0;
  std::uint64_t bytes_ = 0;
};

// ---- the way of each small message

inline std::byte* Outbox::room(std::size_t bytes) {
  if (current_ == nullptr || current_->used + bytes > Chunk::kBytes) {
    if (current_ != nullptr) pool_.drop(current_);
    current_ = pool_.take();
  }
  std::byte* at = current_->bytes + current_->used;
  if (empty() || segments_.back().chunk != current_) {
    segments_.push_back(Segment{.at = at, .chunk = current_});
    ++current_->users;
  }
  segments_.back().size += bytes;
  current_->used += bytes;
  copied_ += bytes;
  bytes_ += bytes;
  return at;
}

inline void Outbox::add_frame(Prefix prefix, std::span<const std::byte> header, std::span<const std::byte> payload) {
  std::size_t bare = sizeof prefix + header.size() + payload.size();
  std::byte* at = room(padded(bare));
  std::memset(at + padded(bare) - 8, 0, 8);  // the padding is somewhere in it
  std::memcpy(at, &prefix, sizeof prefix);
  ucx::copy_bytes(at + sizeof prefix, header.data(), header.size());
  ucx::copy_bytes(at + sizeof prefix + header.size(), payload.data(), payload.size());
}

}  // namespace periapt::tcp
