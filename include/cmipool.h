// Small pieces of memory, as some Charm++ programs take them: of the PE's heap, whose blocks are kept for their size.
#pragma once
#include "runtime/converse/cmi.h"

inline void CmiPoolAllocInit(int) {}
inline void* CmiPoolAlloc(unsigned int bytes) { return CmiAlloc(static_cast<int>(bytes)); }
inline void CmiPoolFree(void* memory) { CmiFree(memory); }
