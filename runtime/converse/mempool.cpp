// See mempool.h.
#include "runtime/converse/mempool.h"

#include <cstdint>
#include <new>

namespace {
static_assert(sizeof(block_header) % 16 == 0 && sizeof(used_header) % 16 == 0, "memory is aligned as malloc()'s is");
constexpr std::size_t smallest = 2 * sizeof(used_header);
constexpr std::size_t largest = SIZE_MAX / 4;  // whose size can still be rounded up

// With its header, rounded up to a power of two.
std::size_t whole_size(std::size_t size) {
  std::size_t whole = smallest;
  while (whole < size + sizeof(used_header)) whole *= 2;
  return whole;
}
int power_of(std::size_t size) {
  int power = 0;
  while (size >>= 1) ++power;
  return power;
}

// `size`: with its header.
block_header* add_block(mempool_type* pool, std::size_t size, int expand) {
  mem_handle_t handle = 0;
  void* const memory = pool->newblockfn(&size, &handle, expand);
  if (!memory) return nullptr;
  auto* const block = new (memory) block_header{};
  block->mem_hndl = handle;
  block->size = size;
  block->filled = sizeof(block_header);
  block->mptr = pool;
  block->block_next = pool->blocks;
  pool->size += size;
  return pool->blocks = block;
}

// `link`: what points to the block.
void free_block(mempool_type* pool, block_header** link) {
  block_header* const block = *link;
  *link = block->block_next;
  pool->size -= block->size;
  pool->freeblockfn(block, block->mem_hndl);
}

void free_unused_blocks(mempool_type* pool) {
  for (block_header** link = &pool->blocks; *link && pool->size > pool->limit;)
    if ((*link)->used == 0)
      free_block(pool, link);
    else
      link = &(*link)->block_next;
}

// Null where the block has no room.
void* take_piece(block_header* block, std::size_t whole) {
  used_header*& free_pieces = block->free_pieces[power_of(whole)];
  used_header* piece = free_pieces;
  if (piece) {
    free_pieces = piece->next;
  } else {
    if (block->size - block->filled < whole) return nullptr;
    piece = new (reinterpret_cast<char*>(block) + block->filled) used_header{};
    piece->block_ptr = block;
    piece->size = whole;
    block->filled += whole;
  }
  ++block->used;
  return piece + 1;
}
}  // namespace

extern "C" {
mempool_type* mempool_init(std::size_t size, mempool_newblockfn new_block, mempool_freeblock free_block,
                           std::size_t limit) {
  auto* const pool = new mempool_type{new_block, free_block, limit, 0, nullptr};
  if (size > sizeof(block_header) && add_block(pool, size, 0)) return pool;
  delete pool;
  return nullptr;
}

void mempool_destroy(mempool_type* pool) {
  while (pool && pool->blocks) free_block(pool, &pool->blocks);
  delete pool;
}

void* mempool_malloc(mempool_type* pool, std::size_t size, int expand) {
  if (size > largest) return nullptr;
  const std::size_t whole = whole_size(size);
  for (block_header* block = pool->blocks; block; block = block->block_next)
    if (void* const memory = take_piece(block, whole)) return memory;
  if (!expand) return nullptr;
  if (pool->limit > 0) free_unused_blocks(pool);
  block_header* const block = add_block(pool, sizeof(block_header) + whole, expand);
  return block ? take_piece(block, whole) : nullptr;
}

void* mempool_large_malloc(mempool_type* pool, std::size_t size, int expand) {
  if (size > largest) return nullptr;
  block_header* const block = add_block(pool, sizeof(block_header) + sizeof(used_header) + size, expand);
  if (!block) return nullptr;
  void* const memory = take_piece(block, block->size - block->filled);
  MEMPOOL_GetMempoolHeader(memory, sizeof(mempool_header))->alone = 1;
  return memory;
}

void mempool_free(mempool_type* pool, void* memory) {
  used_header* const piece = MEMPOOL_GetMempoolHeader(memory, sizeof(mempool_header));
  block_header* const block = piece->block_ptr;
  --block->used;
  if (piece->alone) {
    block_header** link = &pool->blocks;
    while (*link != block) link = &(*link)->block_next;
    return free_block(pool, link);
  }
  if (block->used == 0) {  // whole again, for pieces of any size
    block->filled = sizeof(block_header);
    for (used_header*& pieces : block->free_pieces) pieces = nullptr;
    return;
  }
  used_header*& free_pieces = block->free_pieces[power_of(piece->size)];
  piece->next = free_pieces;
  free_pieces = piece;
}
}
