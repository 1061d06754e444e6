// Transfer: bytes on their way from the memory of one process to that of another, copied by both of them: one takes
// pieces from the front, the other from the back, until they meet. A side that is busy elsewhere simply takes fewer.
//
// A Transfer lies in the channel of the side that began it. It is used again and again; a generation in its words keeps
// a helper that comes late from touching what it does not mean any more: pieces are claimed with a CAS on the word that
// holds the generation, and a claimed piece keeps the transfer from ending, so what a successful claimer has read of
// the description before its CAS was right.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/platform.h"

namespace periapt::shm {

/// An address in the process that owns the bytes, and the shared segment of that process it lies in (0: private
/// memory).
struct SegmentAddress {
  std::uint64_t address = 0;
  std::uint64_t segment = 0;
};

/// What a copier copies.
struct Piece {
  SegmentAddress source, target;
  std::uint64_t size = 0;
  explicit operator bool() const { return size != 0; }
};

struct Transfer {
  // generation (16 bits) | pieces taken from the back (24) | from the front (24); 0: no claims
  alignas(platform::kCacheLine) std::atomic<std::uint64_t> claims;
  std::atomic<std::uint64_t> source;
  std::atomic<std::uint64_t> source_segment;
  std::atomic<std::uint64_t> target;
  std::atomic<std::uint64_t> target_segment;
  std::atomic<std::uint64_t> size;
  std::atomic<std::uint64_t> piece;  ///< bytes of a piece; the last one is what is left

  // generation (16 bits) | pieces that are there (48)
  alignas(platform::kCacheLine) std::atomic<std::uint64_t> done;
  std::atomic<std::uint64_t> failed;  ///< generation of the last one that a copier could not copy

  static constexpr unsigned kCountBits = 24;
  static constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCountBits) - 1;
  static constexpr std::uint64_t kPiecesMost = kCountMask / 2;
  static constexpr std::uint64_t kDoneMask = (std::uint64_t{1} << 48) - 1;
  static constexpr std::uint64_t kNotOpen = kCountMask;  ///< as the count from the front: more than there can be

  static std::uint64_t generation_of(std::uint64_t word) { return word >> 48; }
};
static_assert(sizeof(Transfer) == 2 * platform::kCacheLine);

/// One side's view of a transfer of one generation.
class TransferView {
 public:
  enum class End : std::uint8_t { front, back };
  enum class State : std::uint8_t { running, complete, failed };

  TransferView() = default;
  TransferView(Transfer& transfer, std::uint64_t generation) : transfer_(&transfer), generation_(generation) {}

  /// Begins a new generation: by the side that owns the transfer, when the former one has ended. There are no
  /// claims before open().
  static TransferView begin(Transfer& transfer, SegmentAddress source, std::uint64_t size, std::uint64_t piece) {
    std::uint64_t next = (Transfer::generation_of(transfer.done.load(std::memory_order_relaxed)) + 1) & 0xFFFF;
    if (next == 0) next = 1;  // 0 is untouched memory's
    // Every store below is a release, every load in claim() an acquire: a late helper that reads a word of the new
    // description sees that the claims of its generation are gone, so its CAS fails.
    transfer.claims.store(0, std::memory_order_release);
    transfer.source.store(source.address, std::memory_order_release);
    transfer.source_segment.store(source.segment, std::memory_order_release);
    transfer.size.store(size, std::memory_order_release);
    transfer.piece.store(std::max(piece, size / Transfer::kPiecesMost + 1), std::memory_order_release);
    transfer.done.store(next << 48, std::memory_order_release);
    transfer.claims.store(next << 48 | Transfer::kNotOpen, std::memory_order_release);
    return TransferView(transfer, next);
  }

  /// Says where to, and lets both sides copy. By the owner, or by the peer that knows where to. False: revoked.
  bool open(SegmentAddress target) {
    transfer_->target.store(target.address, std::memory_order_release);
    transfer_->target_segment.store(target.segment, std::memory_order_release);
    std::uint64_t expected = generation_ << 48 | Transfer::kNotOpen;
    return transfer_->claims.compare_exchange_strong(expected, generation_ << 48, std::memory_order_acq_rel);
  }

  /// All of it, once it is open: for a copier that wants to know whether it can.
  Piece look() const {
    std::uint64_t word = transfer_->claims.load(std::memory_order_acquire);
    bool open = Transfer::generation_of(word) == generation_ && (word & Transfer::kCountMask) != Transfer::kNotOpen;
    return open ? description() : Piece{};
  }
  /// A piece for the caller to copy; none: all are taken, or it is not open (yet, or any more).
  Piece claim(End end) {
    std::uint64_t word = transfer_->claims.load(std::memory_order_acquire);
    while (Transfer::generation_of(word) == generation_ && (word & Transfer::kCountMask) != Transfer::kNotOpen) {
      Piece all = description();
      std::uint64_t piece = transfer_->piece.load(std::memory_order_acquire);
      std::uint64_t pieces = (all.size + piece - 1) / piece;
      std::uint64_t front = word & Transfer::kCountMask;
      std::uint64_t back = (word >> Transfer::kCountBits) & Transfer::kCountMask;
      if (front + back >= pieces) return {};
      std::uint64_t begin = piece * (end == End::front ? front : pieces - 1 - back);
      std::uint64_t taken = end == End::front ? 1 : std::uint64_t{1} << Transfer::kCountBits;
      if (transfer_->claims.compare_exchange_weak(word, word + taken, std::memory_order_acq_rel,
                                                  std::memory_order_acquire)) {
        all.source.address += begin;
        all.target.address += begin;
        all.size = std::min(piece, all.size - begin);
        return all;
      }
    }
    return {};
  }

  /// The claimed piece is there, or could not be copied.
  void finish(bool copied) {
    if (!copied) transfer_->failed.store(generation_, std::memory_order_release);
    // release, with the acquire in state(): the side that sees the last piece done sees the bytes of all.
    transfer_->done.fetch_add(1, std::memory_order_acq_rel);
  }

  State state() const {
    std::uint64_t done = transfer_->done.load(std::memory_order_acquire);
    if (Transfer::generation_of(done) != generation_) return State::complete;  // its owner has gone on: it saw the end
    std::uint64_t piece = transfer_->piece.load(std::memory_order_acquire);
    std::uint64_t pieces = (transfer_->size.load(std::memory_order_acquire) + piece - 1) / piece;
    if ((done & Transfer::kDoneMask) < pieces) return State::running;
    return transfer_->failed.load(std::memory_order_acquire) == generation_ ? State::failed : State::complete;
  }

  /// From now on every claim fails.
  void revoke() {
    std::uint64_t word = transfer_->claims.load(std::memory_order_acquire);
    while (Transfer::generation_of(word) == generation_) {
      std::uint64_t front = word & Transfer::kCountMask;
      std::uint64_t claimed =
          front == Transfer::kNotOpen ? 0 : front + ((word >> Transfer::kCountBits) & Transfer::kCountMask);
      if (!transfer_->claims.compare_exchange_weak(word, 0, std::memory_order_acq_rel)) continue;
      claimed_ = claimed;
      return;
    }
  }
  /// After revoke(): is a piece still being copied?
  bool in_flight() const {
    std::uint64_t done = transfer_->done.load(std::memory_order_acquire);
    return Transfer::generation_of(done) == generation_ && (done & Transfer::kDoneMask) < claimed_;
  }

  std::uint64_t generation() const { return generation_; }
  explicit operator bool() const { return transfer_ != nullptr; }

 private:
  Piece description() const {
    Piece all;
    all.source.address = transfer_->source.load(std::memory_order_acquire);
    all.source.segment = transfer_->source_segment.load(std::memory_order_acquire);
    all.target.address = transfer_->target.load(std::memory_order_acquire);
    all.target.segment = transfer_->target_segment.load(std::memory_order_acquire);
    all.size = transfer_->size.load(std::memory_order_acquire);
    return all;
  }

  Transfer* transfer_ = nullptr;
  std::uint64_t generation_ = 0;
  std::uint64_t claimed_ = 0;
};

}  // namespace periapt::shm
