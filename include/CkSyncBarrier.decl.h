// What a .ci file means by `extern module CkSyncBarrier`: see cksyncbarrier.h.
#pragma once
#include "cksyncbarrier.h"
inline void _registerCkSyncBarrier() {}
