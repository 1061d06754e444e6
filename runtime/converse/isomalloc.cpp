// Isomalloc: a range of addresses that no process uses for anything else, divided into as many pieces as there are
// units.
//
// A piece holds its own books, so that its bytes are all there is to move: Books at the front, and behind them blocks,
// each with its length in front. Free blocks are in lists by size class, powers of two and halves between; what no list
// has comes from the end. Pages that were never touched cost nothing.
#include "runtime/converse/isomalloc.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "base/bits.h"
#include "base/fatal.h"
#include "runtime/converse/cmi.h"

using namespace periapt;

namespace {
// Far from where Linux puts programs, heaps, libraries and stacks on 47-bit addresses, and from sanitizers' shadows.
constexpr std::uintptr_t range_start = std::uintptr_t{0x2000} << 32;
constexpr std::size_t range_bytes = std::size_t{0x1000} << 32;
constexpr std::size_t page_bytes = 4096;
constexpr std::size_t header_bytes = 16;  // before each block
constexpr int classes = 96;

struct Block {
  std::size_t bytes;  // behind the header
  Block* next;        // in a free list; of a block in use, what it is aligned from (null: itself)
};
static_assert(sizeof(Block) == header_bytes);

struct Books {
  int unit, units;
  std::size_t used;  // from the start of the piece
  Block* free[classes];
};

// The smallest class whose blocks have so many bytes: 16, (none,) 32, 48, 64, 96, 128 ...
int class_of(std::size_t bytes) {
  if (bytes <= 16) return 0;
  bytes = periapt::round_up(bytes, 16);
  const int log = std::bit_width(bytes - 1);  // 2^(log-1) < bytes <= 2^log
  const std::size_t half = std::size_t{3} << (log - 2);
  return 2 * (log - 4) - (bytes <= half);
}
std::size_t bytes_of_class(int c) {
  const std::size_t power = std::size_t{16} << ((c + 1) / 2);
  return c % 2 ? power / 4 * 3 : power;
}

int units_of_run = 0;
std::mutex units_guard;

std::size_t piece_bytes(int units) { return range_bytes / static_cast<std::size_t>(units) / page_bytes * page_bytes; }
char* piece_of(int unit, int units) {
  return reinterpret_cast<char*>(range_start) + static_cast<std::size_t>(unit) * piece_bytes(units);
}

// The piece of a unit, mapped in this process; `why` names the call.
Books* map(int unit, int units, const char* function) {
  if (units <= 0 || unit < 0 || unit >= units || piece_bytes(units) < 16 * page_bytes) {
    fatal("unit " + std::to_string(unit) + " of " + std::to_string(units), function,
          "units are numbered from 0, and there are 268 million at most");
  }
  {
    const std::lock_guard lock(units_guard);
    if (units_of_run == 0) units_of_run = units;
    if (units_of_run != units) {
      fatal("memory for " + std::to_string(units) + " units, where it was divided among " +
                std::to_string(units_of_run) + " before",
            function, "all calls of a run give the same number", "give the largest number of units that there will be");
    }
  }
  void* const wanted = piece_of(unit, units);
  void* const got = ::mmap(wanted, piece_bytes(units), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED || got != wanted) {
    const bool taken = errno == EEXIST || got != MAP_FAILED;
    fatal("no memory for unit " + std::to_string(unit) + " of " + std::to_string(units), function,
          taken ? "this process has a context of that unit already" : std::strerror(errno),
          taken ? "delete that one first, or give another unit" : "see ulimit -v");
  }
  return static_cast<Books*>(got);
}

Books& books_of(const CmiIsomallocContext& context, const char* function) {
  if (!context.opaque)
    fatal("a context that is not there", function, "it was deleted, or has moved to another process");
  return *static_cast<Books*>(context.opaque);
}

Block* block_of(void* memory) {
  Block* block = static_cast<Block*>(memory) - 1;
  return block->next ? block->next : block;
}

void* take(Books& books, std::size_t bytes) {
  const int c = class_of(bytes);
  if (c >= classes) fatal("a block of " + std::to_string(bytes) + " bytes", "CmiIsomallocContextMalloc");
  if (Block* block = books.free[c]) {
    books.free[c] = std::exchange(block->next, nullptr);
    return block + 1;
  }
  const std::size_t size = bytes_of_class(c);
  if (size > piece_bytes(books.units) - header_bytes - books.used) {
    fatal("a unit has no room left for a block of " + std::to_string(bytes) + " bytes", "CmiIsomallocContextMalloc",
          "each of " + std::to_string(books.units) + " units has " + std::to_string(piece_bytes(books.units) >> 20) +
              " MiB of addresses",
          "divide among fewer units");
  }
  auto* block = reinterpret_cast<Block*>(reinterpret_cast<char*>(&books) + books.used);
  *block = {size, nullptr};
  books.used += header_bytes + size;
  return block + 1;
}
}  // namespace

extern "C" {

int CmiIsomallocEnabled() { return 1; }
int CmiIsomallocInRange(void* address) { return reinterpret_cast<std::uintptr_t>(address) - range_start < range_bytes; }

CmiIsomallocContext CmiIsomallocContextCreate(int unit, int units) {
  Books* books = map(unit, units, "CmiIsomallocContextCreate");
  books->unit = unit;
  books->units = units;
  books->used = periapt::round_up(sizeof(Books), 16);
  return {books};
}
void CmiIsomallocContextDelete(CmiIsomallocContext context) {
  Books& books = books_of(context, "CmiIsomallocContextDelete");
  ::munmap(&books, piece_bytes(books.units));
}

void* CmiIsomallocContextMalloc(CmiIsomallocContext context, std::size_t bytes) {
  return take(books_of(context, "CmiIsomallocContextMalloc"), bytes);
}
void* CmiIsomallocContextMallocAlign(CmiIsomallocContext context, std::size_t alignment, std::size_t bytes) {
  if (!std::has_single_bit(alignment))
    fatal("an alignment of " + std::to_string(alignment), "CmiIsomallocContextMallocAlign", "it is a power of two");
  Books& books = books_of(context, "CmiIsomallocContextMallocAlign");
  if (alignment <= 16) return take(books, bytes);
  void* const memory = take(books, bytes + alignment);
  auto* const aligned = reinterpret_cast<char*>(periapt::round_up(reinterpret_cast<std::uintptr_t>(memory), alignment));
  if (aligned == memory) return memory;
  Block* const block = static_cast<Block*>(memory) - 1;
  const std::size_t skipped = static_cast<std::size_t>(aligned - static_cast<char*>(memory));
  *(reinterpret_cast<Block*>(aligned) - 1) = {block->bytes - skipped, block};
  return aligned;
}
void* CmiIsomallocContextCalloc(CmiIsomallocContext context, std::size_t items, std::size_t bytes) {
  std::size_t all;
  if (__builtin_mul_overflow(items, bytes, &all)) fatal("a block larger than memory", "CmiIsomallocContextCalloc");
  return std::memset(CmiIsomallocContextMalloc(context, all), 0, all);
}
void CmiIsomallocContextFree(CmiIsomallocContext context, void* memory) {
  if (!memory) return;
  Books& books = books_of(context, "CmiIsomallocContextFree");
  const auto from = reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(&books);
  if (from >= books.used) {
    fatal("a block that the context does not have", "CmiIsomallocContextFree",
          "it is another context's, or came from malloc", "free it where it was made");
  }
  Block* const block = block_of(memory);
  block->next = std::exchange(books.free[class_of(block->bytes)], block);
}
std::size_t CmiIsomallocContextGetLength(CmiIsomallocContext, void* memory) {
  return (static_cast<Block*>(memory) - 1)->bytes;
}
void* CmiIsomallocContextRealloc(CmiIsomallocContext context, void* memory, std::size_t bytes) {
  if (!memory) return CmiIsomallocContextMalloc(context, bytes);
  const std::size_t before = CmiIsomallocContextGetLength(context, memory);
  if (bytes <= before) return memory;
  void* const larger = CmiIsomallocContextMalloc(context, bytes);
  std::memcpy(larger, memory, before);
  CmiIsomallocContextFree(context, memory);
  return larger;
}
void* CmiIsomallocContextPermanentAlloc(CmiIsomallocContext context, std::size_t bytes) {
  return CmiIsomallocContextMalloc(context, bytes);
}
void* CmiIsomallocContextPermanentAllocAlign(CmiIsomallocContext context, std::size_t alignment, std::size_t bytes) {
  return CmiIsomallocContextMallocAlign(context, alignment, bytes);
}

void CmiIsomallocContextPup(pup_er p, CmiIsomallocContext* context) {
  Books place = {};
  if (!pup_isUnpacking(p)) place = books_of(*context, "CmiIsomallocContextPup");
  pup_int(p, &place.unit);
  pup_int(p, &place.units);
  pup_size_t(p, &place.used);
  if (pup_isUnpacking(p)) context->opaque = map(place.unit, place.units, "CmiIsomallocContextPup");
  pup_bytes(p, context->opaque, place.used);
  if (!pup_isDeleting(p)) return;
  CmiIsomallocContextDelete(*context);
  context->opaque = nullptr;
}
CmiIsomallocRegion CmiIsomallocContextGetUsedExtent(CmiIsomallocContext context) {
  Books& books = books_of(context, "CmiIsomallocContextGetUsedExtent");
  return {&books, reinterpret_cast<char*>(&books) + books.used};
}
}
