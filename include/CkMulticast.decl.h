// What a .ci file means by `extern module CkMulticast`.
#pragma once
#include "ckmulticast.h"
