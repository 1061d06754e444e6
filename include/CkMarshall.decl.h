// What a .ci file means by `extern module CkMarshall`: it is part of charm++.h.
#pragma once
#include "charm++.h"
inline void _registerCkMarshall() {}
