// What a .ci file means by `extern module CkCheckpoint`: it is part of charm++.h.
#pragma once
#include "charm++.h"
inline void _registerCkCheckpoint() {}
