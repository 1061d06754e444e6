// What a .ci file means by `extern module CkMemCheckpoint`: it is part of charm++.h.
#pragma once
#include "charm++.h"
inline void _registerCkMemCheckpoint() {}
