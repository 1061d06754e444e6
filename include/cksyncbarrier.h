// cksyncbarrier.h as programs include it: AtSync for what is no element.
#pragma once
#include "charm++.h"
#include "runtime/loadbalance/sync_barrier.h"
