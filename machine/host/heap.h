// Heap: the message memory of one PE. Its own thread allocates without a lock; any PE of the host may release.
//
// Every block starts on a cache line with a 16-byte header; the bytes handed out follow it, so that a message's 48-byte
// envelope fills the rest of the line and its payload starts on the next one.
//
//   line 0: | Block header, 16 B | envelope, 48 B |   line 1: | payload ...
//
// A released block goes back to the heap it came from, whichever PE releases it:
//   - on the own PE it is pushed on the free list of its size class (last in, first out: its lines are still warm);
//   - on another PE its address is collected, per owner, and a full collection is handed back with one CAS on the
//     owner's return stack. The addresses travel inside the returned blocks themselves, as a flat tree: the first block
//     holds the addresses of the next ones, some of those hold further ones. So the owner reads few lines for many
//     blocks, and can ask for all of them at once instead of walking a chain through lines that lie in another core's
//     cache.
//   The owner takes the whole stack with one exchange when it has run out of blocks of a class. What came back is kept
//   as a pile of addresses, so that taking a batch writes to none of its blocks: their lines are fetched meanwhile, and
//   the first to be written is the one that is allocated.
//
// C++17.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/bits.h"
#include "base/platform.h"

namespace periapt::host {

/// In front of the bytes of every block.
struct Block {
  enum State : std::uint8_t { kFree = 0x5F, kLive = 0xA7, kReturning = 0x3C };

  std::uint32_t owner;                    ///< host PE whose heap it belongs to; never changes
  std::uint8_t size_class;                ///< never changes
  std::uint8_t state;                     ///< State; anything else: the header was overwritten
  std::uint16_t batch;                    ///< on the way home: of how many further blocks it holds the addresses
  std::atomic<std::uint32_t> references;  ///< holders; 1 in a free block, so that allocating need not write it
  std::uint32_t asked;                    ///< bytes that were asked for, 2^32 - 1 where it is more

  void* bytes() { return this + 1; }
  static Block* of(const void* bytes) { return static_cast<Block*>(const_cast<void*>(bytes)) - 1; }
};
static_assert(sizeof(Block) == 16, "a 48-byte envelope behind the header ends with the line");

/// Sizes, header included: multiples of 64 up to 1 KiB, then eight steps a doubling up to 64 GiB.
namespace size_class {
inline constexpr unsigned kLinear = 16;
inline constexpr unsigned kStepBits = 3;
inline constexpr unsigned kFirstLog = 10, kLastLog = 36;
inline constexpr unsigned kCount = kLinear + (kLastLog - kFirstLog) * (1u << kStepBits);
static_assert(kCount <= 256, "a class fits a byte");

constexpr unsigned of(std::size_t total) {
  if (total <= 1024) return static_cast<unsigned>((total + 63) / 64 - 1);
  unsigned log = floor_log2(total - 1);
  return kLinear + ((log - kFirstLog) << kStepBits) +
         static_cast<unsigned>(((total - 1) >> (log - kStepBits)) & ((1u << kStepBits) - 1));
}
constexpr std::size_t bytes(unsigned size_class) {
  if (size_class < kLinear) return (size_class + 1) * std::size_t{64};
  unsigned log = kFirstLog + ((size_class - kLinear) >> kStepBits);
  std::size_t step = ((size_class - kLinear) & ((1u << kStepBits) - 1)) + 1;
  return (std::size_t{1} << log) + (step << (log - kStepBits));
}
inline constexpr std::size_t kLargest = bytes(kCount - 1);
/// From here on blocks start on a page and their pages can go back to the system.
inline constexpr std::size_t kBig = std::size_t{256} << 10;
}  // namespace size_class

/// A PE's return stack: the one word of a heap that other PEs write. On a line of its own, in shared memory.
struct alignas(platform::kCacheLine) ReturnStack {
  std::atomic<Block*> top;
};

struct HeapStatistics {
  std::uint64_t live_blocks = 0;       ///< handed out and not yet back (batches on their way count as live)
  std::uint64_t live_bytes = 0;        ///< the same, in bytes, headers and rounding included
  std::uint64_t returned_blocks = 0;   ///< came back from other PEs
  std::uint64_t return_batches = 0;    ///< in so many batches
  std::uint64_t pending_returns = 0;   ///< of other PEs' blocks, collected here and not yet handed back
  std::uint64_t carved_bytes = 0;      ///< of the slice, ever
  std::uint64_t cached_big_bytes = 0;  ///< in free big blocks, still backed by pages
  std::uint64_t page_calls = 0;        ///< to the system, to populate pages or to give them back
};

/// Where a heap lives; filled by MachineLayer (or by a test).
struct HeapConfig {
  int pe = 0;
  std::byte* begin = nullptr;  ///< the part of the PE's slice that is the heap
  std::byte* end = nullptr;
  bool shared = false;
  ReturnStack* const* return_stacks = nullptr;  ///< by PE
  int pes = 0;
};

class alignas(platform::kCacheLine) Heap {
 public:
  explicit Heap(const HeapConfig& config);
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  /// `bytes` bytes, 16 behind the start of a cache line. Own thread only. Never fails: exhaustion is fatal and says
  /// which limit was met. Usually a few instructions: no lock, no system call.
  PERIAPT_INLINE void* allocate(std::size_t bytes) {
    if (PERIAPT_UNLIKELY(bytes > size_class::kLargest - sizeof(Block))) refuse_size(bytes);
    unsigned size_class = size_class::of(bytes + sizeof(Block));
    ClassList& list = lists_[size_class];
    Block* block = list.free;
    if (PERIAPT_UNLIKELY(block == nullptr)) {
      block = Block::of(allocate_slow(size_class));
    } else {
      list.free = link_of(block);
      ++list.live;
      prepare(block, size_class);
    }
    block->asked = static_cast<std::uint32_t>(bytes < UINT32_MAX ? bytes : UINT32_MAX);
    return block->bytes();
  }

  /// Gives up one reference; the last one gives the block back to its heap. Called on this heap's own thread, for
  /// blocks of any heap of the host.
  PERIAPT_INLINE void release(void* bytes) {
    Block* block = Block::of(bytes);
    if (PERIAPT_UNLIKELY(block->state != Block::kLive)) refuse_release(block);
    // 1: there is no other holder that could change the count. acquire: partner is the release in the fetch_sub of
    // a former holder on another PE, whose reads of the block come before our reuse of it.
    if (PERIAPT_UNLIKELY(block->references.load(std::memory_order_acquire) != 1)) {
      if (block->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      block->references.store(1, std::memory_order_relaxed);  // handed on with the block
    }
    if (PERIAPT_LIKELY(block->owner == pe_)) {
      put_free(block);
    } else {
      collect(block);
    }
  }

  /// `count` more holders. The caller holds a reference itself, so relaxed is enough: a PE gets
  /// one of the new references through a message, which orders it.
  static void add_reference(void* bytes, std::uint32_t count = 1) {
    Block::of(bytes)->references.fetch_add(count, std::memory_order_relaxed);
  }
  /// Is there another holder? A `false` stays false, as only holders can add one.
  static bool is_shared(const void* bytes) { return Block::of(bytes)->references.load(std::memory_order_acquire) != 1; }
  /// A block that this caller alone holds with the same first `used` bytes: the same one when it is not shared, else a
  /// copy from this heap, the given reference released.
  void* unique(void* bytes, std::size_t used);

  /// Bytes that fit in the block.
  static std::size_t capacity(const void* bytes) {
    return size_class::bytes(Block::of(bytes)->size_class) - sizeof(Block);
  }
  /// Bytes that were asked for (2^32 - 1 at most).
  static std::size_t size(const void* bytes) { return Block::of(bytes)->asked; }
  static int owner(const void* bytes) { return static_cast<int>(Block::of(bytes)->owner); }

  /// Hands back what was collected for other PEs, however little. Call when idle. Cheap when there is nothing.
  void flush_returns() {
    if (PERIAPT_UNLIKELY(!owners_pending_.empty())) flush_all();
  }
  /// Takes back what other PEs have returned; allocate() does it when it needs to.
  void take_returns() {
    if (PERIAPT_UNLIKELY(returns_->top.load(std::memory_order_relaxed) != nullptr)) take_all();
  }

  /// Zeroed memory that is never given back, aligned to `alignment` (a power of two, at least 64): rings and tables.
  void* allocate_permanent(std::size_t bytes, std::size_t alignment = platform::kCacheLine);

  /// Free blocks keep their pages for the next messages. Those that none has needed since the last call give them back:
  /// call it now and then. A call takes some milliseconds at most; true: it has left something. Own thread only.
  bool trim();
  /// Whether a later trim() may give anything back.
  bool trimmable() const { return cached_big_bytes_ != 0 || sweeping_ || sweepable(); }
  /// Pages of free big blocks that are kept at most, whatever trim() says: beyond it they go back to the system at
  /// once.
  void set_cache_limit(std::size_t bytes) { cache_limit_ = bytes; }

  HeapStatistics statistics() const;
  int pe() const { return static_cast<int>(pe_); }

 private:
  struct ClassList {
    Block* free = nullptr;
    std::uint64_t live = 0;
  };
  /// Blocks of one other PE on their way home: address, with the size class in the top byte. All zero when empty.
  struct Pending {
    static constexpr unsigned kMost = 62;
    static constexpr std::uint32_t kMostBytes = 64 << 10;  ///< big ones don't wait for company
    std::uint32_t count;
    std::uint32_t bytes;
    std::uint32_t listed;  ///< in owners_pending_
    std::uint64_t entries[kMost];
  };
  struct FreeMemory {
    void operator()(void* memory) const { std::free(memory); }
  };

  // A free block's link to the next one follows its header.
  static Block*& link_of(Block* block) { return *reinterpret_cast<Block**>(block + 1); }

  PERIAPT_INLINE static void prepare(Block* block, unsigned size_class) {
    if (platform::kAddressSanitizer) platform::unpoison(block->bytes(), size_class::bytes(size_class) - sizeof(Block));
    block->state = Block::kLive;  // references is 1 already
  }
  PERIAPT_INLINE void put_free(Block* block) {
    if (PERIAPT_UNLIKELY(block->size_class >= kFirstBig)) return put_free_big(block);
    ClassList& list = lists_[block->size_class];
    --list.live;
    block->state = Block::kFree;
    link_of(block) = list.free;
    list.free = block;
    if (platform::kDebug) scribble(block);
  }
  PERIAPT_INLINE void collect(Block* block) {
    Pending& pending = pending_[block->owner];
    if (platform::kDebug) block->state = Block::kReturning;
    if (PERIAPT_UNLIKELY(pending.listed == 0)) enlist(pending, block->owner);
    pending.entries[pending.count++] = reinterpret_cast<std::uint64_t>(block) | std::uint64_t{block->size_class} << 56;
    pending.bytes += block->size_class >= kFirstBig ? Pending::kMostBytes
                                                    : static_cast<std::uint32_t>(size_class::bytes(block->size_class));
    if (PERIAPT_UNLIKELY(pending.count == Pending::kMost || pending.bytes >= Pending::kMostBytes)) {
      flush(pending, block->owner);
    }
  }

  PERIAPT_NOINLINE void* allocate_slow(unsigned size_class);
  void* allocate_big(unsigned size_class);
  Block* carve(unsigned size_class);
  Block* carve_big(unsigned size_class);
  Block* larger_free_block(unsigned size_class);
  PERIAPT_NOINLINE void put_free_big(Block* block);
  PERIAPT_NOINLINE void scribble(Block* block);
  PERIAPT_NOINLINE void enlist(Pending& pending, std::uint32_t owner);
  PERIAPT_NOINLINE void flush(Pending& pending, std::uint32_t owner);
  PERIAPT_NOINLINE void flush_all();
  PERIAPT_NOINLINE void take_all();
  void take_batch(Block* top);
  void put_back(std::uint64_t entry);
  void populate_to(std::byte* end);
  void init_block(Block* block, unsigned size_class);
  [[noreturn]] PERIAPT_COLD void refuse_size(std::size_t bytes);
  [[noreturn]] PERIAPT_COLD void refuse_release(Block* block);
  [[noreturn]] PERIAPT_COLD void out_of_space(std::size_t bytes);

  static constexpr unsigned kFirstBig = size_class::of(size_class::kBig);

  /// The free big blocks of a class, the last one freed first: those behind the first `warm` have given their pages
  /// back.
  struct BigList {
    Block* free = nullptr;
    std::uint32_t warm = 0;
    std::uint32_t unneeded = 0;  ///< warm ones that have been free ever since the last trim()
  };
  Block* take_big(BigList& list);
  void cool(BigList& list, std::uint32_t count);
  bool trim_big();

  // Free small blocks become pages again: heap_sweep.cpp.
  static constexpr std::size_t kSweepBytes = std::size_t{8} << 20;  ///< less than that is left as it is
  struct Rested {  ///< free blocks of a class that have not been needed since the last trim()
    Block* list = nullptr;
    std::vector<Block*> pile;
  };
  struct Region {  ///< pages that were given back, to be carved anew
    std::byte* at = nullptr;
    std::byte* end = nullptr;
    std::byte* populated = nullptr;
  };
  bool sweep();
  bool sweepable() const;
  std::size_t small_free_bytes() const;
  std::uint64_t doings() const;
  void begin_sweep();
  bool mark();
  void mark_lines(const std::byte* at, std::size_t bytes);
  bool harvest();
  void use_run(std::byte* begin, std::byte* end);
  void make_blocks(std::byte* begin, std::byte* end);
  void end_sweep();
  Block* take_rested(unsigned size_class);
  Block* carve_from_region(unsigned size_class);

  // Free blocks and counts, by class: those released here, those that came back from other PEs. The free big blocks are
  // kept apart, so that the fast path finds none of them and allocate_slow() can keep its accounts of pages.
  ClassList lists_[size_class::kCount];
  std::vector<Block*> came_back_[kFirstBig];
  BigList big_free_[size_class::kCount - kFirstBig];
  std::uint32_t pe_;
  int pes_;
  ReturnStack* returns_;
  std::unique_ptr<Pending[], FreeMemory> pending_;  ///< by owner; touched only for owners that there is something of
  std::vector<std::uint32_t> owners_pending_;
  ReturnStack* const* return_stacks_;

  std::byte* begin_;
  std::byte* small_end_;  ///< small blocks are carved upward from begin_; this is the next
  std::byte* big_begin_;  ///< big ones downward from end_; this is the lowest
  std::byte* end_;
  std::byte* populated_;  ///< pages below are present
  std::size_t populate_step_;
  std::size_t cache_limit_;
  std::size_t cached_big_bytes_ = 0;
  std::uint64_t returned_blocks_ = 0;
  std::uint64_t return_batches_ = 0;
  std::uint64_t page_calls_ = 0;
  unsigned trimming_ = kFirstBig;  ///< class that trim() goes on with

  std::uint64_t carved_[kFirstBig] = {};  ///< small blocks that there are, by class
  Rested rested_[kFirstBig];
  std::vector<Region> regions_;
  Region region_;  ///< the one that is being carved
  bool sweeping_ = false;
  unsigned marking_ = 0;       ///< class that a sweep goes on with
  std::size_t harvested_ = 0;  ///< lines that it has looked at
  std::vector<std::uint64_t> free_lines_;
  std::uint64_t doings_ = 0;  ///< when the last sweep began
  unsigned quiet_rounds_ = 0;
  bool shared_;
};

}  // namespace periapt::host
