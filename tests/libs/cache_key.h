// The keys of cache.cpp.
#pragma once
#include "converse.h"

#ifdef WIDE_KEYS
typedef CmiUInt16 CacheKey;
#else
typedef CmiUInt8 CacheKey;
#endif
