// Channel: one direction between two workers of a host, in memory that both map. One writer, one reader, no lock.
//
//   | head: how far both sides are | cells, 64 B each | transfers | bulk: a ring of bytes |
//
// Every message is announced by one cell. A cell is the Slot of ring.h: one line, published by one store of its word. A
// small message lies in the cell whole; the payload of a larger one lies in the bulk ring, in one piece, and is handed
// up where it lies. Both sides count the bulk positions for themselves, so a cell need not name them: it says only
// whether its piece begins at the start of the ring. The reader says how far it has come in the cells each quarter of a
// ring, in bulk each few kilobytes; no piece of bulk may be larger than a quarter.
//
// The smallest messages (8 bytes with the engine's short header) take half a cell each, with a word of its own: where
// the writer is ahead, one line brings two of them. Positions are counted in halves. A whole cell begins a line: if the
// one before it left the second half of its line free, that half is never published, and the reader goes on when it
// finds the next line published instead.
//
// What costs most is to take lines back that the reader has looked at. A writer that waits for something fetches those
// it will write next (get_ready()), and begins the ring anew where it can, so that the same few lines are used again.
// (transfers: see transfer.h.)
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bits.h"
#include "base/platform.h"
#include "machine/host/ring.h"
#include "machine/shm/transfer.h"

namespace periapt::shm {

/// May one process read and write the private memory of the other? Found by doing it.
enum class Copies : std::uint32_t { unknown, work, forbidden };

struct ChannelHead {
  // Written by the reader; the writer reads it after each publish, from its own cache but for once each quarter ring.
  alignas(platform::kCacheLine) std::atomic<std::uint64_t> cells_consumed;
  std::atomic<std::uint32_t> reader_sleeps;  ///< 1: it wants its doorbell rung when a cell is published
  // Written by the reader more often, read by a writer that waits.
  alignas(platform::kCacheLine) std::atomic<std::uint64_t> bulk_consumed;
  // Written by the writer.
  alignas(platform::kCacheLine) std::atomic<std::uint32_t> writer_sleeps;  ///< 1: it wants to be told of room
  std::atomic<std::uint32_t> writer_copies;  ///< Copies: may the writer's process copy from and to the reader's?
};
static_assert(sizeof(ChannelHead) == 3 * platform::kCacheLine, "cells start on a line");

/// Half a line: the word as in a Slot, which the first half of a line is the beginning of.
struct HalfCell {
  static constexpr std::size_t kBodyBytes = 24;
  std::atomic<std::uint64_t> word;
  std::byte body[kBodyBytes];
};
static_assert(2 * sizeof(HalfCell) == sizeof(host::Slot));

/// The whole of a channel, as it lies in its memory file. Zeroed memory is a valid, empty channel.
struct Channel {
  static constexpr unsigned kCellsLog = 9;
  static constexpr std::uint64_t kCells = std::uint64_t{1} << kCellsLog;
  static constexpr std::uint64_t kHalves = 2 * kCells;
  static constexpr std::uint64_t kBulk = std::uint64_t{256} << 10;
  static constexpr std::uint64_t kPieceMost = kBulk / 4;
  static constexpr std::uint64_t kTellBulk = 4 << 10;  ///< bytes of bulk after which the reader says how far it is
  static constexpr std::uint64_t kHotBulk = 16 << 10;  ///< a writer that can, stays within so much of the ring
  static constexpr unsigned kTransfers = 16;

  ChannelHead head;
  host::Slot cells[kCells];
  Transfer transfers[kTransfers];
  alignas(platform::kPage) std::byte bulk[kBulk];

  /// The cell that begins at a position, counted in halves; a whole one only at an even position.
  HalfCell& half(std::uint64_t position) { return reinterpret_cast<HalfCell*>(cells)[position % kHalves]; }
  host::Slot& cell(std::uint64_t position) { return cells[position % kHalves / 2]; }
  static std::uint64_t lap(std::uint64_t position) { return host::Ring::lap(position, kCellsLog + 1); }

  /// Where a piece of bulk that begins at or behind `position` begins: not across the end of the ring.
  static std::uint64_t piece_at(std::uint64_t position, std::uint64_t size) {
    std::uint64_t left = kBulk - position % kBulk;
    return size <= left ? position : position + left;
  }
};
static_assert(sizeof(Channel) % platform::kPage == 0, "a memory file is whole pages");

class ChannelWriter {
 public:
  static constexpr unsigned kPrefetchAhead = 32;  ///< halves

  ChannelWriter() = default;
  explicit ChannelWriter(Channel& channel) : channel_(&channel) {}

  /// The next cell, to be filled and published; nullptr: there is none free.
  PERIAPT_INLINE host::Slot* claim() {
    next_ += next_ % 2;
    return PERIAPT_LIKELY(has_cell()) ? &channel_->cell(next_) : nullptr;
  }
  /// The same for half a cell.
  PERIAPT_INLINE HalfCell* claim_half() { return PERIAPT_LIKELY(has_cell()) ? &channel_->half(next_) : nullptr; }

  /// `size` bytes of bulk, on a line, that go with the next cell published; nullptr: there is no room now.
  PERIAPT_INLINE std::byte* claim_bulk(std::uint64_t size) {
    for (;;) {
      const std::uint64_t begin = Channel::piece_at(bulk_begin_, size);
      const std::uint64_t end = begin + round_up(size, platform::kCacheLine);
      if (PERIAPT_UNLIKELY(end > bulk_limit_)) {
        bulk_limit_ = channel_->head.bulk_consumed.load(std::memory_order_acquire) + Channel::kBulk;
        if (end > bulk_limit_) {
          if (!bulk_begins_anew()) return nullptr;
          bulk_begin_ = bulk_ready_ = bulk_next_;  // it is larger than expected
          continue;
        }
      }
      bulk_claimed_ = end;
      return channel_->bulk + begin % Channel::kBulk;
    }
  }
  /// The reader has to be told, with the cell of the bulk claimed: it lies at the start of the ring.
  bool bulk_begins_anew() const { return bulk_begin_ != bulk_next_; }

  /// Makes the claimed cell, and the bulk claimed last for it, visible. `fenced`: the reader can't order its last look
  /// before its sleep with a membarrier, so the writer pays for a fence. True: the reader sleeps and wants its bell
  /// rung.
  PERIAPT_INLINE bool publish(host::Slot* cell, std::uint64_t meta, bool fenced) {
    // release: partner is the acquire in ChannelReader::peek(): a reader of the word sees the cell's body and its bulk.
    cell->word.store(meta << 8 | Channel::lap(next_), std::memory_order_release);
    next_ += 2;
    if (bulk_claimed_ != bulk_next_) {
      bulk_last_ = bulk_claimed_ - bulk_begin_;
      bulk_next_ = bulk_begin_ = bulk_ready_ = bulk_claimed_;
    }
    fetch_ahead();
    return reader_sleeps(fenced);
  }
  /// The same for half a cell, which has no bulk.
  PERIAPT_INLINE bool publish(HalfCell* cell, std::uint64_t meta, bool fenced) {
    const std::uint64_t lap = Channel::lap(next_);
    if (next_ % 2 == 0) {
      // The reader will look at the other half, where the body of a whole cell may lie: that must not look like a word.
      cell[1].word.store(lap ^ host::Slot::kLapMask, std::memory_order_relaxed);
      fetch_ahead();
    }
    cell->word.store(meta << 8 | lap, std::memory_order_release);
    ++next_;
    return reader_sleeps(fenced);
  }
  /// For a writer that has nothing to do now: fetches some of the lines that it will write when the next piece of bulk
  /// is as large as the last one. False: they are all here.
  bool get_ready() {
    if (bulk_ready_ == bulk_next_ && bulk_begin_ == bulk_next_) begin_anew();
    // What the reader may still be looking at is left to it.
    std::uint64_t begin = Channel::piece_at(bulk_begin_, bulk_last_);
    std::uint64_t end = std::min(begin + std::min(bulk_last_, kReadyMost), bulk_limit_);
    std::uint64_t at = std::max(begin, bulk_ready_);
    std::uint64_t until = std::min(end, at + kReadyAtOnce);
    for (; at < until; at += platform::kCacheLine) platform::prefetch_for_write(channel_->bulk + at % Channel::kBulk);
    bulk_ready_ = std::max(bulk_ready_, at);
    return at < end;
  }

  /// The next cell will be written soon: its line is taken back from a reader that may be looking at it.
  PERIAPT_INLINE void take_line() const { platform::prefetch_for_write(&channel_->half(next_)); }

  /// What was claimed is not published: there was no room for all of it. The next claims give it out again.
  void drop_claims() { bulk_claimed_ = bulk_next_; }

  /// Is there room for anything? The reader leaves at least that when it has read all, and says so.
  bool has_room() const {
    std::uint64_t bulk_end = Channel::piece_at(bulk_next_, Channel::kPieceMost) + Channel::kPieceMost;
    return channel_->head.cells_consumed.load(std::memory_order_relaxed) + Channel::kHalves > next_ + 1 &&
           channel_->head.bulk_consumed.load(std::memory_order_relaxed) + Channel::kBulk >= bulk_end;
  }
  /// Has the reader read all bulk but for the last few kilobytes? It waits for us then, rather than we for it.
  bool reader_is_near() const {
    return channel_->head.bulk_consumed.load(std::memory_order_relaxed) + Channel::kTellBulk > bulk_next_;
  }
  /// Where the next cell goes.
  std::uint64_t position() const { return next_; }
  Channel& channel() const { return *channel_; }

 private:
  static constexpr std::uint64_t kReadyMost = 16 << 10;
  static constexpr std::uint64_t kReadyAtOnce = 8 * platform::kCacheLine;

  // Room is told in whole lines, so there is room for a whole cell at an even position where there is any.
  PERIAPT_INLINE bool has_cell() {
    if (PERIAPT_LIKELY(next_ < limit_)) return true;
    // acquire: partner is the release in ChannelReader::tell(): the reader's reads of a cell come before our reuse.
    limit_ = channel_->head.cells_consumed.load(std::memory_order_acquire) + Channel::kHalves;
    return next_ < limit_;
  }
  // In a stream, the lines ahead are fetched while these are written. Not the next few: the reader may be looking at
  // them, and would take them away again.
  PERIAPT_INLINE void fetch_ahead() const { platform::prefetch_for_write(&channel_->cell(next_ + kPrefetchAhead)); }
  PERIAPT_INLINE bool reader_sleeps(bool fenced) const {
    // The light half of the fence whose heavy half is the reader's membarrier before its last look.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (PERIAPT_UNLIKELY(fenced)) std::atomic_thread_fence(std::memory_order_seq_cst);
    return channel_->head.reader_sleeps.load(std::memory_order_relaxed) != 0;
  }

  // The next piece begins at the start of the ring, if the reader has done with that part of it.
  void begin_anew() {
    bool streams = bulk_next_ - bulk_waited_ > 2 * bulk_last_;
    bulk_waited_ = bulk_next_;
    if (streams || bulk_next_ % Channel::kBulk < Channel::kHotBulk) return;
    bulk_limit_ = channel_->head.bulk_consumed.load(std::memory_order_acquire) + Channel::kBulk;
    std::uint64_t start = round_up(bulk_next_, Channel::kBulk);
    if (start + Channel::kHotBulk <= bulk_limit_) bulk_begin_ = bulk_ready_ = start;
  }

  Channel* channel_ = nullptr;
  std::uint64_t next_ = 0, limit_ = Channel::kHalves;  // in halves of cells
  std::uint64_t bulk_next_ = 0, bulk_claimed_ = 0, bulk_limit_ = Channel::kBulk;
  std::uint64_t bulk_begin_ = 0;   ///< where the next piece may begin: bulk_next_, or a start of the ring
  std::uint64_t bulk_waited_ = 0;  ///< where it was when it waited the last time
  std::uint64_t bulk_ready_ = 0, bulk_last_ = 0;  ///< fetched for writing up to here; size of the last piece
};

class ChannelReader {
 public:
  ChannelReader() = default;
  explicit ChannelReader(Channel& channel) : channel_(&channel) {}

  /// The next cell, if it has been published: it and its bulk stay as they are until consume(). Half a one: only as
  /// much of it may be read.
  PERIAPT_INLINE const HalfCell* peek() {
    const std::uint64_t next = next_;
    if (const HalfCell& cell = channel_->half(next); PERIAPT_LIKELY(is_lap(cell, next))) return &cell;
    return next % 2 != 0 && PERIAPT_UNLIKELY(goes_on()) ? &channel_->half(next_) : nullptr;
  }
  bool ready() const { return published(next_) || (next_ % 2 != 0 && published(next_ + 1)); }
  /// The line `ahead` of the one that begins now will be wanted soon: for a reader that is behind.
  PERIAPT_INLINE void fetch(std::uint64_t ahead) const {
    if (next_ % 2 == 0) platform::prefetch(&channel_->cell(next_ + 2 * ahead));
  }
  /// Is the cell peeked at the second one of a line? Then it is half a one.
  bool is_second() const { return next_ % 2 != 0; }
  /// What was peeked at, and is not the second one of its line, as the whole cell that its writer says it is.
  static const host::Slot& whole(const HalfCell& cell) { return reinterpret_cast<const host::Slot&>(cell); }
  static std::uint64_t meta(const HalfCell& cell) { return cell.word.load(std::memory_order_relaxed) >> 8; }

  /// The `size` bytes of bulk that belong to the cell peeked at; `anew`: they lie at the start of the ring.
  PERIAPT_INLINE const std::byte* bulk(std::uint64_t size, bool anew = false) {
    std::uint64_t begin = anew ? round_up(bulk_next_, Channel::kBulk) : Channel::piece_at(bulk_next_, size);
    bulk_end_ = begin + round_up(size, platform::kCacheLine);
    return channel_->bulk + begin % Channel::kBulk;
  }

  /// The cell peeked at, and its bulk, may be written again. True: the writer was told now (see writer_wants_room()).
  PERIAPT_INLINE bool consume() {
    next_ += 2;
    bulk_next_ = bulk_end_;
    if (PERIAPT_LIKELY(next_ < tell_at_ && bulk_next_ - bulk_told_ < Channel::kTellBulk)) return false;
    tell();
    return true;
  }
  /// The same for half a cell.
  PERIAPT_INLINE bool consume_half() {
    ++next_;
    if (PERIAPT_LIKELY(next_ < tell_at_)) return false;
    tell();
    return true;
  }

  /// After consume() said true: does the writer sleep, wanting room? Clears it, so that one bell is rung.
  bool writer_wants_room(bool fenced) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (fenced) std::atomic_thread_fence(std::memory_order_seq_cst);
    std::atomic<std::uint32_t>& sleeps = channel_->head.writer_sleeps;
    return sleeps.load(std::memory_order_relaxed) != 0 && sleeps.exchange(0, std::memory_order_acq_rel) != 0;
  }

  Channel& channel() const { return *channel_; }

 private:
  static constexpr std::uint64_t kTellCells = Channel::kHalves / 4;

  PERIAPT_INLINE static bool is_lap(const HalfCell& cell, std::uint64_t position) {
    return (cell.word.load(std::memory_order_acquire) & host::Slot::kLapMask) == Channel::lap(position);
  }
  PERIAPT_INLINE bool published(std::uint64_t position) const { return is_lap(channel_->half(position), position); }
  // The second half of a line has not been published: is the next line, with a whole cell? If so, what was published in
  // this half before it is seen by now, and if nothing was, nothing will be.
  PERIAPT_INLINE bool goes_on() {
    if (PERIAPT_LIKELY(!published(next_ + 1))) return false;
    if (!published(next_)) ++next_;
    return true;
  }
  PERIAPT_NOINLINE void tell() {
    channel_->head.bulk_consumed.store(bulk_next_, std::memory_order_release);
    bulk_told_ = bulk_next_;
    if (next_ < tell_at_) return;
    const std::uint64_t lines = next_ & ~std::uint64_t{1};
    channel_->head.cells_consumed.store(lines, std::memory_order_release);
    tell_at_ = lines + kTellCells;
  }

  Channel* channel_ = nullptr;
  std::uint64_t next_ = 0, tell_at_ = kTellCells;  // in halves of cells
  std::uint64_t bulk_next_ = 0, bulk_end_ = 0, bulk_told_ = 0;
};

}  // namespace periapt::shm
