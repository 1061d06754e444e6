// What a .ci file means by `extern module BaseLB`.
#pragma once
#include "charm++.h"
#include "runtime/loadbalance/classic/base_lb.h"
