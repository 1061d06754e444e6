// What a .ci file means by `extern module CentralLB`.
#pragma once
#include "charm++.h"
#include "runtime/loadbalance/classic/central_lb.h"
