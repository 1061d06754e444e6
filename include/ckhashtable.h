/* CkHashtableT, and for C programs what runtime/containers/hashtable_c.h has. Plain C. */
#pragma once
#include "runtime/containers/hashtable_c.h"
#ifdef __cplusplus
#include "runtime/containers/hashtable.h"
#endif
