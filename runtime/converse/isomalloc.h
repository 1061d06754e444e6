// Isomalloc: memory at addresses that are the program's own in all processes of a run, so that what points into it may
// move from one to another as bytes. Plain C, and C++17: reached from converse.h.
//
// A context is the memory of one unit of work out of `units`: numbers 0 to units - 1 mean other addresses, the same
// ones in every process. A context moves whole, with CmiIsomallocContextPup; one at a time may use a unit. It belongs
// to one PE at a time.
#pragma once
#include "runtime/converse/cth.h"
#include "runtime/pup/pup_c.h"

typedef struct CmiIsomallocContext {
  void* opaque;
} CmiIsomallocContext;
typedef struct CmiIsomallocRegion {
  void *start, *end;
} CmiIsomallocRegion;

#ifdef __cplusplus
extern "C" {
#endif
int CmiIsomallocEnabled(void);           // 1
int CmiIsomallocInRange(void* address);  // of any context; never memory of malloc
// `units` is the same in all calls of a run.
CmiIsomallocContext CmiIsomallocContextCreate(int unit, int units);
void CmiIsomallocContextDelete(CmiIsomallocContext context);  // with all its memory
// Aligned to 16, or to a power of two. Of a size of 0: an address of its own.
void* CmiIsomallocContextMalloc(CmiIsomallocContext context, size_t bytes);
void* CmiIsomallocContextMallocAlign(CmiIsomallocContext context, size_t alignment, size_t bytes);
void* CmiIsomallocContextCalloc(CmiIsomallocContext context, size_t items, size_t bytes);
void* CmiIsomallocContextRealloc(CmiIsomallocContext context, void* block, size_t bytes);
void CmiIsomallocContextFree(CmiIsomallocContext context, void* block);
size_t CmiIsomallocContextGetLength(CmiIsomallocContext context, void* block);  // at least what was asked for
// Never freed but with the context.
void* CmiIsomallocContextPermanentAlloc(CmiIsomallocContext context, size_t bytes);
void* CmiIsomallocContextPermanentAllocAlign(CmiIsomallocContext context, size_t alignment, size_t bytes);
// Packs the context, and makes it again, at its addresses, when p unpacks; a p that deletes gives the memory back.
void CmiIsomallocContextPup(pup_er p, CmiIsomallocContext* context);
CmiIsomallocRegion CmiIsomallocContextGetUsedExtent(CmiIsomallocContext context);
#ifdef __cplusplus
}
// Threads stay where they are, so a context is of no use to them: the same as CthCreate.
inline CthThread CthCreateMigratable(CthVoidFn fn, void* argument, int stack_bytes, CmiIsomallocContext) {
  return CthCreate(fn, argument, stack_bytes);
}
#endif
