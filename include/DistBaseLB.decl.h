// What a .ci file means by `extern module DistBaseLB`.
#pragma once
#include "charm++.h"
#include "runtime/loadbalance/classic/dist_base_lb.h"
