// What a .ci file means by `extern module CkCallback`: it is part of charm++.h.
#pragma once
#include "charm++.h"
inline void _registerCkCallback() {}
