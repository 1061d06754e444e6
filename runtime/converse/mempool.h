// Pools of memory that is expensive to get, and is got in blocks by a function of the program's (mempool.h). Plain C,
// and C++17.
//
// A piece is given back to its block, for the next one of about its size, and for any when the block has no other in
// use; where an unused block may go, the pool gives it back itself: once it has more than `limit` bytes, and before it
// asks for another. Not for several PEs at a time. Blocks and pieces know each other by pointers, where Charm++ has
// offsets.
#pragma once
#include <stddef.h>

#include "base/cmk.h"

#ifdef __cplusplus
extern "C" {
#endif
typedef CmiInt8 mem_handle_t;  // what the program's function says of a block
// A block of at least *size bytes, which may become more, or null. `expand`: 0 for the first one, then the caller's.
typedef void* (*mempool_newblockfn)(size_t* size, mem_handle_t* handle, int expand);
typedef void (*mempool_freeblock)(void* block, mem_handle_t handle);

struct mempool_type;
// At the beginning of each block.
typedef struct block_header {
  mem_handle_t mem_hndl;
  size_t size;
  size_t used;    // pieces
  size_t filled;  // bytes from which pieces have been cut
  struct mempool_type* mptr;
  struct block_header* block_next;
  struct used_header* free_pieces[64];  // by the power of two that is their size
} block_header;
// Before each piece.
typedef struct used_header {
  struct block_header* block_ptr;
  size_t size;               // with this header
  struct used_header* next;  // of those that are free
  size_t alone;              // 1: its block goes with it
} used_header;
typedef used_header mempool_header;
typedef struct mempool_type {
  mempool_newblockfn newblockfn;
  mempool_freeblock freeblockfn;
  size_t limit;
  size_t size;  // of all blocks
  struct block_header* blocks;
} mempool_type;

// `size`: of the first block, its header included, as it is asked for. Null where there is none. `limit` 0: none.
mempool_type* mempool_init(size_t size, mempool_newblockfn new_block, mempool_freeblock free_block, size_t limit);
void mempool_destroy(mempool_type* pool);
// Null where no block has room and `expand` is 0, or there is none to be had.
void* mempool_malloc(mempool_type* pool, size_t size, int expand);
// A block of its own, which goes with it.
void* mempool_large_malloc(mempool_type* pool, size_t size, int expand);
void mempool_free(mempool_type* pool, void* memory);
#ifdef __cplusplus
}
#endif

// Of a piece, where `align` is sizeof(mempool_header).
#define MEMPOOL_GetMempoolHeader(memory, align) ((mempool_header*)((char*)(memory) - (align)))
#define MEMPOOL_GetBlockHead(pool) ((pool)->blocks)
#define MEMPOOL_GetBlockPtr(header) ((header)->block_ptr)
#define MEMPOOL_GetMempoolPtr(header) (MEMPOOL_GetBlockPtr(header)->mptr)
#define MEMPOOL_GetSize(header) (MEMPOOL_GetBlockPtr(header)->size)
#define MEMPOOL_GetMemHndl(header) (MEMPOOL_GetBlockPtr(header)->mem_hndl)
#define MEMPOOL_GetSlotSize(header) ((header)->size)
#define MEMPOOL_GetBlockSize(block) ((block)->size)
#define MEMPOOL_GetBlockMemHndl(block) ((block)->mem_hndl)
#define MEMPOOL_GetBlockNext(block) ((block)->block_next)
