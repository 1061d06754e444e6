// What a .ci file means by `extern module LBManager`.
#pragma once
#include "LBManager.h"
inline void _registerLBManager() {}
