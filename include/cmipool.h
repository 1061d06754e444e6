// Small pieces of memory, as some Charm++ programs take them: of the PE's heap, whose blocks are kept for their size.
// Plain C.
#pragma once
#include "runtime/converse/cmi.h"

static inline void CmiPoolAllocInit(int largest) { (void)largest; }
static inline void* CmiPoolAlloc(unsigned int bytes) { return CmiAlloc((int)bytes); }
static inline void CmiPoolFree(void* memory) { CmiFree(memory); }
