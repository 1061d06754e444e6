// The scheduler's queue as something of its own: see runtime/scheduler/cqs.h. Plain C.
#pragma once
#include "conv-config.h"
#include "runtime/scheduler/cqs.h"
