// What a flood of small blocks leaves behind: free blocks that nothing needs any more become pages again.
//
// Blocks that are free when trim() is called are put aside; those that are still there at the next call have not been
// needed in between. They stop being blocks: their lines are marked in a bitmap. Where that shows whole pages, these go
// back to the system, and make a region that blocks of any class can be carved from; what is left between them becomes
// blocks again. All of that is done a little at a time.
#include <algorithm>
#include <utility>

#include "machine/host/arena.h"
#include "machine/host/heap.h"

namespace periapt::host {
namespace {
constexpr std::size_t kLine = platform::kCacheLine;
constexpr std::size_t kMarkedAtOnce = 8192;                      // blocks: each is a line that lies in no cache
constexpr std::size_t kHarvestedAtOnce = std::size_t{32} << 20;  // bytes looked through, and perhaps given back
constexpr std::size_t kLeastRegion = 4 * platform::kPage;
constexpr std::size_t kPopulatedAtOnce = std::size_t{256} << 10;
constexpr unsigned kQuietRounds = 3;  // after so many without any change nothing more can be found
}  // namespace

std::size_t Heap::small_free_bytes() const {
  std::size_t bytes = 0;
  for (unsigned c = 0; c < kFirstBig; ++c) bytes += (carved_[c] - lists_[c].live) * size_class::bytes(c);
  return bytes;
}

Block* Heap::take_rested(unsigned size_class) {
  Rested& rested = rested_[size_class];
  if (Block* block = rested.list) {
    rested.list = link_of(block);
    return block;
  }
  if (rested.pile.empty()) return nullptr;
  Block* block = rested.pile.back();
  rested.pile.pop_back();
  return block;
}

bool Heap::sweep() {
  if (!sweeping_) {
    if (!sweepable()) return false;
    quiet_rounds_ = doings() == doings_ ? quiet_rounds_ + 1 : 0;
    doings_ = doings();
    begin_sweep();
  }
  if (marking_ < kFirstBig && mark()) return true;
  if (harvest()) return true;
  end_sweep();
  return false;
}

bool Heap::sweepable() const {
  return small_free_bytes() >= kSweepBytes && (quiet_rounds_ < kQuietRounds || doings() != doings_);
}

// Differs when anything has been done since.
std::uint64_t Heap::doings() const {
  std::uint64_t all = returned_blocks_ + static_cast<std::uint64_t>(small_end_ - begin_);
  for (unsigned c = 0; c < kFirstBig; ++c) all = all * 31 + lists_[c].live;
  return all;
}

void Heap::begin_sweep() {
  sweeping_ = true;
  marking_ = 0;
  harvested_ = 0;
  free_lines_.assign(static_cast<std::size_t>(small_end_ - begin_) / kLine / 64 + 1, 0);
  if (region_.at != region_.end) regions_.push_back(region_);
  region_ = {};
  for (const Region& region : regions_) mark_lines(region.at, static_cast<std::size_t>(region.end - region.at));
  regions_.clear();
}

void Heap::mark_lines(const std::byte* at, std::size_t bytes) {
  std::size_t line = static_cast<std::size_t>(at - begin_) / kLine;
  for (const std::size_t end = line + bytes / kLine; line < end; ++line)
    free_lines_[line / 64] |= std::uint64_t{1} << (line % 64);
}

bool Heap::mark() {
  for (std::size_t left = kMarkedAtOnce; marking_ < kFirstBig; ++marking_) {
    const std::size_t bytes = size_class::bytes(marking_);
    while (Block* block = take_rested(marking_)) {
      if (platform::kAddressSanitizer) platform::unpoison(block, bytes);
      mark_lines(reinterpret_cast<std::byte*>(block), bytes);
      --carved_[marking_];
      if (--left == 0) return true;
    }
    rested_[marking_].pile.shrink_to_fit();
  }
  return false;
}

bool Heap::harvest() {
  const std::size_t lines = free_lines_.size() * 64;
  const auto is_free = [this](std::size_t line) { return (free_lines_[line / 64] >> (line % 64) & 1) != 0; };
  for (const std::size_t stop = std::min(lines, harvested_ + kHarvestedAtOnce / kLine); harvested_ < stop;) {
    if (free_lines_[harvested_ / 64] == 0) {
      harvested_ = (harvested_ / 64 + 1) * 64;
      continue;
    }
    std::size_t end = harvested_;
    while (end < stop && is_free(end)) ++end;
    if (end != harvested_) use_run(begin_ + harvested_ * kLine, begin_ + end * kLine);
    harvested_ = end + 1;
  }
  return harvested_ < lines;
}

// Free lines: whole pages of them are a region, what lies around them, or is less, blocks.
void Heap::use_run(std::byte* begin, std::byte* end) {
  auto* first = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<std::uintptr_t>(begin), platform::kPage));
  auto* last = reinterpret_cast<std::byte*>(round_down(reinterpret_cast<std::uintptr_t>(end), platform::kPage));
  if (last < first + kLeastRegion) return make_blocks(begin, end);
  make_blocks(begin, first);
  make_blocks(last, end);
  discard_pages(first, static_cast<std::size_t>(last - first), shared_);
  ++page_calls_;
  regions_.push_back({first, last, first});
}

void Heap::make_blocks(std::byte* begin, std::byte* end) {
  while (begin < end) {
    const auto bytes = std::min(static_cast<std::size_t>(end - begin), size_class::kLinear * kLine);
    Block* block = reinterpret_cast<Block*>(begin);
    const unsigned size_class = size_class::of(bytes);
    init_block(block, size_class);
    ++carved_[size_class];
    link_of(block) = lists_[size_class].free;
    lists_[size_class].free = block;
    if (platform::kDebug) scribble(block);
    begin += bytes;
  }
}

// What is free now is put aside.
void Heap::end_sweep() {
  sweeping_ = false;
  free_lines_.clear();
  free_lines_.shrink_to_fit();
  for (unsigned c = 0; c < kFirstBig; ++c) {
    rested_[c].list = std::exchange(lists_[c].free, nullptr);
    rested_[c].pile = std::exchange(came_back_[c], {});
  }
}

// A block out of a region that was given back; null when none is large enough.
Block* Heap::carve_from_region(unsigned size_class) {
  const std::size_t bytes = size_class::bytes(size_class);
  const auto room = [](const Region& region) { return static_cast<std::size_t>(region.end - region.at); };
  if (room(region_) < bytes) {
    auto next = std::find_if(regions_.rbegin(), regions_.rend(), [&](const Region& r) { return room(r) >= bytes; });
    if (next == regions_.rend()) return nullptr;
    std::swap(*next, region_);
    if (room(*next) == 0) {
      *next = regions_.back();
      regions_.pop_back();
    }
  }
  Block* block = reinterpret_cast<Block*>(region_.at);
  region_.at += bytes;
  if (region_.at > region_.populated) {
    const auto missing = static_cast<std::size_t>(region_.at - region_.populated);
    const std::size_t step = std::min(std::max(round_up(missing, platform::kPage), kPopulatedAtOnce),
                                      static_cast<std::size_t>(region_.end - region_.populated));
    populate_pages(region_.populated, step);
    ++page_calls_;
    region_.populated += step;
  }
  init_block(block, size_class);
  return block;
}

}  // namespace periapt::host
