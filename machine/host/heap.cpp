#include "machine/host/heap.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/fatal.h"
#include "machine/host/arena.h"

namespace periapt::host {
namespace {

// An entry of a batch: the block's address (a multiple of 64), its class in the top byte, and whether it holds further
// addresses itself.
constexpr std::uint64_t kCarrier = 1;
constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << 56) - 64;
constexpr std::size_t kFirstPopulate = std::size_t{64} << 10;
constexpr std::size_t kMostPopulate = std::size_t{2} << 20;
constexpr std::size_t kDefaultCache = std::size_t{256} << 20;
constexpr std::size_t kTrimBytes = std::size_t{32} << 20;  // given back by one trim(): a few milliseconds
constexpr unsigned char kScribble = 0xDB;
constexpr std::size_t kFetchAhead = 12;  // lines of blocks that came back, fetched before they are allocated
constexpr std::size_t kScribbleBytes = 1024;
// What another PE has just read lies in its caches too, so that writing it waits for each line. Of blocks of this size
// on, so many are used in turn: when one is written again, most of its lines are nowhere else.
constexpr unsigned kFirstInTurn = size_class::of(std::size_t{32} << 10);
constexpr std::uint64_t kInTurn = 8;

Block* block_at(std::uint64_t entry) { return reinterpret_cast<Block*>(entry & kAddressMask); }

unsigned class_of(std::uint64_t entry) { return static_cast<unsigned>(entry >> 56); }

// The body of a carrier: the link of the return stack (of the first one of a batch only), then addresses.
std::uint64_t* entries_of(Block* carrier) { return reinterpret_cast<std::uint64_t*>(carrier + 1) + 1; }
unsigned room_of(std::uint64_t entry) {
  std::size_t bytes = size_class::bytes(class_of(entry)) - sizeof(Block) - sizeof(Block*);
  return static_cast<unsigned>(std::min<std::size_t>(bytes / sizeof(std::uint64_t), 256));
}

std::string in_words(std::size_t bytes) {
  if (bytes >= std::size_t{1} << 30) return std::to_string(bytes >> 30) + " GiB";
  if (bytes >= std::size_t{1} << 20) return std::to_string(bytes >> 20) + " MiB";
  return std::to_string(bytes) + " bytes";
}

}  // namespace

Heap::Heap(const HeapConfig& config)
    : pe_(static_cast<std::uint32_t>(config.pe)),
      pes_(config.pes),
      returns_(config.return_stacks[config.pe]),
      pending_(static_cast<Pending*>(std::calloc(static_cast<std::size_t>(config.pes), sizeof(Pending)))),
      return_stacks_(config.return_stacks),
      begin_(config.begin),
      small_end_(
          reinterpret_cast<std::byte*>(round_up(reinterpret_cast<std::uintptr_t>(config.begin), platform::kCacheLine))),
      big_begin_(
          reinterpret_cast<std::byte*>(round_down(reinterpret_cast<std::uintptr_t>(config.end), platform::kPage))),
      end_(config.end),
      populated_(config.begin),
      populate_step_(kFirstPopulate),
      cache_limit_(kDefaultCache),
      shared_(config.shared) {
  if (pending_ == nullptr) fatal("no memory to start PE " + std::to_string(pe_));
}

Heap::~Heap() {
  if (platform::kAddressSanitizer) platform::unpoison(begin_, static_cast<std::size_t>(small_end_ - begin_));
}

// ---- allocating

void* Heap::allocate_slow(unsigned size_class) {
  const bool big = size_class >= kFirstBig;
  const bool one_more = !big && size_class >= kFirstInTurn && carved_[size_class] < kInTurn;
  if (big || (came_back_[size_class].empty() && !one_more)) take_returns();
  if (big) return allocate_big(size_class);
  ClassList& list = lists_[size_class];
  std::vector<Block*>& came_back = came_back_[size_class];
  Block* block;
  if (!came_back.empty()) {
    block = came_back.back();
    came_back.pop_back();
    if (came_back.size() >= kFetchAhead) platform::prefetch_for_write(came_back[came_back.size() - kFetchAhead]);
  } else {
    block = take_rested(size_class);
    if (block == nullptr) block = carve(size_class);
  }
  ++list.live;
  prepare(block, size_class);
  return block->bytes();
}

void* Heap::allocate_big(unsigned size_class) {
  BigList& list = big_free_[size_class - kFirstBig];
  Block* block = list.free != nullptr ? take_big(list) : carve_big(size_class);
  ++lists_[block->size_class].live;
  prepare(block, block->size_class);
  return block->bytes();
}

Block* Heap::take_big(BigList& list) {
  Block* block = list.free;
  list.free = link_of(block);
  if (list.warm == 0) {
    populate_pages(block, std::min(size_class::bytes(block->size_class), kMostPopulate));
    ++page_calls_;
    return block;
  }
  --list.warm;
  list.unneeded = std::min(list.unneeded, list.warm);
  cached_big_bytes_ -= size_class::bytes(block->size_class);
  return block;
}

Block* Heap::carve(unsigned size_class) {
  ++carved_[size_class];
  if (Block* block = carve_from_region(size_class)) return block;
  std::size_t bytes = size_class::bytes(size_class);
  if (static_cast<std::size_t>(big_begin_ - small_end_) < bytes) out_of_space(bytes);
  Block* block = reinterpret_cast<Block*>(small_end_);
  small_end_ += bytes;
  if (small_end_ > populated_) populate_to(small_end_);
  init_block(block, size_class);
  return block;
}

Block* Heap::carve_big(unsigned size_class) {
  std::size_t bytes = size_class::bytes(size_class);
  if (static_cast<std::size_t>(big_begin_ - small_end_) < bytes) {
    Block* block = larger_free_block(size_class);
    if (block == nullptr) out_of_space(bytes);
    return block;
  }
  big_begin_ -= bytes;
  Block* block = reinterpret_cast<Block*>(big_begin_);
  populate_pages(block, std::min(bytes, kMostPopulate));
  ++page_calls_;
  init_block(block, size_class);
  return block;
}

// When the slice is used up: a free block of a larger class serves too.
Block* Heap::larger_free_block(unsigned size_class) {
  for (unsigned larger = size_class + 1; larger < size_class::kCount; ++larger) {
    BigList& list = big_free_[larger - kFirstBig];
    if (list.free != nullptr) return take_big(list);
  }
  return nullptr;
}

void Heap::init_block(Block* block, unsigned size_class) {
  block->owner = pe_;
  block->size_class = static_cast<std::uint8_t>(size_class);
  block->state = Block::kFree;
  block->batch = 0;
  block->references.store(1, std::memory_order_relaxed);
}

// Makes pages present ahead of their use, more at a time as the heap grows.
void Heap::populate_to(std::byte* end) {
  std::size_t missing = static_cast<std::size_t>(end - populated_);
  std::size_t step = std::min(round_up(std::max(missing, populate_step_), platform::kPage),
                              static_cast<std::size_t>(big_begin_ - populated_));
  populate_pages(populated_, step);
  ++page_calls_;
  populated_ += step;
  populate_step_ = std::min(populate_step_ * 2, kMostPopulate);
}

void* Heap::allocate_permanent(std::size_t bytes, std::size_t alignment) {
  std::byte* begin = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<std::uintptr_t>(small_end_), alignment));
  bytes = round_up(bytes, platform::kCacheLine);
  if (begin > big_begin_ || static_cast<std::size_t>(big_begin_ - begin) < bytes) out_of_space(bytes);
  small_end_ = begin + bytes;
  if (small_end_ > populated_) populate_to(small_end_);
  return begin;  // memory of the arena is zero until its first use
}

void* Heap::unique(void* bytes, std::size_t used) {
  if (!is_shared(bytes)) return bytes;
  void* copy = allocate(used);
  std::memcpy(copy, bytes, used);
  release(bytes);
  return copy;
}

// ---- giving back

void Heap::put_free_big(Block* block) {
  std::size_t bytes = size_class::bytes(block->size_class);
  --lists_[block->size_class].live;
  block->state = Block::kFree;
  BigList& list = big_free_[block->size_class - kFirstBig];
  link_of(block) = list.free;
  list.free = block;
  ++list.warm;
  cached_big_bytes_ += bytes;
  if (platform::kDebug) scribble(block);
  if (cached_big_bytes_ > cache_limit_) {
    cool(list, 1);
    list.unneeded = std::min(list.unneeded, list.warm);
  }
}

// The last `count` blocks of the list that have their pages, of which there are as many, give them back.
void Heap::cool(BigList& list, std::uint32_t count) {
  Block* block = list.free;
  for (std::uint32_t kept = list.warm - count; kept > 0; --kept) block = link_of(block);
  for (std::uint32_t left = count; left > 0; --left, block = link_of(block)) {
    const std::size_t bytes = size_class::bytes(block->size_class);
    // The first page stays: it holds the header and the link.
    discard_pages(reinterpret_cast<std::byte*>(block) + platform::kPage, bytes - platform::kPage, shared_);
    ++page_calls_;
    cached_big_bytes_ -= bytes;
  }
  list.warm -= count;
}

bool Heap::trim() {
  take_returns();
  return (!sweeping_ && trim_big()) || sweep();
}

bool Heap::trim_big() {
  std::size_t budget = kTrimBytes;
  for (; trimming_ < size_class::kCount; ++trimming_) {
    BigList& list = big_free_[trimming_ - kFirstBig];
    if (list.unneeded != 0) {
      if (budget == 0) return true;
      const std::size_t bytes = size_class::bytes(trimming_);
      const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(list.unneeded, (budget + bytes - 1) / bytes));
      list.unneeded -= count;
      cool(list, count);
      budget -= std::min(budget, count * bytes);
      if (list.unneeded != 0) return true;
    }
    list.unneeded = list.warm;
  }
  trimming_ = kFirstBig;
  return false;
}

// Debug builds: what still reads a released block finds nonsense, or AddressSanitizer.
void Heap::scribble(Block* block) {
  std::byte* begin = reinterpret_cast<std::byte*>(block) + sizeof(Block) + sizeof(Block*);
  std::size_t bytes = size_class::bytes(block->size_class) - sizeof(Block) - sizeof(Block*);
  std::memset(begin, kScribble, std::min(bytes, kScribbleBytes));
  platform::poison(begin, bytes);
}

void Heap::enlist(Pending& pending, std::uint32_t owner) {
  pending.listed = 1;
  owners_pending_.push_back(owner);
}

// The blocks of the batch, in order, as a tree: the first holds the addresses of the next ones, as many as fit; where
// there are more, the second holds those that follow, and so on.
void Heap::flush(Pending& pending, std::uint32_t owner) {
  unsigned count = pending.count;
  if (count == 0) return;
  unsigned carriers = 0;
  for (unsigned next = 1; next < count; ++carriers) next += room_of(pending.entries[carriers]);
  for (unsigned i = 0, next = 1; i < carriers; ++i) {
    Block* carrier = block_at(pending.entries[i]);
    unsigned held = std::min(room_of(pending.entries[i]), count - next);
    carrier->batch = static_cast<std::uint16_t>(held);
    for (unsigned k = 0; k < held; ++k, ++next) {
      entries_of(carrier)[k] = pending.entries[next] | (next < carriers ? kCarrier : 0);
    }
  }
  Block* top = block_at(pending.entries[0]);
  if (carriers == 0) top->batch = 0;
  pending.count = 0;
  pending.bytes = 0;

  std::atomic<Block*>& stack = return_stacks_[owner]->top;
  Block* below = stack.load(std::memory_order_relaxed);
  do {
    link_of(top) = below;
    // release: partner is the acquire in take_all(); it carries the batch and our last reads of the blocks. Batches
    // pushed by others earlier stay ordered too: a CAS continues their release sequence. The owner only ever takes
    // everything, so a top that was taken and came back is still the right one to link to (no ABA).
  } while (!stack.compare_exchange_weak(below, top, std::memory_order_release, std::memory_order_relaxed));
}

void Heap::flush_all() {
  for (std::uint32_t owner : owners_pending_) {
    flush(pending_[owner], owner);
    pending_[owner].listed = 0;
  }
  owners_pending_.clear();
}

void Heap::take_all() {
  Block* top = returns_->top.exchange(nullptr, std::memory_order_acquire);
  while (top != nullptr) {
    Block* below = link_of(top);
    if (below != nullptr) platform::prefetch(below);
    take_batch(top);
    top = below;
  }
}

void Heap::take_batch(Block* top) {
  std::uint64_t entries[Pending::kMost];
  entries[0] = reinterpret_cast<std::uint64_t>(top) | std::uint64_t{top->size_class} << 56 | kCarrier;
  unsigned count = 1;
  for (unsigned i = 0; i < count && (entries[i] & kCarrier) != 0; ++i) {  // carriers come first
    Block* carrier = block_at(entries[i]);
    unsigned held = std::min<unsigned>(carrier->batch, Pending::kMost - count);
    for (unsigned k = 0; k < held; ++k) {
      entries[count++] = entries_of(carrier)[k];
      platform::prefetch_for_write(block_at(entries[count - 1]));
    }
  }
  for (unsigned i = 0; i < count; ++i) put_back(entries[i]);
  returned_blocks_ += count;
  ++return_batches_;
}

void Heap::put_back(std::uint64_t entry) {
  Block* block = block_at(entry);
  platform::take_over(block->bytes());
  if (class_of(entry) >= kFirstBig) return put_free_big(block);
  --lists_[class_of(entry)].live;
  came_back_[class_of(entry)].push_back(block);
  if (platform::kDebug) {
    block->state = Block::kFree;
    scribble(block);
  }
}

// ---- asking and refusing

HeapStatistics Heap::statistics() const {
  HeapStatistics result;
  for (unsigned c = 0; c < size_class::kCount; ++c) {
    result.live_blocks += lists_[c].live;
    result.live_bytes += lists_[c].live * size_class::bytes(c);
  }
  for (int pe = 0; pe < pes_; ++pe) result.pending_returns += pending_[pe].count;
  result.returned_blocks = returned_blocks_;
  result.return_batches = return_batches_;
  result.carved_bytes = static_cast<std::uint64_t>((small_end_ - begin_) + (end_ - big_begin_));
  result.cached_big_bytes = cached_big_bytes_;
  result.page_calls = page_calls_;
  return result;
}

void Heap::refuse_size(std::size_t bytes) {
  fatal("a message of " + in_words(bytes) + " was asked for; the largest possible is " + in_words(size_class::kLargest),
        "message memory of PE " + std::to_string(pe_), "a negative length that became unsigned looks like this",
        "check the sizes given to new or to the entry method");
}

void Heap::refuse_release(Block* block) {
  bool twice = block->state == Block::kFree || block->state == Block::kReturning;
  fatal(twice ? "a message was released twice"
              : "the header in front of a message was overwritten, or this is no message",
        "release on PE " + std::to_string(pe_),
        twice ? "it was deleted or sent again after its ownership had passed on"
              : "something wrote before the start of a message or past the end of the one in front of it, or a pointer "
                "that did not come from new of a message type was sent or deleted",
        "build with -fsanitize=address to be shown the place");
}

void Heap::out_of_space(std::size_t bytes) {
  std::size_t size = static_cast<std::size_t>(end_ - begin_);
  HeapStatistics now = statistics();
  fatal("no room for a message of " + in_words(bytes) + " in the " + in_words(size) + " of addresses of a PE",
        "message memory of PE " + std::to_string(pe_),
        std::to_string(now.live_blocks) + " messages of together " + in_words(now.live_bytes) +
            " are alive: made faster than they are received, or never deleted",
        "delete received messages, send less at a time; if the address space was limited: ulimit -v unlimited");
}

}  // namespace periapt::host
